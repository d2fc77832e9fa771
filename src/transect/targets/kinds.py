"""Which kinds of target there are. Each is a module that declares itself by `KIND`, which is read without an import.

A kind's module has `KIND`, a record `Options` of what users may state of such a target, and `load(argument, options)`,
which opens one. All else follows from these: which spec is of which kind, whether it gets a process of its own, how it
is opened again, what `transect list targets` and the reference list, and the nearest names of a spec that is wrong.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import importlib.metadata
import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final, Literal, final

from transect.runs.trust import check_trusted

MODULES: Final = (
    *("opencv", "dlib_hog", "dlib_face", "callables", "torch_model", "onnx_model", "tflite_model"),
    *("hf.opening", "timm_model", "trained_classifier", "words.local", "http.target"),
)
"""The modules of kinds below this folder, in the order in which they are listed."""
ENTRY_POINTS: Final = "transect.targets"
"""Third parties add targets under this entry-point group."""

Trust = Literal["shipped", "data", "code"]
"""Whose code runs when such a target is opened: that of a library, whose own model it is; ours or a library's, on files
that are data; or that of others, which gets a process of its own."""


@final
@dataclass(frozen=True, slots=True)
class Kind:
    """What a module declares of its targets, in literals.

    listed: for each model, or pattern of a spec, the spec, its task and what it is. trust: whose code runs. prefix:
    what stands before the colon, or the whole name of a single model. named: patterns of files whose path needs no
    prefix. holds: files by which a folder needs none. extra: the optional part of Transect with the libraries that it
    needs. ships: a library and the pattern of its files, each of which is a model. in_words: whether it has to be
    asked questions. remote: whether images leave this machine, so that a check explains one reply.
    """

    listed: Sequence[tuple[str, str, str]]
    trust: Trust
    prefix: str = ""
    named: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    extra: str = ""
    needs: tuple[str, ...] = ()
    ships: tuple[str, str] | None = None
    in_words: bool = False
    remote: bool = False
    module: str = ""

    @property
    def options(self) -> tuple[str, ...]:
        """The names of what users may state of it."""
        return tuple(field.name for field in dataclasses.fields(self.opened().Options))

    def opened(self) -> Any:
        """The kind's module, whose libraries may be large."""
        return importlib.import_module(f"{__package__}.{self.module}")

    @property
    def is_installed(self) -> bool:
        """Whether the libraries that it needs are there; none is imported."""
        return all(importlib.util.find_spec(library) for library in self.needs)

    def argument(self, spec: str) -> str | None:
        """What follows the prefix; None for a spec of another kind."""
        model, _, place = spec.partition("@")
        if ":" in self.prefix:
            return place if model == self.prefix else None
        scheme, _, rest = spec.partition(":")
        return rest if self.prefix and rest and scheme == self.prefix else None

    def is_named(self, path: str) -> bool:
        """Whether a path is of this kind without its prefix: a file by its name, a folder by what it holds."""
        if any(fnmatch(Path(path).name.lower(), pattern) for pattern in self.named):
            return True
        folder = Path(path)
        return bool(path and self.holds) and folder.is_dir() and all(any(folder.glob(each)) for each in self.holds)

    def shown(self, argument: str) -> str:
        """The name in tables and reports: files by name alone, since folders reveal people and machines."""
        source, at, weights = argument.rpartition("@")
        return f"{self.prefix}:{source}{at}{Path(weights).name}"

    def files(self) -> Mapping[str, Path]:
        """The models that ship with its library, by name, as far as it is installed."""
        if self.ships is None:
            return {}
        library, pattern = self.ships
        found = importlib.util.find_spec(library)
        folders = (found.submodule_search_locations or []) if found else []
        files = (path for folder in folders for path in Path(folder).glob(pattern))
        return {path.stem: path for path in sorted(files)}


PLUG_IN: Final = Kind(listed=(), trust="code")
"""A target of others, by the name of its entry point."""


