"""Searches compared: a picture is asked about once, a killed comparison resumes, and intervals are over repeats."""

import json

import numpy as np
import pytest
from panes import Counting, Panes
from typer.testing import CliRunner

import transect
from transect.cli.app import app
from transect.designs.search import History
from transect.designs.search.space import space_of
from transect.errors import BadInput, Interrupted, UnknownName
from transect.jobs.search import comparing
from transect.jobs.search import run as searching
from transect.jobs.search.comparison import SearchComparison, curve_of, repeated
from transect.jobs.search.gallery import failure_pictures
from transect.jobs.search.request import SearchOptions, search_for
from transect.targets import as_target

ALL = SearchComparison(alphas=(0.2, 0.6), repeats=2)


def search_of(counting, seed=0, goal="failures", **options):
    world = Panes()
    settings = {"truth": "face", "budget": 24, "goal": goal, "seed": seed, "options": SearchOptions(**options)}
    return search_for(world, as_target(counting), space_of(world), **settings)


def compared(counting, out, comparison=ALL, weighs="diversity"):
    return comparing.run(search_of(counting), comparison, weighs, out, quiet=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    counting = Counting()
    return compared(counting, tmp_path_factory.mktemp("compared")), counting.seen


def test_a_picture_is_asked_about_once_and_each_search_finds_what_it_finds_alone(whole, tmp_path):
    result, seen = whole
    assert result.numbers.answers == 5 * 2 * 24  # ours, two weights, random, sobol
    assert seen == result.numbers.pictures < result.numbers.answers
    for arm in result.numbers.arms:
        alpha = 0.6 if arm.alpha is None else arm.alpha
        alone = search_of(Counting(), seed=1, method=arm.method, alpha=alpha)
        assert searching.run(alone, tmp_path / arm.name, quiet=True).numbers.failures == arm.failures.repeats[1]


def test_a_killed_comparison_resumes_with_the_same_bytes_and_asks_nothing_twice(whole, tmp_path):
    result, seen = whole
    first, second = Counting(stop_at=60), Counting()
    with pytest.raises(Interrupted, match="rerun the command to resume"):
        compared(first, tmp_path)
    compared(second, tmp_path)
    assert seen <= first.seen + second.seen <= seen + 8  # the batch under way was lost
    for file in ("comparison.json", "comparison.html"):
        assert (tmp_path / file).read_bytes() == (result.folder / file).read_bytes()
    again = Counting()
    compared(again, tmp_path)
    assert again.seen == 0


def test_more_repeats_extend_a_comparison(tmp_path):
    pair = SearchComparison(("random", "sobol"), repeats=1)
    one = compared(Counting(), tmp_path, pair).numbers
    counting = Counting()
    two = compared(counting, tmp_path, SearchComparison(("random", "sobol"), repeats=2)).numbers
    assert counting.seen == two.pictures - one.pictures
    assert [arm.failures.repeats[0] for arm in two.arms] == [arm.failures.mean for arm in one.arms]


def test_a_search_added_before_others_asks_nothing_that_they_asked(tmp_path):
    """Searches begin with the same points: a new first one shares them with the stored one."""
    stored = compared(Counting(), tmp_path, SearchComparison(("ours",), repeats=1)).numbers
    counting = Counting()
    both = compared(counting, tmp_path, SearchComparison(("mcduff2019", "ours"), (0.6,), 1)).numbers
    assert counting.seen == both.pictures - stored.pictures < 24


def test_the_two_readings_of_alpha_mirror_each_other(tmp_path):
    printed = compared(Counting(), tmp_path / "printed", SearchComparison(("mcduff2019",), (0.2,), 1)).numbers.arms[0]
    caption = SearchComparison(("mcduff2019",), (0.8,), 1)
    mirrored = compared(Counting(), tmp_path / "caption", caption, "failures").numbers.arms[0]
    assert (printed.alpha, printed.diversity) == (0.2, 0.2)
    assert (mirrored.alpha, mirrored.diversity) == (0.8, 0.2)
    assert printed.curve == mirrored.curve


def test_medians_have_an_interval_from_six_repeats_on_and_means_none():
    """Of six, all may lie on one side in 2 of 64 cases; of nine, eight or more in 2 (1 + 9) of 512, 3.9 %."""
    counts = [4.0, 60.0, 5.0, 4.0, 6.0, 3.0]
    six = repeated(counts)
    assert (six.mean, six.median, six.low, six.high, six.reason) == (82 / 6, 4.5, 3.0, 60.0, "")
    assert six.repeats == tuple(counts)
    nine = repeated([*counts, 1.0, 2.0, 70.0])
    assert (nine.median, nine.low, nine.high) == (4.0, 2.0, 60.0)
    alike = repeated([2.0] * 6)  # differences to random points that are all 2
    assert (alike.low, alike.high, alike.reason) == (2.0, 2.0, "")
    five = repeated(counts[:5])
    assert five.reason == "no interval: fewer than 6 repeats"
    assert np.isnan(five.low)
    assert curve_of(np.array([[0.0, 1.0], [0.0, 2.0]])) == ((0.0, 1.5), (0.0, 1.0), (0.0, 2.0))


def test_the_page_shows_curves_readings_and_pictures(whole):
    page = (whole[0].folder / "comparison.html").read_text()
    assert page.count('class="plot') == 2  # by method, and by weight
    assert "α weighs diversity, as their Eq. 4 is printed" in page
    assert "mcduff2019, α = 0.2" in page
    assert "A median without an interval: " in page
    for arm in whole[0].numbers.arms:  # 2 repeats: every count, and no interval
        assert np.isnan(arm.failures.low)
        assert len(arm.failures.repeats) == 2
    assert page.count("<img") == sum(len(shown) for shown in whole[0].pictures) > 0
    stored = json.loads((whole[0].folder / "comparison.json").read_text())
    assert stored == whole[0].to_json()


def test_the_gallery_shows_failures_far_apart_first():
    space = space_of(Panes())
    points = np.array([[0.1, 0.1], [0.1, 0.11], [0.9, 0.9], [0.5, 0.5]])
    history = History(points, np.array([1.0, 1.0, 1.0, 0.0]), np.ones(4, dtype=bool))
    shown = np.arange(4, dtype=np.uint8)[:, None, None, None] * np.ones((1, 8, 8, 3), np.uint8)
    parts = [shown[:2], shown[2:]]
    assert [picture.call for picture in failure_pictures(space, history, 2, parts.__getitem__, 2)] == [1, 3]
    assert [picture.call for picture in failure_pictures(space, history, 2, parts.__getitem__)] == [1, 2, 3]


def test_a_search_page_shows_its_failures(tmp_path):
    result = searching.run(search_of(Counting()), tmp_path, quiet=True)
    assert len(result.pictures) == result.numbers.failures > 0
    page = (tmp_path / "search.html").read_text()
    assert page.count('alt="Failure at call') == len(result.pictures)


@pytest.mark.parametrize("goal", ["regions", "failures", "rate"])
@pytest.mark.parametrize("method", ["random", "sobol"])
def test_points_that_look_at_no_answer_serve_every_goal(tmp_path, goal, method):
    result = searching.run(search_of(Counting(), goal=goal, method=method), tmp_path, quiet=True)
    assert result.numbers.calls == 24
    assert result.numbers.strategy.startswith({"random": "random points", "sobol": "Sobol points"}[method])
    assert result.numbers.estimate.n == {"regions": 18, "failures": 24, "rate": 24}[goal]
    sampler = result.numbers.errors.samples[0].sampler
    assert sampler == {"random": "random", "sobol": "Sobol points"}[method]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"methods": ("best",)}, UnknownName, "method"),
        ({"methods": ("random", "random")}, BadInput, "name each once"),
        ({"methods": ()}, BadInput, "different methods"),
        ({"alphas": (0.2, 1.2)}, BadInput, "weights from 0 to 1"),
        ({"alphas": ()}, BadInput, "a weight for mcduff2019"),
        ({"repeats": 0}, BadInput, "--repeats: expected at least 1"),
    ],
)
def test_what_cannot_be_compared_is_refused(settings, error, message):
    with pytest.raises(error, match=message):
        SearchComparison(**settings)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--repeats", "3"], "--repeats: expected --compare"),
        (["--method", "mcduff2019", "--alpha", "0.2,0.6"], "--alpha: expected one weight"),
        (["--method", "mcduff2019", "--alpha", "much"], "--alpha: expected numbers"),
        (["--compare", "random", "--goal", "rate"], "leave --goal and --method out"),
        (["--compare", "random,best"], "best"),
        (["--compare", "mcduff2019", "--alpha-weighs", "luck"], "reading of alpha"),
        (["--alpha", "0.2"], "--alpha: expected the method mcduff2019, whose weight it is, got ours; name it"),
        (["--alpha-weighs", "failures"], "--alpha-weighs: expected the method mcduff2019"),
        (["--compare", "ours,random", "--alpha", "0.2"], "whose weight it is, got ours, random; name it, or leave"),
    ],
)
def test_the_command_refuses_options_that_do_not_belong_together(words, message, tmp_path):
    target = "opencv:haarcascade_frontalface_default"
    answer = CliRunner().invoke(app, ["search", target, "--size", "32", "--out", str(tmp_path / "run"), *words])
    assert message in f"{answer.output} {answer.exception}"
    assert not (tmp_path / "run").exists()


def test_the_table_and_the_headline_say_what_was_found(whole):
    result, _ = whole
    assert result.table.num_rows == 10
    assert result.table.column_names == ["name", "method", "alpha", "repeat", "failures", "apart"]
    assert result.headline().startswith("not decided against random points: ours ")
    assert "; no interval, give six repeats or more (had 2); " in result.headline()
    assert transect.compare_searches is comparing.compare_searches
