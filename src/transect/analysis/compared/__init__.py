"""Models compared on the same images: which they are, how they differ, and what that says in words."""
