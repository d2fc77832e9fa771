"""One module per version of the annotation database."""
