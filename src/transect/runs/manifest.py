"""The manifest of a run: the SHA-256 of each file, written when its report is, and signed where you sign it.

It covers what Transect writes for a run, also that of its studies and of the small runs beside them, and is the same
on object storage, where the SHA-256 of each part is stored beside it. It leaves out the
log, which holds times, the lock, checks.json, which later checks write, and other files that lie in the folder. A
signature is Ed25519 over the bytes of manifest.json, behind a text that keeps it from being taken for a signature of
anything else.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from transect import __version__
from transect.errors import BadInput, MissingExtra
from transect.runs import working_folders
from transect.runs.folder import write_atomically, write_json
from transect.runs.json_records import record_in
from transect.runs.layout import (
    CONTROL,
    INTERPOLATION,
    MANIFEST,
    OF_PEOPLE,
    OWN_FILES,
    OWN_FOLDERS,
    SIGNATURE,
    STUDIES,
    is_run,
    studies_of,
)
from transect.runs.locks import LOCK
from transect.texts import words_of

VERSION: Final = 1
_PURPOSE: Final = b"transect run manifest 1\n"
_NOT_COVERED: Final = (LOCK, "log.jsonl", "checks.json", MANIFEST, SIGNATURE)
_WRITTEN: Final = re.compile(rf"(^|/)(part-\d{{5,}}\.(parquet|sha256)|{'|'.join(map(re.escape, OWN_FILES))})$")
"""The names of files that a run writes, in any of its folders."""


@final
@dataclass(frozen=True, slots=True)
class Manifest:
    """What manifest.json holds. files: SHA-256 by path, from the run's folder, with / between folders."""

    schema_version: int
    transect_version: str
    files: Mapping[str, str]


@final
@dataclass(frozen=True, slots=True)
class ManifestCheck:
    """What a check of a run's files found; paths from the run's folder.

    unchanged: how many files are as they were written. added: files of the run that the manifest does not list, and
    links, which no run writes. signed: whether the signature is that of the key; None where no key was given.
    """

    unchanged: int
    changed: tuple[str, ...]
    missing: tuple[str, ...]
    added: tuple[str, ...]
    signed: bool | None = None

    @property
    def holds(self) -> bool:
        """Whether every file is as it was written, and signed by the key where one was given."""
        return not (self.changed or self.missing or self.added) and self.signed is not False


def write(folder: Path) -> tuple[str, ...]:
    """Write manifest.json of a run, without a signature: an earlier one is of other files.

    A report writes no images and no answers: what an earlier manifest says of these is kept, and files among them that
    no run writes are not taken in, so that `check` names them. Returns the names of what is not as it was.
    """
    working_folders.fetch_parts_below(folder)
    files = {name: _digest(path) for name, path in _files(folder) if not path.is_symlink()}
    files = {name: sha256 for name, sha256 in files.items() if not _is_made(name) or _WRITTEN.search(name)}
    earlier: Mapping[str, str] = {}
    with suppress(BadInput):
        earlier = _read(folder).files
    made = {name: sha256 for name, sha256 in earlier.items() if _is_made(name)}
    differing = tuple(name for name, sha256 in made.items() if files.get(name) != sha256)
    working_folders.discard(folder / SIGNATURE)
    write_json(folder / MANIFEST, Manifest(VERSION, __version__, dict(sorted((files | made).items()))))
    return differing


def _is_made(name: str) -> bool:
    """Whether an audit wrote a file, and no report: the description of a run, and all in the folders of its tables."""
    within = name.split("/")[2:] if name.startswith(f"{STUDIES}/") else name.split("/")
    if within[0] in (CONTROL, INTERPOLATION):
        within = within[1:]
    return within[0] == "run.json" or within[0] in OWN_FOLDERS


def check(folder: Path, key: Path | None = None) -> ManifestCheck:
    """Compare a run's files with its manifest. key: an Ed25519 public key, by which it must be signed.

    Raises BadInput where there is no manifest, none that reads, or no key in the file; MissingExtra without the library
    that signatures need.
    """
    stated = _read(folder).files
    working_folders.fetch_parts_below(folder)
    files = dict(_files(folder))
    links = {name for name, path in files.items() if path.is_symlink()}
    found = {name: _digest(path) for name, path in files.items() if name in stated and name not in links}
    there = [name for name in stated if name in found]
    changed = tuple(name for name in there if found[name] != stated[name])
    missing = tuple(name for name in stated if name not in there)
    added = tuple(sorted(links | (files.keys() - stated.keys())))
    signed = None if key is None else _is_signed(folder, _key(key, "public"))
    return ManifestCheck(len(there) - len(changed), changed, missing, added, signed)


