"""The folders and files of an audit: its own run, those of its studies, the small runs beside each, and the names of
parts.

An audit of one study is a run itself. With several studies, the folder itself holds no run: each study has one in
`studies/`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from transect.errors import RunFolderError

STUDIES: Final = "studies"
"""The folder of the runs of an audit that has several."""
CONTROL: Final = "negative-control"
"""The folder of a run's negative control, in that of the run."""
INTERPOLATION: Final = "interpolation"
"""The folder of the images between subjects, in that of the audit."""
MANIFEST: Final = "manifest.json"
"""The digests of a run's files, see `runs.manifest`."""
SIGNATURE: Final = "manifest.sig"
SETTINGS: Final = "settings.json"
"""How a run's report counts, see `runs.report_options`."""
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
    *("run.json", "log.jsonl", "results.json", "effects.parquet", "report.html", "report-numbers.html", "checks.json"),
    *(SETTINGS, MANIFEST, SIGNATURE, UNFINISHED),
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
    runs = studies_of(folder) or [folder]
    studies = sorted(folder.glob(f"{STUDIES}/*"))
    for place in (*studies, *(run / CONTROL for run in (folder, *studies)), folder / INTERPOLATION):
        if (place / "images").is_dir() and not is_one_run(place):
            raise RunFolderError(
                f"{place} holds parts of a run, but no run.json: restore the file, or move the folder away"
            )
    return runs


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
    """Whether this very folder holds a run."""
    return (folder / "run.json").is_file()


PART: Final = re.compile(r"(?:.*/)?part-\d{5,}\.parquet")
DIGEST: Final = re.compile(r"(?:.*/)?\.digests/.+\.sha256")
"""Names from a run's folder, or from one above it."""


def part_name(table: str, index: int) -> str:
    """The name of a part."""
    return f"{table}/part-{index:05d}.parquet"


def digest_name(name: str) -> str:
    """The name of the SHA-256 of a part, by the name of the part."""
    return f".digests/{name.removesuffix('.parquet')}.sha256"


def tables_of(slug: str, *, in_words: bool, coded: bool = False) -> tuple[str, ...]:
    """The tables of a target's answers, by its folder's name. coded: whether a judge or functions look at its texts.

    >>> tables_of("ours-hire", in_words=True)
    ('predictions/ours-hire', 'answers/ours-hire')
    """
    said = [f"answers/{slug}"] if in_words else []
    return (f"predictions/{slug}", *said, *([f"coded/{slug}"] if in_words and coded else []))


def is_coded(facts: Mapping[str, object]) -> bool:
    """Whether a target's description says that a judge model or a user's functions look at its texts.

    >>> is_coded({"asked_in_words": {}, "judge": {"name": "vlm:judge"}})
    True
    """
    return bool(facts.get("judge") or facts.get("scorers"))


def pairs_table(slug: str) -> str:
    """The table of what was said about two images at once, by the folder's name of model and question."""
    return f"pairs/{slug}"
