"""The first version. `Database` makes new ones from `schema` as it is now, so that no step leads here."""

from __future__ import annotations

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Nothing: databases of this version are there already."""
