"""From what targets answered to the sections of a report, entries of `results.json`: a module for each kind."""
