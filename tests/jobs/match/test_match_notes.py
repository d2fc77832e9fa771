"""What `transect match` says of unfit features, groups without overlap, ids, and options that a method cannot keep."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import printed
from commands import refused_here as refused
from match_tables import answer, arguments

import transect
from transect.designs.matching import make_sample
from transect.designs.matching.propensity import scores
from transect.jobs.match.run import _peak_megabytes
from transect.jobs.match.sample import _least_caliper, column_notes, covariate_separation, group_moments, separation

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


def test_constant_and_repeated_columns_are_named_and_equal_counts_are_no_repeat():
    # Columns: a number, itself again, 5 for all, and two indicators with equal means and variances in both groups.
    x = np.array(
        [[0.0, 0.0, 5.0, 0.0, 1.0], [1.0, 1.0, 5.0, 1.0, 0.0], [2.0, 2.0, 5.0, 0.0, 1.0], [4.0, 4.0, 5.0, 1.0, 0.0]]
    )
    sample = make_sample(x, [1.0, 1.0, 0.0, 0.0])
    constant, repeated = column_notes(x, sample, list("pqrst"), group_moments(x, sample))
    assert constant == "features: 1 column (r) is the same for all images and no part of any distance"
    assert repeated.startswith("features: 1 column (q) is equal to an earlier column")
    without = x[:, [0, 3, 4]]
    assert not column_notes(without, sample, [], group_moments(without, sample))


def test_the_separating_feature_is_named_as_the_user_gave_it():
    # Means 11 and 1, variances 1 in both: 10 standard deviations. The others do not separate.
    x = np.array([[0.0, 10.0], [1.0, 12.0], [0.0, 0.0], [1.0, 2.0]])
    sample = make_sample(x, [1.0, 1.0, 0.0, 0.0])
    said = separation(["p", "q"], group_moments(x, sample))
    assert said.startswith(
        "the groups separate on q: means 11 (treated) and 1 (control), 10.0 standard deviations apart"
    )
    assert "1 feature is at least 3 apart" in said
    assert not separation(["p"], group_moments(x[:, :1], sample))


def test_notes_of_the_command(small):
    w = np.load(small / "w.npy")
    w = np.column_stack([np.full(N, 7.0), w, w[:, 2]])
    w[20] = w[3]
    w[30] = np.nan
    np.save(small / "w.npy", w)
    summary, _ = answer(small)
    absent, constant, repeated, _, twice = summary["notes"]
    assert absent.startswith("1 image has no features (row 30): is its id")
    assert "1 column (0) is the same for all images" in constant
    assert "1 column (4) is equal to an earlier column" in repeated
    assert twice.startswith("1 pair has distance 0")
    text = printed(*[one for one in arguments(small) if one != "--json"])
    assert "missing values: 1 image, row 30" in text
    # In Mahalanobis distance infinity is missing too, without a warning, and the separating column keeps its number.
    w[30, 1], w[:, 3] = np.inf, w[:, 3] + 30 * (np.arange(N) < 16)
    np.save(small / "w.npy", w)
    summary, _ = answer(small, "--method", "mahalanobis")
    assert summary["missing_rows"] == [30]
    assert "the groups separate on column 3" in summary["notes"][-1]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--method", "cardinality", "--caliper", "1"), "--caliper has no part in --method cardinality"),
        (("--method", "overlap", "--covariate", "age", "--exact", "tri"), "--exact has no part in --method overlap"),
        (("--method", "entropy", "--covariate", "age", "--identity", "id"), "--identity has no part in --method entropy"),
        (("--bins", "3"), "--bins has no part in --method greedy: leave it out, or use coarsened"),
        (("--tolerance", "0.2"), "--tolerance has no part in --method greedy: leave it out, or use cardinality"),
        (("--method", "mahalanobis", "--metric", "standardized"), "--metric has no part in --method mahalanobis"),
        (("--base", "1"), "--base 1 chooses among more than two groups"),
        (("--experiment-attribute", "x"), "--experiment-attribute names an attribute of --experiment DIR: give both"),
        (("--pictures", "id"), "--pictures go onto the page: give --report DIR too"),
        (("--covariate", "male"), "--covariate male: expected a column other than the treatment"),
        (("--method", "coarsened", "--covariate", "age", "--covariate", "far"), "no bin of far holds images of both groups"),
        (("--method", "cardinality", "--covariate", "age", "--covariate", "far"), "there is no balanced subset; the groups separate on far: 4"),
        (("--method", "entropy", "--covariate", "age", "--covariate", "far"), "reach the treated means; far stays"),
        (("--features", "{}/apart.npy", "--method", "propensity", "--caliper", "0.001"), "the groups separate on column"),
    ],
)  # fmt: skip
def test_what_cannot_be_kept_or_matched_is_said(small, more, message):
    np.save(small / "apart.npy", np.load(small / "w.npy") + 40.0 * (np.arange(N) < 16)[:, None])
    assert message in refused(*arguments(small, *(one.format(small) for one in more)))


def test_bins_refuse_under_their_own_name(small):
    # Row 0 alone is far away, in the last of ten bins with no control; the other treated images share the first bin.
    far = np.where(np.arange(N) == 0, 100.0, np.arange(N) / N)
    pq.write_table(pq.read_table(small / "t.parquet").append_column("lone", pa.array(far)), small / "t.parquet")
    summary, rows = answer(small, "--method", "coarsened", "--covariate", "lone", "--bins", "10")
    assert summary["refused"] == {"coarsened covariates": 1}
    assert 0 not in rows["a"].to_pylist()


def test_balance_that_was_not_measured_is_not_called_balanced(small):
    pq.write_table(pq.read_table(small / "t.parquet").select(["male", "tri"]), small / "t.parquet")
    assert answer(small)[0]["verdict"].startswith("balance unknown: no numeric column")


def test_ids_that_do_not_meet(small):
    w, ids = np.load(small / "w.npy"), [f"i{i}" for i in range(N)]
    pq.write_table(pa.table({"id": list(range(N)), "w": w.tolist()}), small / "f.parquet")
    line = refused(*arguments(small, features="f.parquet"))
    assert "none of the table's ids is there; expected ids like 'i0', got ids like 0" in line
    pq.write_table(pa.table({"id": ids[:-2], "w": w[:-2].tolist()}), small / "f.parquet")
    summary, _ = answer(small, features="f.parquet")
    assert summary["missing_rows"] == [38, 39]
    assert summary["notes"] == [
        "2 images have no features (rows 38, 39): is their id in every features file?",
        next(note for note in summary["notes"] if note.startswith("the groups separate on the covariate far")),
    ]
    table = pq.read_table(small / "t.parquet")
    pq.write_table(table.set_column(0, "id", [["i1", *ids[1:]]]), small / "t.parquet")
    assert "table: the id 'i1' stands more than once" in refused(*arguments(small, features="f.parquet"))


def test_guessing_a_larger_group_is_no_separation():
    # 1 treated image in 50: whoever guesses "control" is right in 98 %, whatever the features say.
    rng = np.random.default_rng(0)
    treatment = (np.arange(500) % 50 == 0).astype(float)
    found = scores(make_sample(rng.normal(size=(500, 2)), treatment))
    assert found.cross_validated >= 0.97
    assert not found.warning
    apart = scores(make_sample(rng.normal(size=(500, 2)) + 20 * treatment[:, None], treatment))
    assert "barely overlap" in apart.warning


@pytest.mark.parametrize("least", [0.36008931, 0.1, 0.1000000001, 9.9999996, 1234567.8, 3.0, 2e-9 / 3])
def test_the_caliper_that_is_named_is_never_below_the_distance(least):
    from transect.designs.matching import Matching
    from transect.jobs.match.options import Request

    nothing = np.zeros(0)
    made = Matching("greedy", nothing.astype(int), nothing.astype(int), nothing, least_caliper=least)
    named = float(_least_caliper(made, Request((np.ones((1, 1)),), "male", pa.table({}))))
    assert least <= named <= least * (1 + 1e-5)


def test_the_peak_is_of_this_process_and_not_of_the_one_that_started_it():
    """A child of a process that holds 400 MB: getrusage would count these for it, Linux's own count does not."""
    if not Path("/proc/self/status").exists():
        pytest.skip("no /proc")
    held = np.ones(50_000_000)
    code = "from transect.jobs.match.run import _peak_megabytes; print(_peak_megabytes())"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < float(found.stdout) < held.nbytes / 1e6
    assert _peak_megabytes() > held.nbytes / 1e6


