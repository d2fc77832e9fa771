"""The joint distributions on the page of `transect match`, against shares counted with pandas."""

import itertools

import html5lib
import numpy as np
import pandas as pd
import pytest
from match_tables import pairs, write_line


def cells(folder, when):
    """Of each combination the per cent of both groups, before or after."""
    found = html5lib.parse((folder / "page" / "match-numbers.html").read_text(), namespaceHTMLElements=False)
    shown = next(one for one in found.iter("div") if one.get("aria-label", "").startswith("Joint distribution, "))
    rows = [[cell.text for cell in row if cell.tag in ("th", "td")] for row in shown.iter("tr")]
    return {name: [float(cell.split()[0]) for cell in shares] for name, images, *shares in rows if images == when}


def test_the_joint_distribution_of_doses_is_of_both_sides_of_the_median_and_of_the_pairs(tmp_path):
    """Doses 0 1 2 3 twice, median 1.5: above are images 2 3 6 7, of whom 3 and 7 are p and q, 2 and 6 neither; below 0 is
    p, 1 and 4 and 5 are q. Gap 2 leaves four pairs at most: of the rows written the page must tell."""
    people = write_line(tmp_path)
    table = pd.read_parquet(people / "t.parquet")[["x"]]
    table["dose"] = [0.0, 1, 2, 3, 0, 1, 2, 3]
    table["p"], table["q"] = [1, 0, 0, 1, 0, 0, 0, 1], [0, 1, 0, 1, 1, 1, 0, 1]
    table.to_parquet(people / "t.parquet", index=False)
    more = ("--dose-gap", "2", "--columns", "x", "--covariate", "p", "--covariate", "q", "--treatment", "dose")
    _, found = pairs(people, *more, "--report", str(people / "page"))
    before = cells(people, "before")
    names = {frozenset(name.split(", ")): shares for name, shares in before.items()}
    assert names[frozenset({"p", "q"})] == [50.0, 0.0]
    assert names[frozenset({"not p", "not q"})] == [50.0, 0.0]
    assert names[frozenset({"p", "not q"})] == [0.0, 25.0]
    assert names[frozenset({"not p", "q"})] == [0.0, 75.0]
    after = {frozenset(name.split(", ")): shares for name, shares in cells(people, "after").items()}
    for p, q in itertools.product((0, 1), repeat=2):
        expected = [
            100 * np.mean([table.p[pair[side]] == p and table.q[pair[side]] == q for pair in found]) for side in (0, 1)
        ]
        assert after[frozenset({"p" if p else "not p", "q" if q else "not q"})] == pytest.approx(expected, abs=0.06)
