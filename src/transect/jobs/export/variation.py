"""A report in the shape of ISO/IEC 19795-10:2024: how performance varies between groups, from the numbers of one run.

The standard (Biometric performance testing and reporting, part 10: Quantifying biometric system performance variation
across demographic groups) asks for groups and how membership was determined, for false negative and false positive
differential performance, comparison score differentials, aggregate measures of equitability, and their uncertainty. The
headings name these in words of our own. Nothing here claims that a run conforms to the standard.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from transect.errors import BadInput
from transect.jobs.export import variation_audit, variation_recognition
from transect.jobs.export.markdown import bullets, document, to_state
from transect.jobs.export.tables import results_of
from transect.runs.folder import write_atomically
from transect.runs.json_records import read_json

FILE: Final = "iso-19795-10.md"
_RECOGNITION: Final = "recognition.json"
_HEAD: Final = (
    "# Performance variation across groups",
    "",
    "This report has the shape of ISO/IEC 19795-10:2024. It is not a claim of conformance: the standard asks for more "
    "than one run can show. Every number comes from the run. Fill in the lines that begin with **To state**.",
    "",
)
_OPEN: Final = (
    "failure to enrol, and failure to acquire at your own sensor",
    "response and processing times by group",
    "identification among many people (one-to-many search), if the system does it",
    "presentation attacks, if they matter",
)


def write(run: Path, out: Path) -> list[Path]:
    """Write iso-19795-10.md from a folder of `transect recognition`, or from an audit of a detector or a recognizer.

    Raises BadInput for another run, and for numbers of another version.
    """
    path = out / FILE
    write_atomically(path, document([*_HEAD, *_body(run), *_missing()]))
    return [path]


def _body(run: Path) -> list[str]:
    if (run / _RECOGNITION).is_file():
        again = "run transect recognition again"
        numbers = read_json(run / _RECOGNITION, "the numbers of a recognition benchmark", again)
        try:
            return variation_recognition.sections(numbers)
        except (KeyError, TypeError, IndexError, ValueError, AttributeError):
            raise BadInput(
                f"{run / _RECOGNITION}: expected the numbers of a recognition benchmark, got other ones; {again}"
            ) from None
    return variation_audit.sections(results_of(run), run)


def _missing() -> list[str]:
    return [
        "## 8. What this run does not show",
        *bullets(["Performance elsewhere: with other people, sensors, places and thresholds."]),
        *to_state(*_OPEN, "what the differences mean for the people concerned, and what was decided"),
    ]