def test_a_covariate_that_separates_the_groups_is_named():
    """Treated 5 to 7 against 0 to 2 share nothing; 4 to 6 against 0 to 4 share 4, means 5 and .5 with SD .8 and 1.3."""
    x = np.zeros((11, 1))
    x[0] = 1.0
    sample = make_sample(x, [1.0] * 3 + [0.0] * 8)
    columns = {
        "apart": np.array([5.0, 6, 7, 0, 1, 2, 0, 1, 2, 1, 1]),
        "nearly": np.array([4.0, 5, 6, 0, 0, 0, 0, 0, 0, 0, 4]),
        "fixed": np.array([1.0] * 3 + [0.0] * 8),
        "same": np.arange(11.0) % 3,
        "empty": np.full(11, np.nan),
    }
    apart, nearly, fixed = covariate_separation(columns, sample)
    assert apart.endswith(
        "covariate apart: 5 to 7 (treated) and 0 to 2 (control), so that no image has a counterpart in it"
    )
    assert nearly.endswith("4 to 6 (treated) and 0 to 4 (control), so that few images may have a counterpart in it")
    assert "fixed: 1 (treated) and 0 (control)" in fixed


def test_the_separating_covariate_stands_in_the_answer(small):
    summary, _ = answer(small, "--covariate", "far", "--covariate", "age")
    assert any(note.startswith("the groups separate on the covariate far") for note in summary["notes"])
    table = pq.read_table(small / "t.parquet")
    pq.write_table(table.append_column("fixed", table["male"]), small / "t.parquet")
    summary, _ = answer(small, "--covariate", "fixed", "--method", "entropy")
    assert summary["verdict"].startswith("not balanced: fixed (1 against 0, neither varies)")


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
    told = printed(*[word for word in arguments(small, *more) if word != "--json"])
    assert "from 40 images whose dose differs by 15 or more" in told


