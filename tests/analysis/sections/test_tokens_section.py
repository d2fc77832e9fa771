"""The section on tokens: what is not counted is no zero, and does not make a mean smaller."""

import pytest
from small_answers import answers, checked, rows

from transect.analysis.asked_answers import Asked
from transect.analysis.sections import spoken_answers
from transect.records import Design
from transect.spoken_answers import Said, Status
from transect.targets.words.questions import Kind, WordQuestion

ASKED = WordQuestion("smile", Kind.YES_NO, ("Smiling?", "A smile?"), options=("no", "yes"))


def section(counts):
    """Of images whose two texts took so many tokens each, sent and received."""
    said = tuple(
        tuple(
            Said(paraphrase, (), 0, "", "Q", "Yes", Status.ANSWERED, 1.0, tokens_sent=sent, tokens_received=received)
            for paraphrase, (sent, received) in enumerate(of_image)
        )
        for of_image in counts
    )
    made = spoken_answers.token_section(
        answers(Design({}, subjects=len(said)), answers=[1] * len(said)), Asked(ASKED, said)
    )
    checked(made)
    return {row["what"]: (row["in all"], row["per image"]) for row in rows(made, "Texts and tokens")}


@pytest.mark.parametrize(
    ("counts", "uncounted", "sent", "received"),
    [
        ([[(50, 2), (60, 4)], [(70, 2), (80, 2)]], 0, (260, 130), (10, 5)),
        ([[(None, None), (None, None)]], 2, (None, None), (None, None)),
        # The second image has one text that is not counted: in the sums is its other, in the means is neither.
        ([[(50, 2), (60, 4)], [(70, 2), (None, None)]], 1, (180, 110), (8, 6)),
        ([[(50, None), (60, 4)]], 1, (110, 110), (4, None)),
    ],
)
def test_only_what_is_counted_is_summed(counts, uncounted, sent, received):
    found = section(counts)
    assert found["texts whose tokens are not counted"][0] == uncounted
    assert (found["tokens sent"], found["tokens received"]) == (sent, received)
