"""The page on the raters, and raters as the reference where no physical truth exists, on an audit with simulated raters."""

import json
from html.parser import HTMLParser

import audited
import auditing
import numpy as np
import pytest
from rating_files import csv

from transect.analysis import finished_run, rater_page, rater_report, reporting
from transect.annotation.sources import Pictures, source_of
from transect.errors import BadInput
from transect.ratings import rating_tables as ratings


@pytest.fixture(scope="module")
def rated(tmp_path_factory):
    """Six subjects at five smiles; three raters who answer 0, 0.5 or 1, and how fake it looks."""
    folder = tmp_path_factory.mktemp("rated")
    run = folder / "run"
    options = {"image_size": 32, "quiet": True, "control": False}
    auditing.audit(audited.brightness, vary=["smile=0:1:5"], subjects=6, out=run, **options)
    made = finished_run.read(run)
    ids, smile = made.images["id"].to_pylist(), made.true["smile"]
    seen = [
        (i, r, min(max(round(2 * s + (r == "c") * 0.4) / 2, 0), 1))
        for i, s in zip(ids, smile, strict=True)
        for r in "abc"
    ]
    path = csv(
        folder / "answers.csv", id=[i for i, _, _ in seen], rater=[r for _, r, _ in seen], smile=[s for _, _, s in seen],
        fakeness=[float(k < 15) for k in range(len(seen))],
    )  # fmt: skip
    ratings.attach(run, None, ["fakeness>=0.75"], path)
    return run


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = []

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))


@pytest.mark.integration
def test_the_page_shows_every_number_and_no_name(rated, tmp_path):
    found = rater_report.page(rater_report.from_stored(rated))
    path = rater_page.write(found, Pictures(source_of(rated)).png, tmp_path / "out")
    content, text = json.loads((tmp_path / "out" / "annotate.json").read_text()), path.read_text()
    assert content["facts"]["answers"] == 2 * 3 * 30
    assert content["facts"]["raters left out"] is None, "the file does not say"
    assert [one["key"] for one in content["sections"]] == ["raters", "seen along"]
    titles = [one["title"] for one in content["galleries"]]
    assert titles == ["Faces by smile", "Faces by fakeness", "Intended and seen: smile"]
    cut = [p for one in content["galleries"] for g in one["groups"] for p in g["pictures"] if p["left_out"]]
    assert cut, "the kept rule marks what it leaves out"
    tags = Tags()
    tags.feed(text)
    assert [a for tag, a in tags.seen if tag == "script"] == []
    assert all(a["src"].startswith("data:image/jpeg") and a["alt"] for tag, a in tags.seen if tag == "img")
    for tag, a in tags.seen:
        if tag == "data":
            value = content
            for key in a["data-source"].split("/")[1:]:
                value = value[int(key)] if isinstance(value, list) else value[key.replace("~1", "/")]
            assert float(a["value"]) == value


@pytest.mark.integration
def test_raters_are_the_reference(rated):
    """Without a truth there is no error; with raters as the reference it is where answer and majority differ."""
    assert not any(one.outcome == "error" for one in reporting.report(rated).effects)
    with pytest.raises(BadInput, match="expected ratings of age, got smile, fakeness"):
        rater_report.judge(rated, "age>40")
    with pytest.raises(BadInput, match="expected a yes or no for a binary target, got a number"):
        rater_report.judge(rated, "smile")
    rater_report.judge(rated, "smile>=0.5")
    try:
        run = finished_run.read(rated)
        target = run.spec.targets[0]
        assert run.outcomes(target) == (*target.outcomes, "error")
        seen = run.seen.people["smile"]
        np.testing.assert_equal(run.labels(target), (seen >= 0.5) * 1.0)
        made = reporting.report(rated)
        (effect,) = [one for one in made.effects if one.outcome == "error" and one.kind == "contrast"]
        scores = run.predictions(target).scores[:, 0]
        wrong = ((scores >= 0.5) != (seen >= 0.5)).astype(float)
        wrong[run.seen.reasons != ""] = np.nan
        grid = wrong.reshape(6, 5)
        both = np.isfinite(grid[:, 0]) & np.isfinite(grid[:, -1])
        assert effect.estimate == pytest.approx((grid[both, -1] - grid[both, 0]).mean())
        assert made.results["studies"][0]["truth"] == "smile>=0.5 (as raters saw it)"
        page = rater_report.page(rater_report.from_stored(rated))
        assert page.galleries[-1].title.startswith("Farthest from people")
    finally:
        (rated / "reference.json").unlink()


@pytest.mark.integration
def test_the_report_says_what_other_raters_would_change(rated):
    """Of the perceived smile on the score, the table's estimate is two-stage least squares on mean ratings."""
    from transect.effects.instruments import instrumental

    run = finished_run.read(rated)
    made = reporting.report(rated).results["sections"]
    assert {"raters", "seen along", "other raters"} <= {one["key"] for one in made}
    (section,) = [one for one in made if one["key"] == "other raters"]
    row = dict(zip(section["tables"][0]["columns"], section["tables"][0]["rows"][0], strict=True))
    said = run.predictions(run.spec.targets[0]).scores[:, 0] >= 0.5
    y = np.where(run.seen.reasons == "", said.astype(float), np.nan)
    if np.ptp(y[np.isfinite(y)]) > 0:
        (theirs,) = instrumental(y, {"smile": run.seen.people["smile"]}, {"z": run.true["smile"]})
        assert row["estimate"] == pytest.approx(theirs.estimate)
    assert row["raters"] == 3
    assert row["standard error"] >= row["by subject alone"]
