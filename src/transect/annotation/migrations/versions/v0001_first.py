"""Settings, raters, items, tasks, and answers that are only ever added to."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_SQLITE: Final = """
CREATE TRIGGER answers_no_{name} BEFORE {verb} ON answers
BEGIN SELECT RAISE(ABORT, 'answers are only added'); END
"""
_POSTGRES: Final = (
    """
CREATE FUNCTION answers_only_added() RETURNS trigger AS $$
BEGIN RAISE EXCEPTION 'answers are only added'; END; $$ LANGUAGE plpgsql
""",
    """
CREATE TRIGGER answers_only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON answers
FOR EACH STATEMENT EXECUTE FUNCTION answers_only_added()
""",
)


def upgrade() -> None:
    """Make the tables."""
    _people_and_items()
    _tasks()
    _answers()


def _people_and_items() -> None:
    op.create_table(
        "settings", sa.Column("name", sa.String(64), primary_key=True), sa.Column("value", sa.Text, nullable=False)
    )
    op.create_table(
        "raters",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(64), nullable=False, unique=True),
        sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("consented", sa.Float),
    )
    op.create_table(
        "items",
        sa.Column("id", sa.Integer, primary_key=True),
        *(sa.Column(name, sa.String(255), nullable=False) for name in ("study", "first", "second")),
        sa.Column("question", sa.String(64), nullable=False),
        sa.Column("block", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("gold", sa.Integer),
        sa.Column("wanted", sa.Integer, nullable=False),
        sa.Column("taken", sa.Integer, nullable=False),
        sa.Column("done", sa.Boolean, nullable=False),
        sa.UniqueConstraint("study", "first", "second", "question", name="one_item"),
    )
    op.create_index("items_by_need", "items", ["block", "done", "taken", "position"])


def _tasks() -> None:
    op.create_table(
        "tasks",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("item_id", sa.Integer, sa.ForeignKey("items.id"), nullable=False),
        sa.Column("rater_id", sa.Integer, sa.ForeignKey("raters.id"), nullable=False),
        sa.Column("repeat", sa.Boolean, nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("flipped", sa.Boolean, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("leased", sa.Float, nullable=False),
        sa.Column("until", sa.Float, nullable=False),
        sa.Column("answer_id", sa.Integer),
        sa.UniqueConstraint("item_id", "rater_id", "repeat", name="no_rater_twice"),
    )
    op.create_index("tasks_of_rater", "tasks", ["rater_id", "state", "place"])
    op.create_index("tasks_by_lease", "tasks", ["state", "until"])


def _answers() -> None:
    op.create_table(
        "answers",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("task_id", sa.Integer, sa.ForeignKey("tasks.id"), nullable=False),
        sa.Column("rater_id", sa.Integer, sa.ForeignKey("raters.id"), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("value", sa.Integer),
        sa.Column("detail", sa.Integer),
        sa.Column("milliseconds", sa.Integer),
        sa.Column("given", sa.Float, nullable=False),
        sa.UniqueConstraint("rater_id", "key", name="no_answer_twice"),
        sqlite_autoincrement=True,
    )
    op.create_index("answers_of_task", "answers", ["task_id"])
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(_SQLITE.format(name=verb.lower(), verb=verb))
    else:
        for statement in _POSTGRES:
            op.execute(statement)