def sign(folder: Path, key: Path) -> Path:
    """Sign a run's manifest with an Ed25519 private key, into manifest.sig. Returns its path."""
    private = _key(key, "private")
    found = check(folder)
    if not found.holds:
        kinds = {"changed": found.changed, "missing": found.missing, "added": found.added}
        faults = [
            f"{names[0]} {kind}" + (f" (and {len(names) - 1} more)" if names[1:] else "")
            for kind, names in kinds.items()
            if names
        ]
        raise BadInput(
            f"{folder}: expected the files of its manifest, got {', '.join(faults)}; restore them or rerun it"
        )
    signature = private.sign(_PURPOSE + (folder / MANIFEST).read_bytes())
    write_atomically(folder / SIGNATURE, signature.hex() + "\n")
    return folder / SIGNATURE


def _read(folder: Path) -> Manifest:
    path = folder / MANIFEST
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such folder; check the path")
    if not path.is_file() or path.is_symlink():
        advice = "the folders of audits have one, those of other commands do not"
        advice = f"finish the audit, or write it: transect report {folder}" if is_run(folder) else advice
        raise BadInput(f"{folder}: no {MANIFEST}; {advice}")
    manifest = record_in(path, Manifest)
    if manifest.schema_version != VERSION:
        raise BadInput(f"{path}: expected version {VERSION}, got {manifest.schema_version}; install a newer Transect")
    return manifest


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Name and path of each file that a run wrote, and of each link in its place."""
    for place in (folder, *studies_of(folder)):
        files = [place / name for name in (*OWN_FILES, *OF_PEOPLE)]
        paths = [path for path in files if path.is_file() or path.is_symlink()]
        paths += [path for name in OWN_FOLDERS for path in _below(place / name)]
        for path in paths:
            if path.name not in _NOT_COVERED:
                yield path.relative_to(folder).as_posix(), path


def _below(folder: Path) -> Iterator[Path]:
    if folder.is_symlink():
        yield folder
    elif folder.is_dir():
        for path in folder.iterdir():
            yield from _below(path)
    elif folder.exists():
        yield folder


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({words_of(error)}); check your permissions") from error


def _is_signed(folder: Path, key: Any) -> bool:
    from cryptography.exceptions import InvalidSignature

    path = folder / SIGNATURE
    if not path.is_file():
        raise BadInput(f"{folder}: no {SIGNATURE}; sign it: transect verify run {folder} --sign KEY")
    try:
        key.verify(bytes.fromhex(path.read_text(encoding="ascii").strip()), _PURPOSE + (folder / MANIFEST).read_bytes())
    except (InvalidSignature, ValueError):
        return False
    return True


def _key(path: Path, half: str) -> Any:
    """The public or private half of the Ed25519 key in a PEM or OpenSSH file; one with a passphrase is refused."""
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtra("sign", "a signature of a run") from None
    advice = "make a pair: ssh-keygen -t ed25519 -N '' -f FILE (FILE signs, FILE.pub checks)"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: expected an Ed25519 {half} key, got none ({words_of(error)}); {advice}") from None
    found = _other_half(content, path, half) or f"another file; {advice}"
    options = {"password": None} if half == "private" else {}
    for form in ("pem", "ssh"):
        try:
            key = getattr(serialization, f"load_{form}_{half}_key")(content, **options)
        except TypeError:  # its passphrase is not given
            raise BadInput(f"{path}: expected a key without a passphrase, got an encrypted one; {advice}") from None
        except (ValueError, UnsupportedAlgorithm):
            continue
        if isinstance(key, getattr(ed25519, f"Ed25519{half.capitalize()}Key")):
            return key
        found = f"one of the kind {type(key).__name__.partition('P')[0]}; {advice}"
    raise BadInput(f"{path}: expected an Ed25519 {half} key in PEM or OpenSSH format, got {found}")


def _other_half(content: bytes, path: Path, half: str) -> str:
    """That a file holds the private half where the public one is wanted, or the reverse; "" for another file."""
    public = content.startswith(b"ssh-") or b"-----BEGIN PUBLIC KEY-----" in content
    private = b"PRIVATE KEY-----" in content
    if half == "public" and private:
        return f"the private half; give {path.name}.pub, and keep this one secret"
    if half == "private" and public:
        return f"the public half; give {path.name.removesuffix('.pub')} (the file without .pub)"
    return ""
