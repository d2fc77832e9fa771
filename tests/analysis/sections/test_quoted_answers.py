"""Answers that are quoted come from every wording of a question, and say from which."""

from dataclasses import replace

import auditing
from asked_questions import SMILE_THRICE
from stub_speaker import DARK, REFUSAL, StubSpeaker
from toned_world import TonedWorld

FILE = 'title = "Three wordings"\n' + SMILE_THRICE


class SometimesShy(StubSpeaker):
    """Refuses dark pictures in the third wording alone."""

    def speak(self, shown, asks):
        rows = super().speak(shown, asks)
        return [
            [
                replace(one, text=REFUSAL) if ask.prompt.startswith("Would") and images[0].mean() < DARK else one
                for one, ask in zip(row, some, strict=True)
            ]
            for row, images, some in zip(rows, shown, asks, strict=True)
        ]


def quotes(tmp_path, text):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    result = auditing.audit(
        SometimesShy(name="shy", yes=(1.0, 1.0)), vary=["tone"], subjects=5, control=False, generator=TonedWorld(),
        questions=str(file), out=tmp_path / "run",
    )  # fmt: skip
    (section,) = [each for each in result.results["sections"] if each["key"] == "said"]
    table = section["tables"][1]
    return table["columns"], table["rows"]


def test_a_refusal_in_the_third_wording_is_quoted_with_its_wording(tmp_path):
    heads, rows = quotes(tmp_path, FILE)
    assert heads == ["level", "subject", "paraphrase", "what became of it", "the model said", "read as"]
    yes, no = ("answered", "“Yes.”", "yes"), ("refused", f"“{REFUSAL}”")
    assert [(row[0], row[2], *row[3:]) for row in rows if row[3] == "answered"] == [
        ("bright", "1", *yes), ("bright", "1", *yes), ("dark", "1", *yes), ("dark", "1", *yes),
    ]  # fmt: skip
    refused = [row for row in rows if row[3] == "refused"]
    assert [(row[0], row[2], *row[3:5]) for row in refused] == [("dark", "3", *no)] * 2
    assert len({row[1] for row in refused}) == 2  # two subjects
    assert len(rows) == 6
