"""A question asked of a model as a target: tasks, values, reasons, one model for several questions."""

import numpy as np
import pytest
from stub_speaker import REFUSAL, StubSpeaker

from transect.errors import BadInput
from transect.records import Images, declared
from transect.spoken_answers import Spoken, Status
from transect.targets import resolve
from transect.targets.guard import guarded
from transect.targets.python_objects import array_digest
from transect.targets.words.asked import ask
from transect.targets.words.questions import Kind, WordQuestion
from transect.targets.words.speakers import SharedSpeaker, asked_specs, gives_words, shared, shared_object

SMILE = WordQuestion("smile", Kind.YES_NO, ("Smiling?", "Is there a smile?"))
JOB = WordQuestion("job", Kind.CHOICE, ("Which job? {options}",), options=("hire", "reject", "wait"))


def pictures(*means):
    rng = np.random.default_rng(1)
    base = rng.integers(0, 8, (len(means), 8, 8, 3))
    return Images((base + np.array(means)[:, None, None, None]).astype(np.uint8))


def asked(question, **rules):
    return ask(shared_object(StubSpeaker(**rules)), question)


class Scripted:
    """Says what a test hands it, text by text."""

    name = "scripted"

    def __init__(self, *spoken):
        self.left = list(spoken)

    def speak(self, shown, asks):
        return [[self.left.pop(0) for _ in some] for some in asks]


def scripted(question, *texts):
    spoken = [text if isinstance(text, Spoken) else Spoken(text) for text in texts]
    return ask(SharedSpeaker(Scripted(*spoken)), question)


def test_yes_is_the_share_of_paraphrases_and_what_was_said_stands_beside_it():
    found = scripted(SMILE, "Yes.", "No.").predict(pictures(200))
    assert found.scores.tolist() == [[0.5]]
    assert [(one.paraphrase, one.prompt, one.text, one.value) for one in found.said[0]] == [
        (0, "Smiling?", "Yes.", 1.0),
        (1, "Is there a smile?", "No.", 0.0),
    ]


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ((REFUSAL, REFUSAL), "refused: as the answer says"),
        ((REFUSAL, "Yes."), "incomplete: refused in 1 of 2 paraphrases: as the answer says"),
        ((Spoken(failure="HTTP 503"), REFUSAL), "HTTP 503"),
        ((Spoken(failure="HTTP 503"), "Yes."), "HTTP 503"),
        (("Yes.", "No."), ""),
    ],
)
def test_an_image_without_a_value_says_why(texts, reason):
    found = scripted(SMILE, *texts).predict(pictures(200))
    assert found.failures == (reason,)
    assert np.isnan(found.scores[0, 0]) == bool(reason)
    assert declared(reason) == ("as the answer says" in reason)


def test_an_answer_depends_on_its_image_alone():
    images = pictures(20, 90, 200, 240)
    target = asked(JOB, prefers=(0.5, 0.5), refuses=(0.2, 0.2))
    whole = target.predict(images)
    for row in range(4):
        alone = target.predict(images.take(slice(row, row + 1)))
        assert alone.said[0] == whole.said[row]
    assert len({array_digest(pixels) for pixels in images.pixels}) == 4


def test_the_guard_carries_what_was_said_also_of_images_without_a_value():
    target = scripted(SMILE, REFUSAL, REFUSAL, "Yes.", "Yes.")
    found = guarded(target, pictures(20, 200), timeout=10, batch=2)
    assert found.failures == ("refused: as the answer says", "")
    assert [one.status for one in found.said[0]] == [Status.REFUSED, Status.REFUSED]
    assert [one.text for one in found.said[1]] == ["Yes.", "Yes."]


def test_questions_of_a_file_share_one_model_that_is_closed_last(tmp_path):
    speaker = StubSpeaker()
    place = SharedSpeaker(speaker)
    first, second = ask(place, SMILE), ask(place, JOB)
    first.close()
    first.close()
    assert speaker.closed == 0
    second.close()
    assert speaker.closed == 1


FILE = """
[[question]]
name = "smile"
kind = "yes-no"
prompt = "Smiling?"

[[question]]
name = "who"
kind = "pair"
prompt = "Which of the two?"
"""


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(FILE)
    return path


def test_a_spec_with_questions_is_a_target_for_each_of_them(questions):
    (one,) = asked_specs("stub_speaker:speaker", questions)
    assert (one.source, one.question) == ("stub_speaker:speaker", "smile")
    target = resolve(one.source, questions=one.questions, question=one.question)
    assert target.name == "stub/smile"
    assert shared("stub_speaker:speaker", {}) is shared("stub_speaker:speaker", {})


def test_a_model_in_words_without_questions_and_the_reverse_are_one_line_each(questions):
    with pytest.raises(BadInput, match="answers in words and needs questions"):
        resolve("stub_speaker:speaker")
    with pytest.raises(BadInput, match="does not answer in words"):
        resolve("audited:brightness", questions=str(questions), question="smile")
    assert gives_words("vlm:x")
    assert not gives_words("nowhere.toml")
