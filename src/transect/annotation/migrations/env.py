"""Runs the missing steps on the connection that `transect.annotation.database` hands over."""

from __future__ import annotations

from alembic import context


def run() -> None:
    """Bring the connection's database to the version that was asked for, in its transaction."""
    context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
    context.run_migrations()


if __name__ == "env_py":  # what Alembic calls it: elsewhere there is no context
    run()
