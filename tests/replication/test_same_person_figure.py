"""The figure of Table 1 of Singh et al. 2021: dots where the shares are, and the page's rows from the released file."""

from __future__ import annotations

import pytest
from examples.replications import same_person_figure as document
from places import ROOT

DATA = ROOT.parent / "shared" / "data" / "identity_annotations.parquet"


@pytest.mark.skipif(not DATA.exists(), reason="needs the published annotations, which are not ours to ship")
def test_page_and_figure_show_the_released_answers():
    page = (ROOT / "docs" / "research" / "replication-singh2021.md").read_text()
    for row in document.cells(DATA):
        if row[1] != "dup" or row[0] == "all":
            assert f"| {' | '.join(row)} |" in page
    assert document.figure(document.rows_of(DATA)) == document.IMAGE.read_text()
