"""Perception sensitivity compares a subject's own image with the one to which the direction was added."""

import audited
import auditing
import pytest

from transect.annotation.project import open_project
from transect.annotation.schema import items


def asked(run):
    """The pairs of each question."""
    project = open_project(run, None, ("pairs",))
    with project.database.reading() as connection:
        rows = list(connection.execute(items.select()))
    project.database.close()
    return {
        name: sorted((row.first, row.second) for row in rows if row.question == name) for name in ("difference", "more")
    }


@pytest.mark.integration
@pytest.mark.parametrize(
    ("varied", "added"),
    [
        # λ = -1, 0, 1: z with z + d, and not z - d with z + d
        ({"steps": ["smile=-1:1:3"]}, [("0-0001", "0-0002"), ("1-0001", "1-0002")]),
        ({"vary": ["smile=0,0.5,1"]}, [("0-0000", "0-0002"), ("1-0000", "1-0002")]),
    ],
)
def test_what_was_added_to_a_subject_s_own_image(varied, added, tmp_path):
    auditing.audit(audited.brightness, **varied, subjects=2, image_size=32, control=False, out=tmp_path / "run")
    pairs = asked(tmp_path / "run")
    assert pairs["difference"] == added
    assert pairs["more"] == [("0-0000", "0-0002"), ("1-0000", "1-0002")]  # the ends
