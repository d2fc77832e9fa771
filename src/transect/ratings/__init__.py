"""Ratings of a run's images, and rules by which images are left out."""
