"""Photographs of the user as subjects: a camera's settings and covers are set on them, and all else stays."""
