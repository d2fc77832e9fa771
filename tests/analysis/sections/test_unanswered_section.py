"""Refusals, no face and errors by group, on eight images of which each share can be counted."""

import numpy as np
import pytest
from small_answers import answers as answers_of
from small_answers import checked, rows

from transect.analysis.sections import unanswered
from transect.effects.intervals import wilson, wilson_clustered
from transect.records import Design

NO_FACE, UNSAFE = "no face: as the answer says", "unsafe: as the answer says"
DESIGN = Design({"glasses": (0.0, 1.0)}, subjects=4)
# Four subjects, each without and with glasses; three of the four with glasses have no face found.
FAILURES = ("", NO_FACE, "", NO_FACE, "refused: HTTP 422", NO_FACE, "HTTP 503 (tries: 4)", UNSAFE)


def made(failures=FAILURES):
    scores = np.where(np.array(failures) == "", 0.5, np.nan)
    return unanswered.section(answers_of(DESIGN, scores=scores, failures=failures))


def by_group(title):
    return {row["group"]: row for row in rows(checked(made()), title)}


def test_each_kind_is_an_outcome_with_a_rate_in_each_group():
    no_face = by_group("Outcome: no face")
    assert [no_face[group]["rate"] for group in ("all images", "glasses: off", "glasses: on")] == [3 / 8, 0, 3 / 4]
    assert (no_face["glasses: on"]["images that had it"], no_face["glasses: on"]["images sent"]) == (3, 4)
    assert {kind: by_group(f"Outcome: {kind}")["all images"]["rate"] for kind in ("refused", "unsafe", "error")} == {
        "refused": 1 / 8, "unsafe": 1 / 8, "error": 1 / 8,
    }  # fmt: skip


def test_intervals_are_wilsons_by_subject():
    """With glasses each subject has one image: plain Wilson. Of all images a subject has two, one of them a no face."""
    no_face = by_group("Outcome: no face")
    plain = tuple(map(float, wilson(3, 4)))
    assert (no_face["glasses: on"]["low"], no_face["glasses: on"]["high"]) == pytest.approx(plain)
    low, high = wilson_clustered(np.array([[1.0], [1.0], [1.0], [0.0]]), np.full((4, 1), 2.0))
    assert (no_face["all images"]["low"], no_face["all images"]["high"]) == pytest.approx((low[0], high[0]))


def test_nothing_where_every_image_has_an_answer():
    assert made(("",) * 8) is None
