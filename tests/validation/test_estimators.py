"""The proving ground: rows are counted by hand, every claim has its world, function and row on the page."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from places import ROOT

from transect.runs.json_records import plain
from validation.contenders import SimulatedEstimates
from validation.estimators import CLAIMS, WORLDS, Claim, ProvenRow, prove, within

PROVE = """
import dataclasses, json, sys
from validation.estimators import CLAIMS, prove
rows = prove(int(sys.argv[2]), claims=[claim for claim in CLAIMS if claim.world == sys.argv[1]])
print(json.dumps([dataclasses.asdict(row) for row in rows]))
"""
PAGE = ROOT / "docs" / "research" / "proving-ground.md"
"""Names of `named(...)`: the columns of a model, which are no contender."""
KEYS = {"method", "world", "bias", "rmse", "coverage", "type_one", "power", "seeds", "expected_valid", "wide"} | {
    "withheld",
    "to_withhold",
}


def told(estimate, low, high, p=np.nan):
    """A contender that says the same of every table."""

    def contender(tables):
        seeds = len(next(iter(tables.values())))
        return SimulatedEstimates(*(np.full(seeds, float(value)) for value in (estimate, low, high, p)))

    return contender


def row_of(**changes):
    fields = {"method": "m", "world": "w", "bias": 0.0, "rmse": 0.1, "coverage": 0.95, "type_one": 0.05, "power": 0.9}
    return ProvenRow(**(fields | {"seeds": 500, "expected_valid": True} | changes))


def test_counts_by_hand():
    """The truth is .1 on and 0 off: an interval from .05 to .2 covers on, and excludes 0 off."""
    rows = prove(
        12,
        claims=[
            Claim("sure", "direct effect", told(0.15, 0.05, 0.2), True, ""),
            Claim("tested", "direct effect", told(0.1, -1, 0, 0.2), True, ""),
        ],
    )
    assert (rows[0].bias, rows[0].rmse) == (pytest.approx(0.05), pytest.approx(0.05))
    assert (rows[0].coverage, rows[0].type_one, rows[0].power) == (1.0, 1.0, 1.0)
    assert rows[1] == ProvenRow("tested", "direct effect", 0.0, 0.0, 0.0, 0.0, 0.0, 12, True)


def test_figures_that_a_contender_cannot_have_are_none():
    rows = prove(
        10,
        claims=[
            Claim("family", "null", told(np.nan, np.nan, np.nan, 0.01), False, "", ""),
            Claim("rate", "heavy clustering", told(0.4, 0.3, 0.5), True, "", "rate"),
        ],
    )
    assert (rows[0].bias, rows[0].coverage, rows[0].type_one, rows[0].power) == (None, None, 1.0, None)
    assert (rows[1].bias, rows[1].coverage, rows[1].type_one) == (pytest.approx(0.05), 1.0, None)
    json.dumps(plain(rows), allow_nan=False)
    assert set(plain(rows[0])) == KEYS


def test_a_row_holds_what_was_expected_or_not():
    assert row_of().holds()
    assert row_of(coverage=0.90).holds()  # .92 less two standard errors of 1.2 points
    assert not row_of(coverage=0.89).holds()
    assert row_of(coverage=0.995).holds()  # .985 and two standard errors of .5 points
    assert not row_of(coverage=0.997).holds()
    assert not row_of(type_one=0.08).holds()
    assert row_of(coverage=1.0, wide=True).holds()
    assert not row_of(coverage=0.89, wide=True).holds()
    assert not row_of(expected_valid=False).holds()
    assert row_of(expected_valid=False, coverage=0.6).holds()
    assert row_of(expected_valid=False, type_one=0.3).holds()
    assert row_of(coverage=None, type_one=None).holds()
    assert row_of(coverage=1.0, withheld=0.9).holds()  # 50 intervals: two standard errors are 3.4 points
    assert not row_of(coverage=None, withheld=1.0).holds()
    assert row_of(coverage=None, withheld=1.0, to_withhold=True).holds()
    assert not row_of(withheld=0.99, to_withhold=True).holds()
    assert within(0.96, 0.92, 0.985, 10_000)
    assert not within(0.99, 0.92, 0.985, 10_000)


def test_tables_without_an_interval_are_withheld_and_neither_covered_nor_missed():
    def every_third(tables):
        found = told(0.1, 0.0, 0.2)(tables)
        low = np.where(np.arange(len(found.low)) % 3 == 0, np.nan, 0.0)
        return SimulatedEstimates(found.estimate, low, found.high, found.p)

    (row,) = prove(12, claims=[Claim("a", "direct effect", every_third, True, "")])
    assert (row.withheld, row.coverage) == (pytest.approx(1 / 3), 1.0)


def test_a_mirror_outcome_costs_no_power():
    """Each hypothesis counts once: the family has the tests of answers alone, and finds what these find."""
    rows = {row.method: row for row in prove(20, claims=[c for c in CLAIMS if c.world == "mirror outcomes"])}
    alone, once = rows["answers alone, Holm"], rows["both outcomes, mirrors counted once"]
    assert (once.power, once.type_one) == (alone.power, alone.type_one)
    assert rows["both outcomes, mirrors counted twice"].power < once.power


def test_every_claim_has_its_world_and_estimand_and_every_world_a_claim():
    truths = {world.name: world.truths for world in WORLDS}
    for claim in CLAIMS:
        assert not claim.estimand or claim.estimand in truths[claim.world], claim
    assert {claim.world for claim in CLAIMS} == set(truths)
    assert len({(claim.method, claim.world) for claim in CLAIMS}) == len(CLAIMS)


def test_a_few_seeds_already_tell_the_worst_from_the_right():
    """20 tables of the confounded population: the raw difference is off by .1, the experiment is not."""
    chosen = [claim for claim in CLAIMS if claim.world == "confounded population"]
    rows = {row.method: row for row in prove(20, claims=chosen)}
    assert abs(rows["paired contrast"].bias) < 0.03
    assert rows["unadjusted difference"].bias > 0.07


@pytest.mark.slow
@pytest.mark.parametrize("world", [world.name for world in WORLDS])
def test_every_row_shows_what_is_expected(world):
    """500 tables: valid rows cover .92 to .985 within two Monte Carlo errors and reject a true null in at most .07; the
    others show it."""
    made = proven(world, 500)
    assert {row.method for row in made} == set(documented(world))
    for row in made:
        print(row)
        assert row.holds(), row
        figures = [row.coverage, row.type_one, row.power, row.withheld or None]
        shown = [np.nan if share is None else 100 * share for share in figures]
        # Half a point: another linear algebra library may break a tie of two resampled means the other way.
        np.testing.assert_allclose(documented(world)[row.method], shown, atol=0.5, err_msg=row.method)


def proven(world, seeds):
    """In a process of its own, where nobody checks the shapes of every call: matching is several times quicker there."""
    done = subprocess.run(
        [sys.executable, "-c", PROVE, world, str(seeds)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [ProvenRow(**row) for row in json.loads(done.stdout)]


def documented(world):
    """Method -> coverage, type I error, power and share withheld as the page has them, per cent; NaN where empty."""
    section = PAGE.read_text().partition(f"\n### {world}\n")[2].partition("\n### ")[0].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if "|" in line]
    return {row[0]: [float(cell or "nan") for cell in row[4:8]] for row in rows[2:]}


def test_the_page_has_every_claim_and_no_other():
    for world in WORLDS:
        assert set(documented(world.name)) == {claim.method for claim in CLAIMS if claim.world == world.name}
