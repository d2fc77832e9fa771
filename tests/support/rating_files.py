"""Files of ratings about the run of three subjects with and without glasses."""

import pytest

from transect.errors import BadInput
from transect.ratings import rating_tables

IDS = [f"{subject}-{cell:04d}" for subject in range(3) for cell in range(2)]


def csv(path, **columns):
    names = list(columns)
    lines = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(names), *(",".join(map(str, line)) for line in lines), ""]))
    return path


def refusal(folder, perceived=None, rules=()):
    """The one line; nothing is written and the report can still be made."""
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(BadInput) as error:
        rating_tables.attach(folder, perceived, rules)
    assert sorted(path.name for path in folder.iterdir()) == before
    return str(error.value)