@pytest.mark.parametrize("method", ["greedy", "optimal", "mahalanobis"])
def test_a_caliper_that_refuses_every_set_names_one_that_does_not(small, method):
    more = ("--treatment", "tri", "--covariate", "age", "--method", method)
    line = refused(*arguments(small, *more, "--caliper", "1e-9"))
    assert line.startswith("no set has an image of each of a, b, c, d within the caliper; ")
    named = line.split("; ")[1].split(" leaves one")[0]
    summary, rows = answer(small, *more, "--caliper", named)
    assert summary["sets"] >= 1
    assert max(rows["distance"].to_pylist()) <= float(named)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--treatment", "tri", "--base", "e"), "unknown group 'e'"),
        (("--method", "cardinality", "--tolerance", "nan"), "--tolerance: expected a number of 0 or more, got nan"),
        (("--method", "cardinality", "--tolerance", "-1"), "--tolerance: expected a number of 0 or more, got -1"),
        (("--method", "coarsened", "--bins", "0"), "--bins: expected a number of 1 or more, got 0"),
        (("--gate", "nan"), "--gate: expected a number of 0 or more, got nan"),
        (
            ("--second", "w.npy", "--second-threshold", "nan"),
            "--second-threshold: expected a distance above 0, got nan",
        ),
        (("--identity", "nobody"), "--identity nobody: no image has one"),
    ],
)
def test_numbers_out_of_range_and_names_of_nothing(small, monkeypatch, more, message):
    monkeypatch.chdir(small)
    table = pq.read_table(small / "t.parquet")
    pq.write_table(table.append_column("nobody", pa.array([None] * N, pa.string())), small / "t.parquet")
    assert message in refused(*arguments(small, "--covariate", "age", *more))


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
    assert transect.match(table, "hat", outcomes="error").prepared.names == ("x", "age", "light")
