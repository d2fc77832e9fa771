"""The one drawing engine: `svg` draws axes and marks, the other modules turn records into positions on them."""
