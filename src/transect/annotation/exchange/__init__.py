"""Answers and tasks in the formats of tables and of other services, and back."""
