"""Is there room for an audit in its folder? A run with other settings is refused, or deleted where you ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from transect.errors import FolderOfAnotherSpec, RunFolderError
from transect.experiment.study import Study
from transect.runs.folder import read_record, refuse_older
from transect.runs.overwriting import clear
from transect.runs.places import places_of
from transect.runs.plain_json import loads
from transect.runs.spec_changes import in_plain_words


def make(folder: Path, studies: Mapping[Path, Study], *, overwrite: bool) -> None:
    """Do nothing where the folder has room, or holds the same studies, which then resume."""
    reason = _in_the_way(folder, studies)
    if not reason:
        return
    if not overwrite:
        raise FolderOfAnotherSpec(f"{reason}; --overwrite deletes that run")
    clear(folder)


def _in_the_way(folder: Path, studies: Mapping[Path, Study]) -> str:
    """Why the folder cannot be used as it is; "" where it can."""
    held = places_of(folder)
    for place, study in studies.items():
        if place in held and (told := in_plain_words(read_record(place), _as_stored(study))):
            return f"{place} holds a run with other settings: {told}"
        if place in held and (told := _of_an_earlier_version(place)):
            return told
    others = [place for place in held if place not in studies]
    if not others:
        return ""
    name = "a run of one study" if others == [folder] else f"the study {others[0].name}"
    return f"{folder} holds {name}, which this audit does not have: choose another --out"


def _of_an_earlier_version(place: Path) -> str:
    try:
        refuse_older(place)
    except RunFolderError as error:
        return str(error)
    return ""


def _as_stored(study: Study) -> Mapping[str, object]:
    """The spec of a study as run.json would hold it."""
    from transect.runs.folder import canonical_json

    stored: Mapping[str, object] = loads(canonical_json(study.spec().to_json()))
    return stored
