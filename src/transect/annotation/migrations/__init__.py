"""How the annotation database came to be, step by step; Alembic runs what is missing."""
