"""The tables of a file of answers, and how a file of an earlier version gets them: nothing is paid for again."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from transect.errors import AnswersUnusable

_VERSION: Final = 3
APPLICATION: Final = 0x74736374
"""What SQLite files of ours say that they are ("tsct")."""
_NEW: Final = """
CREATE TABLE calls (
    id INTEGER PRIMARY KEY, request TEXT NOT NULL, image TEXT NOT NULL, state TEXT NOT NULL, final INTEGER NOT NULL
    DEFAULT 0, price INTEGER NOT NULL, tokens_sent INTEGER NOT NULL, tokens_received INTEGER NOT NULL,
    most_sent INTEGER NOT NULL, most_received INTEGER NOT NULL,
    owner TEXT NOT NULL, started REAL NOT NULL, until REAL NOT NULL, seconds REAL, status INTEGER, content_type TEXT,
    reason TEXT NOT NULL DEFAULT '', body BLOB);
CREATE UNIQUE INDEX final_answers ON calls (request, image) WHERE final = 1;
CREATE UNIQUE INDEX under_way ON calls (request, image) WHERE state = 'sent';
CREATE INDEX by_image ON calls (request, image);
CREATE TABLE spent (
    calls INTEGER NOT NULL, money INTEGER NOT NULL, tokens INTEGER NOT NULL, beyond REAL NOT NULL);
INSERT INTO spent VALUES (0, 0, 0, 1.0);
CREATE TABLE batches (name TEXT PRIMARY KEY, request TEXT NOT NULL);
CREATE TABLE canaries (
    request TEXT NOT NULL, number INTEGER NOT NULL, image TEXT NOT NULL, item BLOB NOT NULL,
    PRIMARY KEY (request, number))"""

_STEPS: Final[Mapping[int, str]] = {
    1: """
CREATE TABLE IF NOT EXISTS canaries (
    request TEXT NOT NULL, number INTEGER NOT NULL, image TEXT NOT NULL, png BLOB NOT NULL,
    PRIMARY KEY (request, number));
ALTER TABLE canaries RENAME COLUMN png TO item;
ALTER TABLE calls ADD COLUMN tokens_sent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE calls ADD COLUMN tokens_received INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spent ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spent ADD COLUMN beyond REAL NOT NULL DEFAULT 1.0;
CREATE TABLE batches (name TEXT PRIMARY KEY, request TEXT NOT NULL)""",
    # `beyond` was a product over replies, far too large; the next reply tells it anew.
    2: """
ALTER TABLE calls ADD COLUMN most_sent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE calls ADD COLUMN most_received INTEGER NOT NULL DEFAULT 0;
UPDATE spent SET beyond = 1.0""",
}
"""What makes a file of each earlier version one of the next."""


def prepare(database: sqlite3.Connection, path: Path) -> None:
    """Make the tables of a new file, or bring an earlier one up to date with all that it holds; in a transaction.

    Raises AnswersUnusable for a file of a later version.
    """
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version > _VERSION:
        raise AnswersUnusable(
            f"{path}: expected a file of answers of version {_VERSION} or earlier, got {version}, of a later Transect, "
            "with answers that are paid for: update Transect; with another [answers] file all are paid for again"
        )
    steps = [_NEW] if version == 0 else [_STEPS[k] for k in range(version, _VERSION)]
    for statement in ";".join(steps).split(";"):
        database.execute(statement)
    database.execute(f"PRAGMA application_id = {APPLICATION}")
    database.execute(f"PRAGMA user_version = {_VERSION}")
