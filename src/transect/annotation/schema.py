"""The tables of the annotation database.

settings  name, value: what the raters are asked, about which run, the hash of the administrator's password
raters    who may answer: a number and the hash of a token, never a name
items     an image (or a pair) and a question; taken: tasks under way or answered; done: wants no more answers
tasks     an item given to a rater: leased until a time, answered, or expired; answer_id: the answer in force
answers   every answer, skip and undo as it came: rows are added, never changed or deleted
sessions  who is logged in: the hash of a cookie, its CSRF token
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    DDL,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    event,
)

metadata: Final = MetaData()

settings: Final = Table(
    "settings", metadata, Column("name", String(64), primary_key=True), Column("value", Text, nullable=False)
)
raters: Final = Table(
    "raters",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("state", String(16), nullable=False, default="active"),
    Column("created", Float, nullable=False),
    Column("consented", Float),
)
items: Final = Table(
    "items",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("study", String(255), nullable=False),
    Column("first", String(255), nullable=False),
    Column("second", String(255), nullable=False),
    Column("question", String(64), nullable=False),
    Column("block", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("gold", Integer),
    Column("wanted", Integer, nullable=False),
    Column("taken", Integer, nullable=False, default=0),
    Column("done", Boolean, nullable=False, default=False),
    UniqueConstraint("study", "first", "second", "question", name="one_item"),
    Index("items_by_need", "block", "done", "taken", "position"),
)
tasks: Final = Table(
    "tasks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("item_id", Integer, ForeignKey("items.id"), nullable=False),
    Column("rater_id", Integer, ForeignKey("raters.id"), nullable=False),
    Column("repeat", Boolean, nullable=False, default=False),
    Column("place", Integer, nullable=False),
    Column("flipped", Boolean, nullable=False, default=False),
    Column("state", String(16), nullable=False),
    Column("leased", Float, nullable=False),
    Column("until", Float, nullable=False),
    Column("answer_id", Integer),
    UniqueConstraint("item_id", "rater_id", "repeat", name="no_rater_twice"),
    Index("tasks_of_rater", "rater_id", "state", "place"),
    Index("tasks_by_lease", "state", "until"),
)
answers: Final = Table(
    "answers",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("task_id", Integer, ForeignKey("tasks.id"), nullable=False),
    Column("rater_id", Integer, ForeignKey("raters.id"), nullable=False),
    Column("key", String(64), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("value", Integer),
    Column("detail", Integer),
    Column("milliseconds", Integer),
    Column("given", Float, nullable=False),
    UniqueConstraint("rater_id", "key", name="no_answer_twice"),
    Index("answers_of_task", "task_id"),
    sqlite_autoincrement=True,
)
sessions: Final = Table(
    "sessions",
    metadata,
    Column("token_hash", String(64), primary_key=True),
    Column("rater_id", Integer, ForeignKey("raters.id")),
    Column("csrf", String(64), nullable=False),
    Column("created", Float, nullable=False),
    Column("expires", Float, nullable=False),
)

_SQLITE: Final = """
CREATE TRIGGER answers_no_{name} BEFORE {verb} ON answers
BEGIN SELECT RAISE(ABORT, 'answers are only added'); END
"""
_POSTGRESQL: Final = (
    """
CREATE FUNCTION answers_only_added() RETURNS trigger AS $$
BEGIN RAISE EXCEPTION 'answers are only added'; END; $$ LANGUAGE plpgsql
""",
    """
CREATE TRIGGER answers_only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON answers
FOR EACH STATEMENT EXECUTE FUNCTION answers_only_added()
""",
)
for _verb in ("UPDATE", "DELETE"):
    _trigger = DDL(_SQLITE.format(name=_verb.lower(), verb=_verb))  # type: ignore[no-untyped-call]
    event.listen(answers, "after_create", _trigger.execute_if(dialect="sqlite"))
for _statement in _POSTGRESQL:
    _trigger = DDL(_statement)  # type: ignore[no-untyped-call]
    event.listen(answers, "after_create", _trigger.execute_if(dialect="postgresql"))
