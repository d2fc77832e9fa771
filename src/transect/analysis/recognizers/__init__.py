"""Face recognizers: their errors by group, their curves, and several of them on the same images."""
