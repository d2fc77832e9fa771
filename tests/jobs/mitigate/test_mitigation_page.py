"""The results of a mitigation by hand, and their page."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from report_reader import parse, text_of

from transect.job import Finished
from transect.jobs.mitigate import Mitigate, covering_tightly, plane
from transect.mitigation.data import TaskData
from transect.mitigation.measuring import by_direction, summary
from transect.mitigation.numbers import AttackFigures, EffectFigures, Figure, SeedFigures
from transect.mitigation.settings import parse_config
from transect.mitigation.testbed import Bench
from transect.reports.saving import saved_figures
from transect.runs.json_records import plain

CONFIG = parse_config(
    {
        "seeds": [0, 1],
        "attackers": ["logistic", "trees"],
        "mitigations": [
            {"kind": "noise", "name": "noise", "levels": [2]},
            {"kind": "adversarial", "name": "<critic> 1"},
            {"kind": "reweighed", "name": "reweighed"},
        ],
    },
    "x",
)


class NoPictures:
    def pixels(self, rows):
        return np.zeros((len(rows), 1, 1, 3), dtype=np.uint8)


def bench():
    labels = np.array([[1, 0], [0, 1], [1, 1], [0, 0]], dtype=bool)
    data = TaskData(NoPictures(), labels, np.array([0, 0, 1, 1]), ("smile", "hat & cap"))
    rows = np.arange(4)
    return Bench(data, rows, rows, rows, ("no", "yes"), "face_shape>0.4")


def seed(number, f1, delta, changed, trees=0.0):
    """One seed's figures: like for like Δ with λ_D 55; trees find so much more."""

    def attacked(more):
        values = (55 + delta + more, 55.0, delta + more, 54.0, delta + more + 1)
        return AttackFigures(*(Figure(value, None, None) for value in values))

    attackers = {"logistic": attacked(0.0), "trees": attacked(trees)}
    effects = EffectFigures((), mean_size=2.0 + changed, changed=changed, subjects=4)
    return SeedFigures(number, f1 + 5, f1, (f1, None if number else 10.0), attackers, effects, {})


FOUND = {
    "plain": [seed(0, 80.0, 10.0, 4.0), seed(1, 78.0, 12.0, 6.0)],
    "noise 2": [seed(0, 70.0, 6.0, 4.0), seed(1, 70.0, 6.0, 4.0)],
    "<critic> 1": [seed(0, 77.0, 2.0, 1.0, trees=1.0), seed(1, 77.0, 2.0, 1.0, trees=1.0)],
    "reweighed": [seed(0, 79.0, 11.0, 5.0), seed(1, 79.0, 11.0, 5.0)],
}
LEAK = {name: Figure(56.0, 50.0, 60.0, 4) for name in ("logistic", "trees")}
PROTOCOL = {"subjects": 5, "attribute": "face_shape", "low": 0.2, "high": 0.8}


def results(found=FOUND, protocol=PROTOCOL):
    return summary(CONFIG, bench(), LEAK, found, protocol)


def test_the_summary_by_hand():
    bare, noise, critic, reweighed = plain(results())["mitigations"]
    assert (bare["f1"]["estimate"], bare["amplification"]["estimate"]) == (79.0, 11.0)
    # Two seeds, 80 and 78: 79 ± 12.706 · sqrt(2) / sqrt(2).
    assert bare["f1"]["low"] == pytest.approx(79 - 12.7062, abs=1e-3)
    assert critic["attacker"] == "trees"  # 58 against 57
    assert critic["amplification"]["estimate"] == 3.0
    # With the plain model of the same seed: 80 - 77 and 78 - 77, so that the interval of 2 holds both verdicts.
    assert critic["f1_lost"]["estimate"] == 2.0
    assert critic["f1_lost"]["high"] == pytest.approx(2 + 12.7062, abs=1e-3)
    assert critic["amplification_lowered"] == pytest.approx(1 - 3 / 11, abs=1e-6)
    # Noise goes from (70, 6) to (79, 11): at 77 it leaves 6 + 5 · 7/9.
    assert critic["noise_amplification"] == pytest.approx(6 + 5 * 7 / 9, abs=1e-5)
    assert (critic["beats_noise"], critic["good_trade"]) == (None, None)
    assert (reweighed["beats_noise"], reweighed["good_trade"]) == (None, None)
    assert noise["beats_noise"] is None
    assert bare["good_trade"] is False
    assert critic["label_f1"][1]["n"] == 1
    # Δ ranks plain 3.5, noise 2, critic 1, reweighed 3.5; changed answers 5, 4, 1, 5 rank the same.
    assert plain(results().leakage_and_effect) == {"n": 4, "effect": 1.0, "changed": 1.0}
    assert plain(results().labels[0]) == {"name": "smile", "share": [50.0, 50.0]}