@functools.cache
def kinds() -> tuple[Kind, ...]:
    """All that Transect brings, in the order in which they are listed."""
    return tuple(map(_declared, MODULES))


_DECLARATION: Final = re.compile(r"^KIND: Final = (Kind\(.*?^\))$", re.MULTILINE | re.DOTALL)


def _declared(module: str) -> Kind:
    """What a module declares, read from its text. Raises ValueError where it declares nothing, or no literals."""
    text = Path(__file__).parent.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
    found = _DECLARATION.search(text)
    call = ast.parse(found[1], mode="eval").body if found else None
    if not isinstance(call, ast.Call):
        raise ValueError(f"{module}: expected KIND: Final = Kind(...) of literals, found none; declare it")
    return Kind(**{str(each.arg): ast.literal_eval(each.value) for each in call.keywords}, module=module)


def entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    """Third parties' targets by name."""
    return {entry.name: entry for entry in importlib.metadata.entry_points(group=ENTRY_POINTS)}


def kind_of(spec: str) -> tuple[Kind | None, str]:
    """The kind of a spec, and what its module opens; None for a spec that no kind's form fits.

    A prefix comes first, then a plug-in of that name, then a path that needs no prefix.

    >>> kind, argument = kind_of("net.onnx")
    >>> kind.prefix, argument, kind_of("dlib:hog-face")[0].trust, kind_of("nothing")
    ('onnx', 'net.onnx', 'shipped', (None, 'nothing'))
    """
    for kind in kinds():
        if (argument := kind.argument(spec)) is not None:
            return kind, argument
    scheme, _, argument = spec.partition(":")
    if scheme in entry_points():
        return PLUG_IN, argument
    return next((kind for kind in kinds() if kind.is_named(spec)), None), spec


def may_open(spec: str) -> None:
    """Raises BadInput in a rerun of a stranger's record for a model that its reader did not name, and that ships
    with no library.
    """
    if not ships(spec):
        kind, argument = kind_of(spec)
        bare = argument if kind is not None and kind.is_named(argument) else spec
        check_trusted(spec, bare)


def ships(spec: str) -> bool:
    """Whether a spec names a model that comes with a library.

    >>> ships("opencv:haarcascade_frontalface_default"), ships("torch:smile.pt")
    (True, False)
    """
    kind, argument = kind_of(spec)
    return kind is not None and kind.trust == "shipped" and re.fullmatch(r"\w*", argument) is not None


@final
@dataclass(frozen=True, slots=True)
class TargetInfo:
    """One line of the table of targets.

    extra: the optional part of Transect that it needs, "" for none; installed: whether its libraries are there.
    """

    name: str
    task: str
    meaning: str
    extra: str
    installed: bool


def available() -> list[TargetInfo]:
    """All targets that can be named: models that ship with a library, patterns for own models, plug-ins.

    Reads declarations, file names and metadata only; no optional library is imported.

    >>> [info.installed for info in available() if info.name == "callable:module:attribute"]
    [True]
    """
    plug_ins = [
        TargetInfo(name, "any", f"plug-in {entry.dist.name if entry.dist else entry.module}", "", True)
        for name, entry in sorted(entry_points().items())
    ]
    return [info for kind in kinds() for info in _lines(kind)] + plug_ins


def _lines(kind: Kind) -> list[TargetInfo]:
    """The lines of one kind: of a library's own models each is there where its file is."""
    if kind.ships is None:
        return [TargetInfo(*line, kind.extra, kind.is_installed) for line in kind.listed]
    files = {f"{kind.prefix}:{name}" for name in kind.files()}
    known = {spec: (spec, task, meaning) for spec, task, meaning in kind.listed}
    others = {spec: (spec, kind.listed[0][1], f"another model of {kind.extra}") for spec in files - known.keys()}
    return [TargetInfo(*line, kind.extra, spec in files) for spec, line in sorted((known | others).items())]
