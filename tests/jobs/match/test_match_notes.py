"""What `transect match` says of unfit features, groups without overlap, ids, and options that a method cannot keep."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import refused_here as refused
from match_tables import answer, arguments

import transect
from transect.analysis.matched.sample import covariate_separation
from transect.designs.matching import make_sample
from transect.designs.matching.propensity import scores

N = 40


@pytest.fixture
def small(tmp_path):
    """40 images, 16 of them treated; a covariate near in both groups, one 50 apart, one without any value."""
    rng = np.random.default_rng(0)
    male = (np.arange(N) < 16).astype(int)
    table = {"id": [f"i{i}" for i in range(N)], "male": male, "age": rng.normal(size=N)}
    table |= {"far": rng.normal(size=N) + 50 * male, "tri": list("abcd" * 10), "empty": np.full(N, np.nan)}
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    np.save(tmp_path / "w.npy", rng.normal(size=(N, 3)))
    return tmp_path


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--method", "overlap", "--caliper", "1"), "--caliper does not apply to --method overlap"),
        (("--covariate", "male"), "--covariate male: expected a column other than the treatment"),
        (("--features", "{}/apart.npy", "--method", "propensity", "--caliper", "0.001"), "the groups separate on column"),
    ],
)  # fmt: skip
def test_what_cannot_be_kept_or_matched_is_said(small, more, message):
    np.save(small / "apart.npy", np.load(small / "w.npy") + 40.0 * (np.arange(N) < 16)[:, None])
    assert message in refused(*arguments(small, *(one.format(small) for one in more)))


def test_ids_that_do_not_meet(small):
    w, ids = np.load(small / "w.npy"), [f"i{i}" for i in range(N)]
    pq.write_table(pa.table({"id": list(range(N)), "w": w.tolist()}), small / "f.parquet")
    line = refused(*arguments(small, features="f.parquet"))
    assert "none of the table's ids occurs; expected ids like 'i0', got ids like 0" in line
    pq.write_table(pa.table({"id": ids[:-2], "w": w[:-2].tolist()}), small / "f.parquet")
    summary, _ = answer(small, features="f.parquet")
    assert summary["missing_rows"] == [38, 39]
    assert summary["notes"] == [
        "2 images have no features (rows 38, 39): is their id in every features file?",
        next(note for note in summary["notes"] if note.startswith("the groups separate on the covariate far")),
    ]
    table = pq.read_table(small / "t.parquet")
    pq.write_table(table.set_column(0, "id", [["i1", *ids[1:]]]), small / "t.parquet")
    assert "table: the id 'i1' occurs more than once" in refused(*arguments(small, features="f.parquet"))


@pytest.mark.parametrize(
    ("treated", "control", "words"),
    [  # 19 of 20 wear one against 1 of 20: .9 apart, the standard deviation of each is .218
        ([1.0] * 19 + [0.0], [0.0] * 19 + [1.0], "mean 0.95 (treated) and mean 0.05 (control), so that few images may"),
        ([3.0] * 10 + [4.0] * 10, [0.0] * 20, "3 to 4 (treated) and 0 (control), so that no image has"),
    ],
)
def test_groups_that_separate_are_told_apart_by_the_numbers_that_do_it(treated, control, words):
    sample = make_sample(np.arange(40.0)[:, None], np.repeat([1.0, 0.0], 20))
    assert words in covariate_separation({"hat": np.array(treated + control)}, sample)[0]


def test_guessing_a_larger_group_is_no_separation():
    # 1 treated image in 50: whoever guesses "control" is right in 98 %, whatever the features say.
    rng = np.random.default_rng(0)
    treatment = (np.arange(500) % 50 == 0).astype(float)
    found = scores(make_sample(rng.normal(size=(500, 2)), treatment))
    assert found.cross_validated >= 0.97
    assert not found.warning
    apart = scores(make_sample(rng.normal(size=(500, 2)) + 20 * treatment[:, None], treatment))
    assert "barely overlap" in apart.warning


def test_before_a_dose_are_the_images_above_and_below_its_median(small):
    """Doses 0 to 39 and v = the dose: above the median 20 to 39 (mean 29.5), below 0 to 19 (9.5), variance 35 in each."""
    table = pq.read_table(small / "t.parquet").append_column("dose", pa.array(np.arange(40.0)))
    pq.write_table(table.append_column("v", pa.array(np.arange(40.0))), small / "t.parquet")
    more = ("--treatment", "dose", "--dose-gap", "15", "--covariate", "v")
    summary, rows = answer(small, *more)
    one = summary["balance"][0]
    assert one["before"] == pytest.approx(20 / np.sqrt(35))
    gap = rows["a"].to_numpy().mean() - rows["b"].to_numpy().mean()
    assert one["after"] == pytest.approx(gap / np.sqrt(35))


@pytest.mark.parametrize("method", ["greedy", "optimal"])
def test_a_caliper_that_refuses_every_set_names_one_that_does_not(small, method):
    more = ("--treatment", "tri", "--covariate", "age", "--method", method)
    line = refused(*arguments(small, *more, "--caliper", "1e-9"))
    assert line.startswith("no set has an image of each of a, b, c, d within the caliper; ")
    named = line.split("; ")[1].split(" leaves one")[0]
    summary, rows = answer(small, *more, "--caliper", named)
    assert summary["sets"] >= 1
    assert max(rows["distance"].to_pylist()) <= float(named)


def test_columns_named_as_outcomes_are_no_covariates_and_too_many_covariates_are_noted():
    """Twelve pairs on a line; the score follows the treatment, and two covariates are too many for twelve pairs."""
    x, rng = [float(i) for i in range(12)], np.random.default_rng(0)
    table = {"x": x + [i + 0.1 for i in x], "hat": [1] * 12 + [0] * 12, "error": [0, 1] * 12}
    table |= {"age": rng.normal(size=24), "light": rng.normal(size=24), "score": [0.9] * 12 + [0.1] * 12}

    def match(**options):
        return transect.match({"x": table["x"]}, "hat", table, outcomes="error", **options).numbers

    assert [row.covariate for row in match().balance] == ["x", "age", "light"]
    notes = "; ".join(match().notes)
    assert "score is an outcome by name and neither a feature nor a covariate" in notes
    assert "covariates on 12 pairs: with fewer than 10 pairs for each" in notes
    kept = match(covariates=["score"])
    assert [row.covariate for row in kept.balance] == ["score"]
    assert not any("by name" in note or "adjusted for" in note for note in kept.notes)
    assert transect.match(table, "hat", outcomes="error").numbers.prepared.names == ("x", "age", "light")
