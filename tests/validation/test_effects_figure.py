"""The figure of observation, experiment and truth, and its tables: what the figures say, at the right places."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from validation.effects_figure import figure
from validation.image_methods import AUDITED, KINDS, Sizes, overall

SVG = "{http://www.w3.org/2000/svg}"
BUDGETS = [500, 1000, 2000]


def found(mean=0.1):
    """Every method says `mean` of every attribute, whose truth is 0, and is nearer with more images."""
    rows = [
        {"method": method, "kind": KINDS[method], "attribute": name, "images": images, "mean": mean, "bias": mean,
         "rmse": 50 / images, "coverage": 0.5, "half_width": 0.02, "low": mean - 0.05, "high": mean + 0.05,
         "repeats": 7, "not_estimable": 0, "no_interval": 0}
        for method in KINDS for name in AUDITED for images in BUDGETS
    ]  # fmt: skip
    truth = [
        {"attribute": name, "origin": low, "to": high, "effect": 0.0, "standard_error": 0.004, "score_effect": 0.25,
         "score_standard_error": 0.01, "rate": 0.0612, "subjects": 8000, "interventions": 8000}
        for name, (low, high) in AUDITED.items()
    ]  # fmt: skip
    performance = {"pictures": 2000, "accuracy": 0.9, "false_positive_rate": 0.08, "false_negative_rate": 0.12}
    sizes = {**Sizes().as_dict(), "budgets": BUDGETS, "repeats": 7}
    return {"renderer_version": "9", "sizes": sizes, "interventions": 40_000, "model": performance, "truth": truth,
            "rows": rows, "overall": overall(rows)}  # fmt: skip


def test_the_figure_draws_truth_methods_and_errors():
    root = ElementTree.fromstring(figure(found()))
    circles = [(float(c.get("cx")), float(c.get("cy"))) for c in root.findall(f"{SVG}circle")]
    assert len(circles) == 1 + len(AUDITED) + len(BUDGETS), "legend, one per attribute, one per budget"
    of_attributes, of_budgets = circles[1 : 1 + len(AUDITED)], circles[1 + len(AUDITED) :]
    # The axis covers 0 to .15 on 390 pixels from 150 on: .1 is at two thirds.
    assert {x for x, _ in of_attributes} == {410.0}
    # Errors of 10, 5 and 2.5 points on an axis from 0 to 10: the first at the top, then halved each time.
    bottom = 128 + 62 * len(AUDITED)
    assert [bottom - y for _, y in of_budgets] == [310.0, 155.0, 77.5]
    # The logarithms of the budgets are equally far apart.
    assert of_budgets[1][0] - of_budgets[0][0] == pytest.approx(of_budgets[2][0] - of_budgets[1][0], abs=0.11)
    bars = [r for r in root.findall(f"{SVG}rect") if r.get("height") == "54"]
    assert [float(bar.get("x")) for bar in bars] == [148.0] * len(AUDITED), "truth of 0, four pixels wide"
    assert figure(found()) == figure(found())
