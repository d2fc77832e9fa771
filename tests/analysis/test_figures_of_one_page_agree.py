"""What one page counts in several places is the same number: over all images, by condition, at thresholds, on curves."""

import auditing
import numpy as np
import pytest
from PIL import Image
from planted_models import world
from report_reader import parse, text_of
from rough_targets import Boxes

SMALL = {"quiet": True, "max_failures": 0.5}


def bright(pixels):
    return pixels.mean(axis=(1, 2, 3)) / 255


def fails_on_some(pixels):
    """No answer on one picture of seven, also when it comes in a batch."""
    if (pixels.reshape(len(pixels), -1).astype(np.int64).sum(axis=1) % 7 == 0).any():
        raise ValueError("not this one")
    return bright(pixels)


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    """Thirty rendered faces of ten people as photographs: earrings on two of three, a hat on every other, one no age."""
    folder = tmp_path_factory.mktemp("photographs")
    made = world()
    lines = ["file,subject,earrings,hat,age"]
    for k, picture in enumerate(made.render(made.sample(np.arange(30))).pixels):
        Image.fromarray(picture).save(folder / f"{k}.png")
        lines.append(f"{k}.png,p{k // 3},{int(k % 3 > 0)},{k % 2},{'' if k == 7 else 20 + k}")
    (folder / "labels.csv").write_text("\n".join(lines))
    return folder


def audit(kind, out, faces):
    experiment = {
        "control": False,
        "vary": {"skin_tone": (1, 5, 10), "earrings": (0, 1)},
        "subjects": 12,
        "image_size": 32,
    }
    observed = {"dataset": f"folder:{faces}", "truth": "earrings", "image_size": 32}
    settings = {
        "failing classifier by experiment": (fails_on_some, {**experiment, "truth": "earrings", "threshold": 0.45}),
        "detector of photographs": (Boxes(), observed),
    }
    target, options = settings[kind]
    outcomes = ["answer", "miss", "error", "false_alarm"]
    return auditing.audit(target, out=out, outcomes=outcomes, **SMALL, **options).results


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["failing classifier by experiment", "detector of photographs"])
def test_errors_are_counted_alike_everywhere(kind, tmp_path, photographs):
    results = audit(kind, tmp_path / "run", photographs)
    (study,) = results["studies"]
    (target,) = study["targets"]
    page = (tmp_path / "run" / "report.html").read_text()
    assert ("rendered" in text_of(parse(page).find("body"))) == ("experiment" in kind)
    overall = {row["outcome"]: row for row in results["rates"] if row["order"] == 0}
    error = overall["error"]["rate"]
    assert 0 < error < 1, "a planted target that is sometimes wrong"
    for row in overall.values():  # every image is counted or left out for a reason
        assert row["n_images"] + sum(row["excluded"].values()) == study["images"] == target["n_images"]
    assert overall["error"]["n_images"] == target["n_images"] - target["n_failed"]
    wrong = round(error * overall["error"]["n_images"])
    assert results["gallery"]["failures_total"] == wrong + target["n_failed"]

    sections = {section["key"]: section for section in results["sections"]}
    assert _by_condition(sections["errors"])["all images"] == pytest.approx(error)
    for name, value in _levels(results, "error").items():
        assert _by_condition(sections["errors"])[name] == pytest.approx(value), name
    if "by_attribute" in sections:
        row = dict(zip(sections["by_attribute"]["tables"][0]["columns"], sections["by_attribute"]["tables"][0]["rows"][0], strict=True))  # fmt: skip
        assert row["accuracy"] == pytest.approx(1 - error)
        assert row["FPR"] == (pytest.approx(overall["false_alarm"]["rate"]) if "false_alarm" in overall else None)
        assert row["FNR"] == pytest.approx(overall["miss"]["rate"])
    if "thresholds" in sections:
        assert _own(sections["thresholds"]) == pytest.approx({
            "error": error, "FPR": overall["false_alarm"]["rate"], "FNR": overall["miss"]["rate"], "accuracy": 1 - error,
        })  # fmt: skip
    if "curves" in sections:
        (figure,) = [one for one in sections["curves"]["figures"] if one["title"] == "Error along levels"]
        points = figure["panels"][0]["series"][0]["points"]
        by_level = _cells(results, "error", "skin_tone")
        assert {point["x"]: point["value"] for point in points} == pytest.approx(by_level)


def _by_condition(section):
    """The error rate of each row of the table that is about errors as the report counts them."""
    (table,) = section["tables"]
    return {row[0]: row[table["columns"].index("error rate")] for row in table["rows"]}


def _levels(results, outcome):
    """The rate at each named level, as the section on errors names its rows; ranges are cut elsewhere."""
    (study,) = results["studies"]
    named = {}
    for one in study["attributes"]:
        rates = _cells(results, outcome, one["name"])
        if one["kind"] == "binary" and one["name"] not in study["targets"][0]["truth"]:
            named |= {
                f"{one['name'].replace('_', ' ')}: {label}": rates[level]
                for level, label in zip(one["levels"], one["labels"], strict=True)
            }
    return named


def _cells(results, outcome, attribute):
    return {
        row["cell"][attribute]: row["rate"]
        for row in results["rates"]
        if row["outcome"] == outcome and list(row["cell"]) == [attribute]
    }


def _own(section):
    """Each measure over all images by the target's own decision: the first rows of the first table."""
    table = section["tables"][0]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"] if row[0] == "all"]
    own = rows[0]["threshold"]
    return {row["measure"]: row["rate"] for row in rows if row["threshold"] == own}
