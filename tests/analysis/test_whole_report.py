"""One audit with everything, as a user types it: experiment, steps, observation, photographs, ratings, rules, shares.

The figures of the sections are worked out again here from the tables of the run folder, by loops.
"""

import json

import jsonschema
import numpy as np
import pyarrow.parquet as pq
import pytest
from places import ROOT
from report_reader import number_faults, parse, text_faults

SCHEMA = json.loads((ROOT / "docs/reference/schemas/results.schema.json").read_text())
TONES = (1.0, 5.5, 10.0)
THRESHOLD = 0.4


@pytest.fixture(scope="module")
def folder(canonical):
    return canonical("whole")


@pytest.fixture(scope="module")
def results(folder):
    return json.loads((folder / "results.json").read_text())


def tables(run, study):
    """Images and scores of a study, from its Parquet alone."""
    place = run / "studies" / study
    images = pq.read_table(place / "images")
    scores = pq.read_table(place / "predictions" / "audited-brightness")
    assert images["id"].to_pylist() == scores["id"].to_pylist()
    return images, np.array([row[0] for row in scores["scores"].to_pylist()])


def section(results, key, study=None):
    return [one for one in results["sections"] if one["key"] == key and study in (None, one["study"])]


def rows(entry, title):
    (table,) = [one for one in entry["tables"] if one["title"].startswith(title)]
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


@pytest.mark.integration
def test_what_is_written_fits_the_schema_and_has_every_section(results):
    jsonschema.validate(results, SCHEMA, jsonschema.Draft202012Validator)
    assert [one["name"] for one in results["studies"]] == [
        "experiment", "photographs", "steps-skin_tone",
    ]  # fmt: skip
    assert len(results["sections"]) == 20


@pytest.mark.integration
def test_every_number_of_the_page_stands_in_the_results(folder, results):
    tree = parse((folder / "report.html").read_text())
    assert number_faults(tree, results) == []
    assert text_faults(tree, results) == []


def test_sensitivity_is_the_mean_change_of_the_scores(folder, results):
    images, scores = tables(folder, "steps-skin_tone")
    changes, flips = {-1.0: [], 1.0: []}, {-1.0: [], 1.0: []}
    for subject in sorted(set(images["subject"].to_pylist())):
        own = {
            step: score
            for who, step, score in zip(images["subject"].to_pylist(), images["intended.skin_tone"].to_pylist(), scores, strict=True)
            if who == subject
        }  # fmt: skip
        for step in (-1.0, 1.0):
            changes[step].append(own[step] - own[0.0])
            flips[step].append(float(own[step] >= THRESHOLD) - float(own[0.0] >= THRESHOLD))
    (made,) = section(results, "sensitivity")
    table = {(row["λ"], row["over"]): row for row in rows(made, "Changes of the score")}
    said = {(row["λ"], row["over"]): row for row in rows(made, "Changes of the answer")}
    for step in (-1.0, 1.0):
        row = table[step, "all subjects"]
        assert row["S"] == pytest.approx(np.mean(changes[step]))
        assert row["E|Δ|"] == pytest.approx(np.mean(np.abs(changes[step])))
        assert row["E|Δ|: low"] <= row["E|Δ|"] <= row["E|Δ|: high"]
        assert said[step, "all subjects"]["S, points"] == pytest.approx(np.mean(flips[step]))
        assert said[step, "all subjects"]["flips"] == pytest.approx(np.mean(np.abs(flips[step])))
        assert row["subjects"] == 12
    # half the range of 1 to 10 is 4.5, and steps stop at the ends
    true = np.array(images["true.skin_tone"].to_pylist()).reshape(12, 3)
    np.testing.assert_allclose(true[:, 2], np.minimum(true[:, 1] + 4.5, 10))


def test_whether_people_saw_the_label_stay_and_what_was_rated(results):
    (made,) = section(results, "sensitivity")
    moved = {row["λ"]: row for row in rows(made, "Did the label (earrings) stay, as rated?")}
    assert (moved[-1.0]["label moved"], moved[1.0]["label moved"], moved[1.0]["subjects"]) == (0.0, 1.0, 12)
    (walked,) = section(results, "ratings", "steps-skin_tone")
    assert [row["rating"] for row in rows(walked, "Ratings")] == ["earrings"]
    (tried,) = section(results, "ratings", "experiment")
    assert tried["warnings"] == ["Ratings whose id is of no image of experiment, and that are not used: 1 (99-0000)"]
    left_out = rows(tried, "Images left out")
    assert [(row["left out at this step"], row["images left"]) for row in left_out] == [(None, 72), (1, 71)]


def test_images_between_two_subjects_keep_their_class_as_counted(folder, results):
    place = folder / "interpolation"
    scores = np.array(
        [row[0] for row in pq.read_table(place / "predictions" / "audited-brightness")["scores"].to_pylist()]
    )
    said = scores.reshape(6, 11) >= THRESHOLD
    same = said[:, 0] == said[:, -1]
    (made,) = section(results, "interpolation")
    found = {row["class of both ends"]: row for row in rows(made, "Images between")}
    assert found["both"]["lines"] == same.sum()
    if same.any():
        assert found["both"]["images that keep it"] == pytest.approx((said[same, 1:-1] == said[same, :1]).mean())


