"""From what targets answered to the sections of a report: sensitivity, adjustment, thresholds, balance, comparison.

Each module turns the answers of one or several studies into an entry of `results.json` (see `report.analyses`).
"""

from transect.analysis.sections.answers import Answers
from transect.analysis.sections.build import build

__all__ = ["Answers", "build"]
