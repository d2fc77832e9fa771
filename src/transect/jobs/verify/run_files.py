"""A run's files compared with its manifest: the figures of `transect verify run`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from transect.runs import manifest, mounts, unfinished
from transect.runs.manifest import ManifestCheck
from transect.runs.places import SIGNATURE
from transect.runs.wording import counted

HEADINGS: Final = ("file", "what was found")
_SIGNED: Final = {
    None: "",
    True: " Signed by the key.",
    False: " The signature does not match: another key signed it, or manifest.json was changed.",
}
_WORDS: Final = {"changed": "changed", "missing": "missing", "added": "added: the manifest does not list it"}


@final
@dataclass(frozen=True, slots=True)
class RunFiles:
    """What was found of a run's files.

    folder: the run. signature: the file of a signature that was made just now. unchecked: whether there is a signature
    that no key was given for. unfinished: what the run that was stopped did not make.
    """

    folder: str
    files: ManifestCheck
    signature: str = ""
    unchecked: bool = False
    unfinished: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every file is as it was written, and signed by the key where one was given."""
        return self.files.holds

    def headline(self) -> str:
        """The answer in one or two sentences."""
        found = self.files
        faults = [
            f"{len(names)} {kind}"
            for kind, names in (("changed", found.changed), ("missing", found.missing), ("added", found.added))
            if names
        ]
        whole = ", ".join([f"{counted(found.unchanged, 'file')} as written", *faults])
        signed = _SIGNED[found.signed]
        signed += " A signature is there; check it with --key." if self.unchecked else ""
        made = f" Signed: {self.signature}." if self.signature else ""
        return f"{whole}.{signed}{made}"

    def rows(self) -> Sequence[Sequence[str]]:
        """A row per file that is not as written."""
        return [(name, words) for kind, words in _WORDS.items() for name in getattr(self.files, kind)]


def check_files(place: str | Path, key: Path | None = None, signing_key: Path | None = None) -> RunFiles:
    """Compare a run's files with its manifest; signing_key: sign it too. Raises as `manifest.check` and `sign`.

    place: a folder, or an address on object storage, whose parts are all fetched.
    """
    folder = mounts.opened(place)
    signature = "" if signing_key is None else mounts.name_of(manifest.sign(folder, signing_key))
    unchecked = key is None and not signature and (folder / SIGNATURE).is_file()
    found = manifest.check(folder, key)
    return RunFiles(mounts.name_of(folder), found, signature, unchecked, tuple(unfinished.told(folder)))
