"""`transect match`: what it prints and writes, and how it refuses."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import printed
from commands import refused as refused_by_the_command
from commands import refused_here as refused
from match_tables import answer, arguments, write_population
from scipy.stats import binom

from transect.effects.matched_pairs import balance


@pytest.fixture
def folder(tmp_path):
    return write_population(tmp_path)


@pytest.mark.parametrize(
    "method", ["greedy", "optimal", "propensity", "propensity-published", "mahalanobis", "coarsened", "cardinality"]
)
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
    assert summary["seconds"] > 0
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


@pytest.mark.parametrize("method", ["entropy", "overlap"])
def test_weights_balance_the_means(folder, method):
    summary, rows = answer(folder, "--method", method, "--covariate", "young", "--covariate", "smile")
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


@pytest.mark.parametrize(
    "more", [("--treatment", "tri"), ("--method", "overlap"), ("--treatment", "dose", "--dose-gap", "1")]
)
def test_each_kind_of_answer_has_a_page(folder, more):
    answer(folder, *more, "--covariate", "young", "--report", str(folder / "page"))
    text = (folder / "page" / "match.html").read_text()
    assert "young" in text
    assert json.loads((folder / "page" / "match.json").read_text())["verdict"] in text.replace(
        "Not b", "not b"
    ).replace("Balanced:", "balanced:")


@pytest.mark.parametrize(
    "method", ["greedy", "optimal", "propensity", "propensity-published", "coarsened", "cardinality"]
)
def test_a_group_of_one_image(folder, method):
    table = pq.read_table(folder / "t.parquet").to_pandas()
    table["male"] = (np.arange(200) == 7).astype(int)
    table[["male", "young"]].to_parquet(folder / "t.parquet")
    caliper = () if method == "cardinality" else ("--caliper", "50")
    summary, rows = answer(folder, "--method", method, *caliper)
    assert rows["a"].to_pylist() == [7]
    assert summary["pairs"] == 1


def test_identities_of_one_image_in_both_groups_leave_nothing_for_the_optimum(folder):
    table = pq.read_table(folder / "t.parquet").to_pandas()
    table["person"] = "one"
    table.to_parquet(folder / "t.parquet")
    line = refused(*arguments(folder, "--method", "optimal", "--identity", "person"))
    assert "no pair keeps the constraints" in line


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


def test_the_terminal_says_counts_reasons_and_the_verdict(folder):
    text = printed(*[one for one in arguments(folder, "--method", "propensity") if one != "--json"])
    for part in ("pairs from", "refused:", "accuracy cross validated", "balanced:"):
        assert part in text


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--method", "greedi"), "unknown method 'greedi': did you mean greedy"),
        (("--treatment", "mal"), "unknown treatment column 'mal': did you mean male"),
        (("--treatment", "dose"), "give --dose-gap for a continuous treatment"),
        (("--caliper", "0.01"), "no pair is within the caliper; the smallest that would leave one is"),
        (("--method", "propensity", "--caliper", "1e-9"), "no pair is within the caliper; the smallest that would leave"),
        (("--caliper", "-1"), "--caliper: expected a number of 0 or more, got -1"),
        (("--second-threshold", "1"), "expected --second FILE and --second-threshold together"),
        (("--references",), "--references needs --identity COLUMN"),
        (("--default", "young=1"), "give --references too"),
        (("--ratio", "2"), "--ratio has no part in --method greedy: leave it out, or use optimal"),
        (("--exact", "plac"), "unknown exact column 'plac': did you mean place"),
        (("--covariate", "place"), "covariate column 'place': expected numbers, got string"),
        (("--features", "nowhere.npy"), "features nowhere.npy: expected a .npy array of numbers, found no such file"),
        (("--out", "nowhere/pairs.parquet"), "expected a file name in a folder that exists; make nowhere first"),
        (("--method", "cardinality", "--approximate"), "--approximate has no part in --method cardinality: leave it out, or use greedy or mahalanobis"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(folder, more, message):
    assert message in refused(*arguments(folder, *more))


def test_the_command_itself_refuses_in_one_line(folder):
    assert "no pair is within the caliper" in refused_by_the_command(*arguments(folder, "--caliper", "0.01"))


def test_the_smallest_caliper_that_is_named_leaves_a_pair(folder):
    for method in ("greedy", "propensity"):
        line = refused(*arguments(folder, "--method", method, "--caliper", "1e-9"))
        least = line.split("would leave one is ")[1].split(":")[0]
        summary, _ = answer(folder, "--method", method, "--caliper", least)  # as it stands: never rounded down
        assert summary["pairs"] == 1


def test_bad_tables(folder):
    np.save(folder / "w.npy", np.ones((200, 3)))
    assert "the features are the same for all images" in refused(*arguments(folder))
    np.save(folder / "w.npy", np.ones((7, 3)))
    assert "expected as many rows of features as of the table (200), got 7" in refused(*arguments(folder))
    table = pq.read_table(folder / "w.parquet")
    pq.write_table(pa.concat_tables([table, table[:1]]), folder / "w.parquet")
    assert "the id 'i199' stands more than once" in refused(*arguments(folder, features="w.parquet"))
    pq.write_table(table[:150], folder / "w.parquet")
    summary, _ = answer(folder, features="w.parquet")
    assert summary["missing"] == 50
    pq.write_table(pa.table({"male": [1, 1, 1], "x": [0.0, 1, 2]}), folder / "t.parquet")
    assert "expected 2 to 30 groups, got 1" in refused(*arguments(folder, features="t.parquet"))


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
    """McNemar's test and Rosenbaum's bound, from the rows that were written."""
    wrong = with_outcome(folder)
    summary, rows = answer(folder, "--outcome", "error", "--report", str(folder / "page"))
    a, b = rows["a"].to_numpy(), rows["b"].to_numpy()
    d = (wrong[a] - wrong[b])[np.isfinite(wrong[a] - wrong[b])]
    up, down = int((d > 0).sum()), int((d < 0).sum())
    (one,) = summary["outcomes"]
    assert one["estimate"] == pytest.approx(d.mean())
    assert (one["n_pairs"], one["n_missing"], one["discordant"]) == (len(d), len(a) - len(d), up + down)
    assert one["p"] == pytest.approx(min(1, 2 * binom.sf(up - 1, up + down, 0.5)))
    assert one["largest_p"][one["gammas"].index(2.0)] == pytest.approx(min(1, 2 * binom.sf(up - 1, up + down, 2 / 3)))
    # no method may see an outcome
    assert "error" not in [row["covariate"] for row in summary["balance"]]
    page = (folder / "page" / "match.html").read_text()
    assert "Outcomes within pairs" in page
    assert f"{one['tolerated']:.2f}" in page
    told = printed(*[word for word in arguments(folder, "--outcome", "error") if word != "--json"])
    assert f"error: {100 * d.mean():+.3g} points within {len(d)} pairs" in told
    assert f"by a factor of up to {one['tolerated']:g}" in told


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


def test_an_outcome_that_does_not_fit_is_refused(folder):
    with_outcome(folder)
    given = arguments(folder, "--outcome", "error")
    assert "expected a column that pairs are not made by" in refused(*given, "--exact", "error")
    assert "--outcome: expected a method that makes pairs, got overlap" in refused(
        *given, "--method", "overlap", "--covariate", "young"
    )
    assert "'nothing'" in refused(*arguments(folder, "--outcome", "nothing"))


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
    summary, _ = answer(folder, "--outcome", "error", *beside, "--report", str(folder / "page"))
    (one,) = summary["outcomes"]
    (effect,) = one["experiment"]
    for name, side in (("matched", one), ("adjusted", one["adjusted"])):
        test = effect[name]
        assert test["difference"] == pytest.approx(side["estimate"] - 0.1)
        assert test["low"] == pytest.approx(test["difference"] - np.hypot(side["estimate"] - side["low"], 0.05))
    page = (folder / "page" / "match.html").read_text()
    assert "Adjusted for what still differs" in page
    assert f"{100 * effect['matched']['difference']:.1f} points" in page
    told = printed(*[word for word in arguments(folder, "--outcome", "error", *beside) if word != "--json"])
    assert "experiment (face_shape: 0.2 to 0.8, mine): +10 points (+5 to +15)" in told
    assert f"matched minus experiment: {100 * effect['matched']['difference']:+.3g} points" in told


def test_an_experiment_that_does_not_fit_is_refused_or_said(folder):
    with_outcome(folder)
    other = experiment_of(folder, unit="score")
    summary, _ = answer(folder, "--outcome", "error", *other)
    assert summary["outcomes"][0]["experiment"][0]["reason"] == "the experiment counts score, the pairs shares"
    assert "expected error by male, found error by face_shape" in refused(
        *arguments(folder, "--outcome", "error", *other[:2])
    )
    assert "name them with --outcome" in refused(*arguments(folder, *other))
    assert "expected a finished audit's results.json" in refused(
        *arguments(folder, "--outcome", "error", "--experiment", str(folder))
    )
