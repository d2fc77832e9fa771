"""A whole search: nothing is asked twice, a killed one goes on, and what is said rests on fresh images."""

import json

import numpy as np
import pytest
from panes import Counting, Panes
from published import fits

import transect
from transect.analysis import search_numbers
from transect.designs.search import History
from transect.designs.search.space import space_of
from transect.errors import BadInput, Interrupted, UnknownName
from transect.experiment.search_plan import GOALS, SearchOptions, search_for
from transect.jobs import search as searching
from transect.jobs.search import STRIP
from transect.records import Quote
from transect.runs.json_records import plain
from transect.targets import as_target
from transect.targets.guard import Limits


def made(counting, goal="regions", budget=120, seed=0, **options):
    world = Panes()
    settings = {"truth": "face", "budget": budget, "goal": goal, "seed": seed, "options": SearchOptions(**options)}
    return search_for(world, as_target(counting), space_of(world), **settings)


def run(search, out, quiet=True):
    return plain(searching.run(search, out, quiet=quiet))


@pytest.mark.integration
@pytest.mark.parametrize("goal", GOALS)
def test_a_killed_search_goes_on_and_asks_nothing_twice(tmp_path, goal):
    whole, first, second = Counting(), Counting(stop_at=36), Counting()
    found = run(made(whole, goal, 56), tmp_path / "whole", quiet=True)
    assert whole.seen == found["calls"] == 56
    with pytest.raises(Interrupted, match="rerun the command to resume"):
        run(made(first, goal, 56), tmp_path / "killed", quiet=True)
    assert run(made(second, goal, 56), tmp_path / "killed", quiet=True) == found
    assert first.seen + second.seen - 8 <= 56  # the batch under way was lost
    again = Counting()
    assert run(made(again, goal, 56), tmp_path / "killed", quiet=True) == found
    assert again.seen == 0
    for part in (tmp_path / "whole").glob("*/part-*.parquet"):
        assert part.read_bytes() == (tmp_path / "killed" / part.relative_to(tmp_path / "whole")).read_bytes()


def conditioned(counting, goal, budget=120, **options):
    """Six conditions, of which the one that is dark and large always fails."""
    world = Panes()
    space = space_of(world, ["tone=0.2,0.5,0.8", "size=0.3,0.9"], kind="conditions")
    options = SearchOptions(**options)
    return search_for(world, as_target(counting), space, truth="face", goal=goal, budget=budget, options=options)


def test_a_condition_that_fails_is_said_by_its_levels(tmp_path):
    found = run(conditioned(Counting(), "regions", budget=96), tmp_path / "run", quiet=True)
    (region, *_) = found["regions"]
    assert (region["rule"], region["rate"]) == ("tone = 0.8 and size = 0.9", 1.0)
    assert found["distinct_failures"] == 1  # pictures of one condition count as one
    assert found["estimate"]["low"] <= 1 / 6 <= found["estimate"]["high"]
    assert found["errors"]["samples"][0]["sampler"] == "conditions in turn"
    groups = [row["group"] for row in found["errors"]["samples"][0]["rows"] if row["by"] == "tone"]
    assert {"0.2", "0.5", "0.8"} <= set(groups)


@pytest.mark.integration
def test_the_paper_s_method_over_conditions_asks_one_after_the_other_and_goes_on(tmp_path):
    whole, first = Counting(), Counting(stop_at=15)
    options = {"budget": 20, "method": "mcduff2019", "alpha": 0.2}
    found = run(conditioned(whole, "failures", **options), tmp_path / "whole", quiet=True)
    with pytest.raises(Interrupted):
        run(conditioned(first, "failures", **options), tmp_path / "killed", quiet=True)
    assert run(conditioned(Counting(), "failures", **options), tmp_path / "killed", quiet=True) == found
    assert found["strategy"] == "McDuff et al. 2019"
    assert (whole.seen, found["estimate"]["n"]) == (20, 10)  # the ten at random are the rate's
    page = (tmp_path / "whole" / "search.html").read_text()
    assert found["errors"]["samples"][0]["sampler"] in page  # errors by condition, beside each other by sampler
    assert "&lt;" not in page  # no element is shown as text


@pytest.mark.integration
def test_a_latent_part_is_searched_and_read_in_words(tmp_path):
    world = Panes()
    space = space_of(world, ["tone"], kind="latent", latent_dims=2)  # size is the second latent coordinate
    search = search_for(world, as_target(Counting()), space, truth="face", budget=160)
    found = run(search, tmp_path / "run", quiet=True)
    assert [one["name"] for one in found["space"]] == ["tone", "latent_1", "latent_2"]
    rules = " ".join(region["rule"] for region in found["regions"])
    assert "tone > 0." in rules
    assert "latent_2 > 0." in rules


def test_failures_are_what_the_goal_of_failures_finds_most_of(tmp_path):
    many = run(made(Counting(), goal="failures", budget=80), tmp_path / "failures", quiet=True)
    rate = run(made(Counting(), goal="rate", budget=80), tmp_path / "rate", quiet=True)
    assert many["failures"] > rate["failures"] + 10
    assert many["regions"] == []


def test_images_without_a_valid_answer_are_counted(tmp_path):
    def nothing_on_large(pixels):
        return np.where(pixels[:, 0, 0, 1] > 240, np.nan, 1.0)

    search = made(as_target(nothing_on_large, name="reader"), budget=40, limits=Limits(max_failures=1.0))
    numbers = searching.run(search, tmp_path / "run", quiet=True)
    found = plain(numbers)
    assert found["failed"] > 0
    assert found["failures"] == 0
    assert found["estimate"]["n"] <= 40 - found["failed"]
    assert f"; {found['failed']} calls without a valid answer" in searching.content_of(numbers).lines()[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "--budget of at least 20 calls, got 0"),
        ({"method": "mcduff2019"}, "give --goal failures"),
        ({"alpha": 0.2}, "--alpha applies to --method mcduff2019, got ours; choose that method"),
    ],
)
def test_search_refuses_options_that_do_not_fit(options, message):
    with pytest.raises((BadInput, UnknownName), match=message):
        made(Counting(), **options)


