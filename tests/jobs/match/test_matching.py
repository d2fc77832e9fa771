"""`transect match`: what it prints and writes, and how it refuses."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import printed
from commands import refused_here as refused
from match_tables import answer, arguments, write_population
from scipy.stats import binom

from transect.effects.matched_pairs import balance


@pytest.fixture
def folder(tmp_path):
    return write_population(tmp_path)


@pytest.mark.parametrize("method", ["greedy", "optimal", "propensity", "propensity-published", "mahalanobis"])
def test_the_contract(folder, method):
    """Counts add up, columns are a (treated), b, distance, and `before`, `after` are those of the rows written."""
    more = ("--covariate", "young", "--covariate", "smile", "--layers", "average", "--identity", "person")
    summary, rows = answer(folder, "--method", method, *more)
    table = pq.read_table(folder / "t.parquet").to_pandas()
    a, b = rows["a"].to_numpy(), rows["b"].to_numpy()
    assert rows.column_names == ["a", "b", "distance"]
    assert summary["pairs"] == len(a) > 10
    assert (table.male[a] == 1).all()
    assert (table.male[b] == 0).all()
    assert len(set(table.person[a]) | set(table.person[b])) == 2 * len(a)
    assert summary["pairs"] + sum(summary["refused"].values()) == summary["treated"] == int(table.male.sum())
    groups = np.flatnonzero(table.male == 1), np.flatnonzero(table.male == 0)
    expected = balance({"young": table.young.to_numpy()}, *groups, (a, b))[0]
    young = next(one for one in summary["balance"] if one["covariate"] == "young")
    assert young["before"] == pytest.approx(expected.before.smd)
    assert young["after"] == pytest.approx(expected.after.smd)
    assert summary["peak_mb"] > 10


def test_features_are_put_in_order_by_id(folder):
    """The Parquet holds the same latents in reverse order, with ids."""
    by_array, rows = answer(folder)
    by_table, same = answer(folder, features="w.parquet")
    assert same["a"].to_pylist() == rows["a"].to_pylist()
    np.testing.assert_allclose(same["distance"], rows["distance"], rtol=1e-5)
    assert by_array["pairs"] == by_table["pairs"]


def test_two_blocks_with_weights(folder):
    _, whole = answer(folder, "--features", f"{folder / 'faces.npy'}=4")
    w, faces = np.load(folder / "w.npy").reshape(200, -1), np.load(folder / "faces.npy")
    a, b = whole["a"].to_numpy(), whole["b"].to_numpy()
    expected = np.sqrt(((w[a] - w[b]) ** 2).sum(axis=1) + 4 * ((faces[a] - faces[b]) ** 2).sum(axis=1))
    np.testing.assert_allclose(whole["distance"].to_numpy(), expected, rtol=1e-5)


def test_constraints_are_kept_and_refusals_counted(folder):
    summary, rows = answer(
        folder, "--exact", "place", "--second", str(folder / "faces.npy"), "--second-threshold", "0.6"
    )
    faces, place = np.load(folder / "faces.npy"), np.array(pq.read_table(folder / "t.parquet")["place"].to_pylist())
    a, b = rows["a"].to_numpy(), rows["b"].to_numpy()
    assert (place[a] == place[b]).all()
    assert (np.linalg.norm(faces[a] - faces[b], axis=1) < 0.6).all()
    assert summary["refused"]["second distance"] > 0


def test_reference_images(folder):
    summary, rows = answer(folder, "--identity", "person", "--references", "--default", "young=1")
    table = pq.read_table(folder / "t.parquet").to_pandas()
    for image, reference in (("a", "a_reference"), ("b", "b_reference")):
        image, reference = rows[image].to_numpy(), rows[reference].to_numpy()
        assert (table.person[image].to_numpy() == table.person[reference].to_numpy()).all()
        assert (image != reference).all()
        assert (table.young[reference] == 1).all()
    assert summary["refused"]["no valid reference"] > 50
    assert set(summary["references"]) == {"mean_treated", "mean_control", "mean_difference_in_pairs", "ks"}


def test_weights_balance_the_means(folder):
    summary, rows = answer(folder, "--method", "overlap", "--covariate", "young", "--covariate", "smile")
    assert rows.column_names == ["row", "weight"]
    assert all(abs(one["after"]) < 1e-5 for one in summary["balance"])
    assert summary["verdict"].startswith("balanced: 2")
    assert summary["weighted"] == len(rows)


def test_more_than_two_groups_and_doses(folder):
    summary, rows = answer(folder, "--treatment", "tri", "--covariate", "young")
    assert summary["groups"][0] == "a"
    assert summary["pairs"] == 2 * summary["sets"] == len(rows)
    assert {one["covariate"] for one in summary["balance"]} == {f"young (a - {g})" for g in summary["groups"][1:]}
    dosed, rows = answer(folder, "--treatment", "dose", "--dose-gap", "0.8")
    dose = pq.read_table(folder / "t.parquet")["dose"].to_numpy()
    assert (dose[rows["a"].to_numpy()] - dose[rows["b"].to_numpy()] >= 0.8).all()
    assert dosed["pairs"] > 50


@pytest.mark.parametrize("method", ["greedy", "optimal", "propensity"])
def test_a_group_of_one_image(folder, method):
    table = pq.read_table(folder / "t.parquet").to_pandas()
    table["male"] = (np.arange(200) == 7).astype(int)
    table[["male", "young"]].to_parquet(folder / "t.parquet")
    summary, rows = answer(folder, "--method", method, "--caliper", "50")
    assert rows["a"].to_pylist() == [7]
    assert summary["pairs"] == 1


def test_missing_rows_are_listed_and_the_rest_is_matched(folder):
    w = np.load(folder / "w.npy")
    w[[3, 77], 0, 0] = np.nan
    np.save(folder / "w.npy", w)
    summary, rows = answer(folder)
    assert summary["missing_rows"] == [3, 77]
    assert not {3, 77} & {*rows["a"].to_pylist(), *rows["b"].to_pylist()}


def test_groups_without_overlap_say_where_and_keep_what_can_be_matched(folder):
    w, male = np.load(folder / "w.npy"), pq.read_table(folder / "t.parquet")["male"].to_numpy()
    w[:, 0, 2] += 30 * male
    np.save(folder / "w.npy", w)
    summary, rows = answer(folder, "--caliper", "31")
    assert "the groups separate on column 2" in summary["notes"][0]
    assert 0 < len(rows) < male.sum()
    separated, _ = answer(folder, "--method", "propensity", "--caliper", "15")
    assert "barely overlap" in separated["facts"]["warning"]
    assert separated["facts"]["accuracy_cross_validated"] > 0.99


def test_no_caliper_is_advised_where_groups_do_not_overlap(folder):
    """Column 2 is 0 of one group and 1 of the other, the rest is constant: no caliper makes them alike."""
    male = pq.read_table(folder / "t.parquet")["male"].to_numpy()
    np.save(folder / "w.npy", np.stack([np.ones(len(male)), np.zeros(len(male)), male], axis=1)[:, None])
    line = refused(*arguments(folder, "--method", "propensity"))
    assert "the groups do not overlap" in line
    assert "--caliper" not in line


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--method", "greedi"), "unknown method 'greedi': did you mean greedy"),
        (("--method", "entropy"), "unknown method 'entropy': expected greedy, optimal"),
        (("--treatment", "dose"), "give --dose-gap for a continuous treatment"),
        (("--caliper", "0.01"), "no pair is within the caliper; the smallest that would leave one is"),
        (("--covariate", "place"), "covariate column 'place': expected numbers, got string"),
        (("--features", "nowhere.npy"), "features nowhere.npy: no such .npy file"),
        (("--out", "nowhere/pairs.parquet"), "expected a file name in an existing folder; create nowhere first"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(folder, more, message):
    assert message in refused(*arguments(folder, *more))


def test_the_smallest_caliper_that_is_named_leaves_a_pair(folder):
    for method in ("greedy", "propensity"):
        line = refused(*arguments(folder, "--method", method, "--caliper", "1e-9"))
        least = line.split("would leave one is ")[1].split(":")[0]
        summary, _ = answer(folder, "--method", method, "--caliper", least)  # as it stands: never rounded down
        assert summary["pairs"] == 1


def with_outcome(folder):
    """The table with errors: of the treated in 0.6, of the others in 0.2 of the images, some without one."""
    table = pq.read_table(folder / "t.parquet")
    rng = np.random.default_rng(1)
    wrong = (rng.random(200) < np.where(table["male"].to_numpy() == 1, 0.6, 0.2)).astype(float)
    wrong[::20] = np.nan
    made = table.append_column("error", pa.array(wrong, from_pandas=True))
    pq.write_table(made, folder / "t.parquet")
    return wrong


def test_outcomes_are_compared_within_pairs(folder):
    """McNemar's mid-p and Rosenbaum's bound, from the rows that were written."""
    wrong = with_outcome(folder)
    summary, rows = answer(folder, "--outcome", "error")
    a, b = rows["a"].to_numpy(), rows["b"].to_numpy()
    d = (wrong[a] - wrong[b])[np.isfinite(wrong[a] - wrong[b])]
    up, down = int((d > 0).sum()), int((d < 0).sum())
    (one,) = summary["outcomes"]
    assert one["estimate"] == pytest.approx(d.mean())
    assert (one["n_pairs"], one["n_missing"], one["discordant"]) == (len(d), len(a) - len(d), up + down)
    assert one["p"] == pytest.approx(min(1, binom.sf([up - 1, up], up + down, 0.5).sum()))
    assert one["largest_p"][one["gammas"].index(2.0)] == pytest.approx(
        min(1, binom.sf([up - 1, up], up + down, 2 / 3).sum())
    )
    # no method may see an outcome
    assert "error" not in [row["covariate"] for row in summary["balance"]]


def test_features_of_the_table_leave_the_outcome_out(folder):
    with_outcome(folder)
    more = ("--covariate", "young", "--outcome", "error")
    table = str(folder / "t.parquet")
    given = ("match", "--features", table, "--treatment", "male", "--out", str(folder / "pairs.parquet"), "--json")
    first, _ = json.loads(printed(*given, *more)), pq.read_table(folder / "pairs.parquet")
    pq.write_table(pq.read_table(table).drop_columns(["error"]), folder / "t.parquet")
    second = json.loads(printed(*given, "--covariate", "young"))
    assert first["mean_distance"] == second["mean_distance"]


def test_treatment_codes_that_begin_alike_are_groups_of_their_own(folder):
    """Seven digits: cut to six, all three would be one group (7e+06); the scarcest, of 40 images, is the base."""
    table = pq.read_table(folder / "t.parquet")
    codes = np.repeat([7000001, 7000002, 7000003], [40, 80, 80])
    pq.write_table(table.append_column("code", pa.array(codes)), folder / "t.parquet")
    summary, _ = answer(folder, "--treatment", "code", "--covariate", "young")
    assert sorted(summary["groups"]) == ["7000001", "7000002", "7000003"]
    assert summary["groups"][0] == "7000001"


def experiment_of(folder, **changes):
    """A finished audit's results with one contrast: .1 (.05 to .15) in the rate of errors."""
    effect = {"kind": "contrast", "basis": "experimental", "attribute": "face_shape", "outcome": "error"}
    effect |= {"name": "face_shape: 0.2 to 0.8", "target": "mine", "estimate": 0.1, "low": 0.05, "high": 0.15}
    made = folder / "audit"
    made.mkdir()
    (made / "results.json").write_text(
        json.dumps({"effects": [effect | {"n_subjects": 50, "unit": "proportion"} | changes]})
    )
    return "--experiment", str(made), "--experiment-attribute", "face_shape"


def test_an_experiment_stands_beside_the_pairs(folder):
    """The pairs' difference less .1, with square-and-add of both intervals, as it is and adjusted."""
    with_outcome(folder)
    beside = experiment_of(folder)
    summary, _ = answer(folder, "--outcome", "error", *beside)
    (one,) = summary["outcomes"]
    (effect,) = one["experiment"]
    for name, side in (("matched", one), ("adjusted", one["adjusted"])):
        test = effect[name]
        assert test["difference"] == pytest.approx(side["estimate"] - 0.1)
        assert test["low"] == pytest.approx(test["difference"] - np.hypot(side["estimate"] - side["low"], 0.05))