def test_several_photographs_of_one_person_are_one_subject(results):
    (study,) = [one for one in results["studies"] if one["name"] == "photographs"]
    assert (study["subjects"], study["images"]) == (10, 20)
    made = [one for one in results["effects"] if (one["study"], one["attribute"]) == ("photographs", "earrings")]
    assert {(one["n_subjects"], one["n_images"], one["outcome"]) for one in made} >= {(10, 20, "error")}
    # off are the photographs 0, 3, ..., 18, of the people 0, 1, 3, 4, 6, 7 and 9: fewer than 25 of whom any is wrong
    assert {one["interval_method"] for one in made} == {"MOVER of Wilson score limits by subject"}
    whole = [one for one in results["rates"] if one["study"] == "photographs" and not one["cell"]]
    assert {one["n_subjects"] for one in whole} == {10}


def test_observation_stands_beside_experiment_cell_by_cell(folder, results):
    """Rates and counts of the comparison, from the tables; the first image of the experiment was pruned."""
    tried, tried_scores = tables(folder, "experiment")
    seen, seen_scores = tables(folder, "photographs")
    table = {row["cell"]: row for row in rows(section(results, "comparison")[0], "Error rate")}
    assert len(table) == 6
    total = 0
    for earrings, name in enumerate(("off", "on")):
        for tone in TONES:
            wrong = [
                (score >= THRESHOLD) != earrings
                for row, (g, b, score) in enumerate(zip(tried["true.earrings"].to_pylist(), tried["true.skin_tone"].to_pylist(), tried_scores, strict=True))
                if (g, b) == (earrings, tone) and row >= 1
            ]  # fmt: skip
            observed = [
                (score >= THRESHOLD) != earrings
                for g, b, score in zip(seen["true.earrings"].to_pylist(), seen["true.skin_tone"].to_pylist(), seen_scores, strict=True)
                if g == earrings and min(TONES, key=lambda level: abs(b - level)) == tone
            ]  # fmt: skip
            row = table[f"earrings {name}, skin tone {tone:g}"]
            assert (row["experiment"], row["experiment: images"]) == (pytest.approx(np.mean(wrong)), len(wrong))
            assert row["observation: images"] == len(observed)
            assert row["observation"] == (pytest.approx(np.mean(observed)) if observed else None)
            total += len(observed)
    assert total == len(seen_scores)


def test_thresholds_are_the_rates_of_the_tables(folder, results):
    images, scores = tables(folder, "photographs")
    truth = np.array(images["true.earrings"].to_pylist())
    (made,) = section(results, "thresholds", "photographs")
    for table in made["tables"]:
        found = {(row[0], row[1], row[2]): row[3] for row in table["rows"]}
        assert found["all", THRESHOLD, "FPR"] == pytest.approx(np.mean(scores[truth == 0] >= THRESHOLD))
        assert found["all", THRESHOLD, "FNR"] == pytest.approx(np.mean(scores[truth == 1] < THRESHOLD))
        best = min(np.mean((scores >= cut) != truth) for cut in [*scores, 2.0])
        assert min(rate for (group, _, measure), rate in found.items() if (group, measure) == ("all", "error")) == pytest.approx(best)  # fmt: skip


def test_ratings_are_read_and_the_pruned_image_is_counted(folder, results):
    (made,) = section(results, "perceived")
    matrix = {(row["manipulated"], row["perceived"]): row for row in rows(made, "Perception sensitivity")}
    # every rating is the intended value and .1: from 1 to 10 it moves by 9, earrings move nothing
    assert matrix["skin tone", "skin tone"]["mean change"] == pytest.approx(9.0)
    assert matrix["earrings", "skin tone"]["mean change"] == pytest.approx(0.0, abs=1e-12)
    counted = [one["excluded"] for one in results["effects"] if one["study"] == "experiment"]
    assert all(one["pruned by fakeness >= 0.75"] == 1 for one in counted if one)
    assert any(counted)


def test_the_projection_is_the_mean_of_the_cells_that_the_population_has(folder, results):
    images, scores = tables(folder, "experiment")
    cell = images["cell"].to_numpy()
    (made,) = [one for one in results["projections"] if one["outcome"] == "error"]
    whole = next(row for row in made["rows"] if row["attribute"] in ("", None))
    wrong = (scores >= THRESHOLD) != np.array(images["true.earrings"].to_pylist())
    keep = np.arange(len(cell)) > 0
    # half off at tone 1 (cell 0), half on at tone 10 (cell 5)
    expected = 0.5 * wrong[(cell == 0) & keep].mean() + 0.5 * wrong[cell == 5].mean()
    assert (made["population"], whole["estimate"]) == ("clinic", pytest.approx(expected))


def test_every_effect_of_an_experiment_has_an_always_valid_interval_or_the_reason(results):
    for effect in results["effects"]:
        assert (effect["always_low"] is None) == (effect["always_high"] is None) == bool(effect["always_reason"])
        if effect["always_low"] is not None:
            assert effect["always_low"] <= effect["estimate"] <= effect["always_high"]
            assert effect["basis"] == "experimental"
