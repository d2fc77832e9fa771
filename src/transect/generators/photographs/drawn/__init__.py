"""A drawn head: what is fitted to a photograph and laid on it. See appearance/worn.py."""
