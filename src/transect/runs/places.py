"""The folders that one audit writes runs into: its own, those of its studies, and the small runs beside each.

An audit of one study is a run itself. With several studies, the folder itself holds no run: each study has one in
`studies/`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

STUDIES: Final = "studies"
"""The folder of the runs of an audit that has several."""
CONTROL: Final = "negative-control"
"""The folder of a run's negative control, in that of the run."""
INTERPOLATION: Final = "interpolation"
"""The folder of the images between subjects, in that of the audit."""
MANIFEST: Final = "manifest.json"
"""The digests of a run's files, see `runs.manifest`."""
SIGNATURE: Final = "manifest.sig"
TEMPORARY: Final = ".partial"
"""The end of the name of a file that is being written."""
UNFINISHED: Final = "unfinished.txt"
"""The file that says that an audit was stopped, see `runs.unfinished`."""
OWN_FOLDERS: Final = (
    *("images", "predictions", "answers", "coded", "pairs", "edits", "edit_reference"),
    *("calls", "call_counts", "canaries", ".digests", CONTROL, INTERPOLATION),
)
"""The folders that a run writes, in its own."""
OWN_FILES: Final = (
    *("run.json", "log.jsonl", "results.json", "effects.parquet", "report.html", "checks.json"),
    *("bins.json", "covariates.json", "error_conditions.json", "boundary.json", "margins.json", MANIFEST, SIGNATURE),
    UNFINISHED,
)
"""The files that a run and its report write."""
OF_PEOPLE: Final = (
    *("ratings.parquet", "perceived.parquet", "pruning.json", "reference.json", "required_validation.json"),
    "judge_agreement.json",
)
"""The files that hold what people answered, and what follows from their answers."""


def studies_of(folder: Path) -> list[Path]:
    """The folders of an audit's studies by name; none where it has one study."""
    return sorted(path.parent for path in folder.glob(f"{STUDIES}/*/run.json")) if folder.is_dir() else []


def runs_of(folder: Path) -> list[Path]:
    """The folders of an audit's runs: of its studies, or the folder itself, whatever it holds."""
    return studies_of(folder) or [folder]


def places_of(folder: Path) -> list[Path]:
    """The folders that hold a run of an audit: the folder itself first, then its studies."""
    return [path for path in (folder, *studies_of(folder)) if is_one_run(path)]


def beside(folder: Path) -> list[Path]:
    """The folders of the small runs of an audit: the negative control of each run, then the interpolation."""
    controls = [path / CONTROL for path in (folder, *studies_of(folder))]
    return [path for path in (*controls, folder / INTERPOLATION) if is_one_run(path)]


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run, or the runs of several studies."""
    return bool(places_of(folder))


def is_one_run(folder: Path) -> bool:
    """Whether this very folder holds a run.

    >>> is_one_run(Path("no-such-folder"))
    False
    """
    return (folder / "run.json").is_file()
