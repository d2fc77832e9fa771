"""From what targets answered to the sections of a report, entries of `results.json`."""

from transect.analysis.sections.answers import Answers
from transect.analysis.sections.build import build

__all__ = ["Answers", "build"]
