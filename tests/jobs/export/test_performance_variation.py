"""`transect export --to iso-19795-10`: a report on groups in the shape of the standard, with the numbers of the run."""

import json
import re

import numpy as np
import pytest
from report_factory import make_gallery, make_results

import transect
from transect.errors import BadInput
from transect.reports import write

HEADINGS = [
    "1. What was evaluated", "2. Groups", "3. False negative differential performance",
    "4. False positive differential performance", "5. Comparison score differential",
    "6. Aggregate measures of equitability", "7. Uncertainty", "8. What this run does not show",
]  # fmt: skip


def exported(run, out):
    assert transect.export(run, "iso-19795-10", out).numbers.files == ("iso-19795-10.md",)
    return (out / "iso-19795-10.md").read_text()


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory):
    """Six people on a line, two pictures each. Light: 0.2 apart, people 0.4 apart; dark: 2 apart, people 100 apart."""
    light = [0.0, 0.2, 0.6, 0.8, 1.2, 1.4]
    dark = [100.0, 102.0, 200.0, 202.0, 300.0, 302.0]
    points = np.array([*light, *dark])[:, None]
    people = {"who": np.arange(12) // 2, "skin|<b>": ["light"] * 6 + ["dark"] * 6}
    folder = tmp_path_factory.mktemp("recognition")
    made = transect.recognition(people, "who", "skin|<b>", embeddings=points, thresholds=[0.5], quiet=True)
    made.report(folder)
    return folder


def test_rates_of_a_recognition_benchmark_are_those_counted_by_hand(benchmark, tmp_path):
    """Threshold 0.5. Mated: light 3 of 3 match, dark 0 of 3. Non-mated in light: 12 comparisons, of which 0.2 to 0.6
    and 0.8 to 1.2, 0.4 each, match; in dark none of 12.
    """
    text = exported(benchmark, tmp_path)
    assert re.findall(r"^## (.+)$", text, re.M) == HEADINGS
    assert "| all | dark | 3 | 6 | 3 | 12 |" in text
    assert "| all | light | 3 | 6 | 3 | 12 |" in text
    negative, positive = (text.split(f"## {HEADINGS[k]}")[1].split("## ")[0] for k in (2, 3))
    assert "| all | dark | 0.5 | 100.00 % |" in negative
    assert "| all | light | 0.5 | 0.00 % |" in negative
    assert "| all | dark less light | 0.5 | 100.00 |" in negative
    assert f"| all | light | 0.5 | {100 * 2 / 12:.2f} % |" in positive
    assert "| all | dark | 0.5 | 0.00 % |" in positive
    assert "| all | dark | 2 |" in text.split(f"## {HEADINGS[4]}")[1], "mean distance of dark people's pictures"
    assert "Groups are the values of the column skin\\|\\<b\\>." in text


def test_an_audit_of_detectors_gives_misses_as_failures_to_acquire(tmp_path):
    run = tmp_path / "run"
    write(make_results(), make_gallery(), run)
    text = exported(run, tmp_path / "out")
    assert re.findall(r"^## (.+)$", text, re.M) == HEADINGS
    results = json.loads((run / "results.json").read_text())
    row = next(r for r in results["rates"] if r["cell"] == {"glasses": 1.0} and r["outcome"] == "miss")
    ends = " to ".join(f"{100 * row[end]:.1f}" for end in ("low", "high"))
    part = text.split(f"## {HEADINGS[2]}")[1].split("## ")[0]
    assert f"| miss rate | {100 * row['rate']:.1f} | {ends} | 150 | 2,250 |" in part
    assert "| glasses on |" in part


@pytest.mark.parametrize("content", ['{"embeddings": "x"}', '{"samples": 3'])
def test_other_numbers_are_refused_in_one_line(tmp_path, content):
    (tmp_path / "recognition.json").write_text(content)
    with pytest.raises(
        BadInput, match=r"recognition\.json: expected the numbers of a recognition benchmark, got .*again"
    ):
        transect.export(tmp_path, "iso-19795-10", tmp_path / "out")
    assert not (tmp_path / "out").exists()
