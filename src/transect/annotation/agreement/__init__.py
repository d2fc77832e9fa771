"""Agreement between raters and of each rater with themselves."""
