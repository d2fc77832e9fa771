"""Items count only the tasks of raters who take part: those of excluded raters kept images from others."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"

_SHUT_OUT = "(SELECT id FROM raters WHERE state = 'excluded')"
_THEIRS = f"(SELECT item_id FROM tasks WHERE rater_id IN {_SHUT_OUT})"  # noqa: S608  (no text from outside)


def upgrade() -> None:
    """Give back what they hold, and count again; whether an item wants more answers is seen with its next one."""
    op.execute(f"UPDATE tasks SET state = 'expired' WHERE state = 'leased' AND rater_id IN {_SHUT_OUT}")  # noqa: S608
    counted = (
        f"SELECT count(*) FROM tasks WHERE tasks.item_id = items.id AND NOT tasks.repeat "  # noqa: S608
        f"AND tasks.state IN ('leased', 'answered') AND tasks.rater_id NOT IN {_SHUT_OUT}"
    )
    op.execute(f"UPDATE items SET taken = ({counted}), done = FALSE WHERE id IN {_THEIRS}")  # noqa: S608
