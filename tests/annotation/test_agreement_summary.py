"""`transect annotate agreement`: every figure for each question and rater, worked by hand."""

import pytest
from small_run import make_run, write_questions

from transect.annotation.agreement import krippendorff_alpha
from transect.annotation.agreement.summary import lines, summary
from transect.annotation.exchange.incoming import Incoming, take_in
from transect.annotation.project import matrix, open_project, rows
from transect.runs.json_records import plain


@pytest.fixture
def answered(tmp_path):
    """A project over so many images and five raters; level(k, rater) is the answer to image k."""
    opened = []

    def made(images, level):
        run = make_run(tmp_path / "run", subjects=images // 2)
        opened.append(open_project(run, questions=(write_questions(tmp_path / "q.toml", ratings=5),)))
        named = [(k, rater, f"{k // 2}-{k % 2:04d}") for k in range(images) for rater in range(5)]
        given = [Incoming("x", "", image, "", "smile", f"r{rater}", level(k, rater)) for k, rater, image in named]
        take_in(opened[0], given, now=0.0)
        return opened[0]

    yield made
    opened[0].database.close()


def test_figures_of_five_raters_by_hand(answered):
    """Ten images, "no" (0) and "yes" (2) in turn. Three raters are right; two see but the first of the five "yes"."""
    project = answered(10, lambda k, rater: 0 if rater > 2 and k > 1 else 2 * (k % 2))
    made = summary(project)
    (one,) = plain(made)["questions"]
    assert one["dawid_skene"] == {"of": 10, "differs_from_majority": [], "tied": 0, "reason": ""}
    # The last two are right on the five that are "no" and on one that is "yes": six of ten.
    right = [each["right_by_dawid_skene"] for each in one["by_rater"]]
    assert right == pytest.approx([1, 1, 1, 0.6, 0.6], abs=0.01)
    assert len(lines(made)) == 6


def test_dawid_and_skene_overrule_a_majority_that_always_says_no(answered):
    """Twenty images, half "yes"; two raters are right, three say "no" to all: so do most, and the model knows better."""
    project = answered(20, lambda k, rater: 2 * (k % 2) if rater < 2 else 0)
    made = summary(project)
    (one,) = plain(made)["questions"]
    assert sorted(one["dawid_skene"]["differs_from_majority"]) == [["", f"{k}-0001", ""] for k in range(10)]


def test_a_rater_without_an_answer_is_right_in_no_share(answered):
    """Three raters are right; the fourth sees "no" alone, rightly; the fifth can never tell."""
    level = {3: lambda truth: truth if truth == 0 else None, 4: lambda truth: None}
    project = answered(10, lambda k, rater: level.get(rater, int)(2 * (k % 2)))
    (one,) = plain(summary(project))["questions"]
    right = {each["rater"]: each["right_by_dawid_skene"] for each in one["by_rater"]}
    assert right["r4"] is None
    assert right["r3"] == pytest.approx(1.0, abs=0.01)  # of "yes" they said nothing, which is no error


def test_two_answers_on_an_image_tell_nothing_of_who_errs(answered):
    """Two raters agree on all, three can never tell: what the model makes of two views is not said."""
    project = answered(10, lambda k, rater: 2 * (k % 2) if rater < 2 else None)
    made = summary(project)
    (one,) = plain(made)["questions"]
    assert (one["dawid_skene"]["of"], one["dawid_skene"]["reason"]) == (0, "no image has 3 answers")
    assert {each["right_by_dawid_skene"] for each in one["by_rater"]} == {None}


UNEVEN = """
[[question]]
name = "age"
text = "How old?"
levels = [{name = "child", value = 8}, {name = "young", value = 20}, {name = "old", value = 80}]
[[question]]
name = "hair"
text = "Which hair?"
scale = "nominal"
levels = ["red", "black", "fair"]
"""


@pytest.fixture
def uneven(tmp_path):
    """Six images; of each, r0 says young, r1 old where the image is odd and young else; r0 and r1 name hairs."""
    (tmp_path / "q.toml").write_text(UNEVEN)
    project = open_project(make_run(tmp_path / "run", subjects=3), questions=(str(tmp_path / "q.toml"),))
    images = [f"{k // 2}-{k % 2:04d}" for k in range(6)]
    given = [Incoming("x", "", i, "", "age", f"r{r}", 1 + (k % 2) * r) for k, i in enumerate(images) for r in (0, 1)]
    given += [Incoming("x", "", i, "", "hair", f"r{r}", (k + r) % 3) for k, i in enumerate(images) for r in (0, 1)]
    take_in(project, given, now=0.0)
    yield project
    project.database.close()


def test_spread_and_bias_are_in_the_values_of_the_levels(uneven):
    """As on the raters' page: 20 and 80 are 60 of 72 years apart, 1 of 2 levels by their numbers alone."""
    age = plain(summary(uneven))["questions"][0]
    # Standard deviations are 30 of 72 years for the three odd images and 0 for the others: the median is halfway.
    assert age["median_spread"] == pytest.approx(30 / 72 / 2)
    # r1 is 60 years above r0 for half of the images: 30 on average, of which a level has 36.
    assert [one["bias"] for one in age["by_rater"]] == pytest.approx([-30 / 36, 30 / 36])


def test_levels_in_no_order_have_neither_spread_nor_correlation(uneven):
    made = summary(uneven)
    hair = plain(made)["questions"][1]
    assert (hair["scale"], hair["median_spread"], hair["percent_agreement"]) == ("nominal", None, 0.0)
    assert {(one["correlation"], one["bias"]) for one in hair["by_rater"]} == {(None, None)}
    assert {one["units"] for one in hair["by_rater"]} == {6}


def test_the_interval_of_alpha_is_by_subject(answered):
    """Two images of each of ten subjects, the second answered as the first: not twenty subjects."""
    project = answered(20, lambda k, rater: 2 * (k // 2 % 2) if rater != k // 2 % 4 else 0)
    (question,) = summary(project).questions
    units, _, ratings = matrix(rows(project.database), "smile")
    people = krippendorff_alpha(ratings, "ordinal", subjects=[image.split("-")[0] for _, image, _ in units])
    assert (question.alpha_low, question.alpha_high) == pytest.approx((people.low, people.high))
    assert question.alpha_low < krippendorff_alpha(ratings, "ordinal").low - 0.02
