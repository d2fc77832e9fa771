"""Does an effect replicate? Finished runs of several worlds side by side."""