def test_the_two_readings_of_alpha_mirror_each_other():
    options = {"method": "mcduff2019", "goal": "failures"}
    caption = made(Counting(), **options, alpha=0.8, alpha_weighs="failures")
    assert caption.alpha == pytest.approx(made(Counting(), **options, alpha=0.2).alpha) == pytest.approx(0.2)


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("method", ["random", "sobol"])
def test_points_that_look_at_no_answer_serve_every_goal(tmp_path, goal, method):
    found = run(made(Counting(), goal, 24, method=method), tmp_path)
    assert found["strategy"].startswith({"random": "random points", "sobol": "Sobol points"}[method])
    assert found["estimate"]["n"] == {"regions": 18, "failures": 24, "rate": 24}[goal]
    assert found["errors"]["samples"][0]["sampler"] == {"random": "random", "sobol": "Sobol points"}[method]


def test_the_gallery_shows_failures_far_apart_first(monkeypatch):
    points = np.array([[0.1, 0.1], [0.1, 0.11], [0.9, 0.9], [0.5, 0.5]])
    history = History(points, np.array([1.0, 1.0, 1.0, 0.0]), np.ones(4, dtype=bool))
    shown = np.arange(4, dtype=np.uint8)[:, None, None, None] * np.ones((1, 8, 8, 3), np.uint8)
    parts, space = [shown[:2], shown[2:]], space_of(Panes())
    assert [each.call for each in search_numbers.failure_pictures(space, history, 2, parts.__getitem__)] == [1, 2, 3]
    monkeypatch.setattr(search_numbers, "SHOWN_FAILURES", 2)
    assert [each.call for each in search_numbers.failure_pictures(space, history, 2, parts.__getitem__)] == [1, 3]


class Metered(Counting):
    """A reader that is paid by image; `file` outlives the program, as a file of answers does."""

    metered = True

    def __init__(self, file, stop_at=None):
        super().__init__(stop_at)
        self.file = file

    def quote(self, images):
        calls = sum(self.file)
        return Quote(self.name, images, images, images / 100, "USD", calls_spent=calls, money_spent=calls / 100)

    def calls_made(self):
        return self.seen, self.seen / 100

    def predict(self, images):
        self.file.append(len(images))
        return super().predict(images)


def test_the_cost_is_of_all_programs_that_took_part(tmp_path):
    """30 images asked before the search are none of its cost; the batch that was stopped was paid, and again after."""
    file = [30]
    with pytest.raises(Interrupted):
        run(made(Metered(file, stop_at=20), goal="failures", budget=40), tmp_path / "run", quiet=True)
    found = run(made(Metered(file), goal="failures", budget=40), tmp_path / "run", quiet=True)
    assert (found["paid_calls"], found["cost"]) == (48, 0.48)
    assert sum(file) == 30 + 48
    assert run(made(Metered(file), goal="failures", budget=40), tmp_path / "run", quiet=True) == found


class CountsOwnCalls(Metered):
    """States no total of earlier programs."""

    def quote(self, images):
        return Quote(self.name, images, images, images / 100, "USD")


def test_the_cost_of_a_target_without_totals_is_what_it_made(tmp_path):
    """The images of a killed program's unfinished batch are not known to the next program."""
    with pytest.raises(Interrupted):
        run(made(CountsOwnCalls([], stop_at=20), goal="failures", budget=40), tmp_path / "run", quiet=True)
    search = made(CountsOwnCalls([]), goal="failures", budget=40)
    found = run(search, tmp_path / "run", quiet=True)
    assert (found["paid_calls"], found["cost"]) == (40, 0.4)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    out = tmp_path_factory.mktemp("search") / "run"
    return transect.search(Counting(), truth="face", budget=240, generator=Panes(), out=out)


class TestThePythonFunction:
    @pytest.mark.integration
    def test_a_region_in_words_and_a_rate_that_holds_the_truth(self, result):
        region, estimate = result.numbers.regions[0], result.numbers.estimate
        assert "tone > 0." in region.rule
        assert region.n > 0
        assert region.low <= region.rate <= region.high
        assert region.rate > 0.5
        assert estimate.low <= 0.12 <= estimate.high  # 0.3 x 0.4 of the panes
        assert result.numbers.failed == 0

    @pytest.mark.integration
    def test_the_page_and_the_numbers_are_those_of_the_folder(self, result):
        page = (result.job.place() / "search.html").read_text()
        assert page.count('alt="Failure at call') == len(result.numbers.pictures) + STRIP > STRIP
        assert json.loads((result.job.place() / "search.json").read_text()) == result.to_json()
        fits(result)

    def test_it_takes_a_function_and_options(self, tmp_path):
        options = SearchOptions(space="conditions", limits=Limits(max_failures=1.0), target={"name": "dark"})
        result = transect.search(
            lambda pixels: [0.5] * len(pixels),
            truth="tone",
            budget=20,
            goal="rate",
            vary=["tone=0,1"],
            generator=Panes(),
            out=tmp_path / "run",
            options=options,
        )
        assert result.numbers.target == "dark"
        assert result.numbers.estimate.low < 0.5 < result.numbers.estimate.high  # wrong at one of the two levels
        assert result.numbers.regions_reason.startswith("the goal rate confirms no regions")
