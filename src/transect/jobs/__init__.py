"""One folder for each job: command.py (its options), run.py (its Python function), page.py (its page)."""
