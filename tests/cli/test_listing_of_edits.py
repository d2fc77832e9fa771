"""`transect attributes --generator photographs` lists the edits."""

import json

from commands import refused, run_here

from transect.generators.photographs.attributes import ATTRIBUTES


def test_edits_are_listed():
    listed = run_here("attributes", "--generator", "photographs", "--json")
    assert [row["name"] for row in json.loads(listed.stdout)] == [attribute.name for attribute in ATTRIBUTES]
    assert "ISO 12232" in run_here("attributes", "--generator", "photographs").stdout
    assert "skin_tone" in run_here("attributes").stdout
    assert "unknown generator 'reference'" in refused("attributes", "--generator", "reference")