def close(number, f1, delta):
    """Seeds that hardly differ, so that intervals decide."""
    return [seed(i, f1 + 0.001 * i, delta + 0.001 * i, 4.0) for i in range(number)]


def test_verdicts_are_those_of_intervals_over_seeds():
    found = {
        "plain": close(3, 80.0, 10.0),
        "noise 2": close(3, 70.0, 6.0),
        "<critic> 1": close(3, 82.0, 2.0),
        "reweighed": close(3, 71.0, 11.0),
    }
    numbers = results(found)
    _, _, critic, reweighed = numbers.mitigations
    assert (critic.good_trade, reweighed.good_trade) == (True, False)
    assert reweighed.beats_noise is False
    assert critic.f1_lost.high < 0  # F1 rises, and the page says by how much
    one = results({name: seeds[:1] for name, seeds in found.items()})
    assert [row.good_trade for row in one.mitigations] == [False, None, None, None]


def answer_of(numbers, tmp_path):
    """The picture and the sentences of the answer."""
    tree = parse(write(numbers, tmp_path).read_text())
    return [text_of(element) for element in tree.iter() if "answer" in (element.get("class") or "").split()]


def test_the_answer_says_by_how_much_leakage_falls_paired_over_seeds(tmp_path):
    """Seeds differ far more than the mitigations: only differences within a seed can show anything."""
    plain_deltas = [10.0, 20.0, 30.0]

    def falling(*falls):
        return [seed(i, 79.0, plain_deltas[i] - fall, 4.0) for i, fall in enumerate(falls)]

    found = {
        "plain": [seed(i, 80.0, delta, 4.0) for i, delta in enumerate(plain_deltas)],
        "noise 2": falling(9, 9, 9),
        "<critic> 1": falling(3, 4, 5),  # 4 ± 4.303 / sqrt(3)
        "reweighed": falling(0, 1, 2),  # 1 ± 2.484
    }
    numbers = results(found)
    assert by_direction(numbers.mitigations) == {1: [2, 1], -1: [], 0: [3]}
    look, answer = answer_of(numbers, tmp_path)
    assert "<critic> 1 lowers Δ by 4.0 (1.5 to 6.5) points at a cost of 1.0 (1.0 to 1.0) points of F₁" in answer
    rows = re.findall(r"([+−][\d.]+) points?\s+(\S+ to [+−][\d.]+)", look)
    assert rows == [("−4.0", "−6.5 to −1.5"), ("−9.0", "−9.0 to −9.0"), ("−1.0", "−3.5 to +1.5")], "of the picture"
    higher = results({**found, "reweighed": falling(-3, -4, -5)})
    assert by_direction(higher.mitigations)[-1] == [3]


def write(numbers, folder):
    return Finished(numbers, Mitigate({}, folder)).report(folder)


@pytest.mark.parametrize("some", [("plain",), tuple(FOUND)])
def test_the_page_has_the_figures_of_each_mitigation(some, tmp_path):
    page = write(results({name: FOUND[name] for name in some}), tmp_path).read_text()
    table = next(each for each in parse(page).iter() if each.get("aria-label") == "Leakage and performance")
    rows = [[text_of(cell).strip() for cell in row if cell.tag in ("th", "td")] for row in table.iter("tr")]
    assert [row[0] for row in rows[1:]] == [f"{letter} {name}" for letter, name in zip("ABCD", some, strict=False)]
    assert rows[0][3::3] == ["Δ", "F₁, %"]
    # Two seeds, 10 and 12 points of Δ, 80 and 78 % of F₁: 12.706 · sqrt(2) / sqrt(2) to either side.
    assert rows[1][3::3] == ["+11.0 (−1.7 to +23.7)", "79.0 (66.3 to 91.7)"]
    assert ("rerun the command to resume" in page) == (len(some) < 4)
    planes = [figure.csv.splitlines() for figure in saved_figures(page) if figure.name == "plane"]
    assert planes == [] or planes[0][0] == "name,f1,f1_low,f1_high,amplification,amplification_low,amplification_high"
    assert all(plane[2].startswith("noise 2,70.0,70.0,70.0,6.0,") for plane in planes[:1])


def test_a_point_lies_where_its_figures_say():
    def row(kind, f1, delta):
        return SimpleNamespace(kind=kind, f1=Figure(f1, None, None), amplification=Figure(delta, None, None))

    # F1 from 70 to 80 spans the axis 70..80, Δ up to 20 the axis 0..20, from the top down.
    made = plane([row("plain", 80.0, 20.0), row("noise", 70.0, 10.0)], "f1", "amplification")
    assert [(point.x, point.y, point.letter) for point in made.points] == [(100.0, 0.0, "A"), (0.0, 50.0, "B")]
    assert made.curve == "0,50 100,0"
    assert plane([row("plain", 80.0, 20.0), row("noise", None, 10.0)], "f1", "amplification") is None
    assert covering_tightly([5.0, 5.0]).ticks == (4.8, 5.0)  # one value has an axis too
