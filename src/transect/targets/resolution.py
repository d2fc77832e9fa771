"""Opens the target that a spec names; `kinds` knows the kinds that there are."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from transect.errors import BadInput, MissingExtra, UnknownName
from transect.protocols import Target
from transect.targets.isolated.target import IsolatedTarget
from transect.targets.kinds import PLUG_IN, Kind, available, entry_points, kind_of, kinds, may_open
from transect.targets.model import options_of
from transect.targets.python_objects import NoSuchModule
from transect.targets.words.speakers import gives_words, no_questions, question_set, shared
from transect.texts import words_of

ISOLATE = True
"""Whether targets that run the code of others get a process of their own unless `isolate` says otherwise."""
_Options = dict[str, Any]
"""Settings of a target as a user states them; its kind reads them."""


def resolve(spec: str, *, isolate: bool | None = None, **options: object) -> Target:
    """The target that `spec` names, in a separate process where that runs the code of others.

    spec: a prefix and what follows (`onnx:file.onnx`, `hf:folder`, `opencv:haarcascade_frontalface_default`), the path
    of a file or folder whose kind shows, `module:attribute` (a function of uint8 images, a scikit-learn estimator, a
    Target), or a plug-in: `name` or `name:argument`, by the entry point `name` in the group transect.targets.
    `transect list targets` lists all kinds, and the reference of targets states the options of each.

    options: those of the target's kind; None stands for the default. isolate: whether the target runs in a separate
    process, where a crash or a call that hangs fails one image and not the run; by default those that run the code of
    others do, unless they count their calls. A model that answers in words takes questions (a file, or a built-in
    set) and question (the name of one of them), and where its texts are coded judge and scorers.

    Raises UnknownName (with the nearest names) for an unknown target or option, BadInput for an unreadable or
    unfit model, MissingExtra where a library is not installed.

    >>> resolve("nowhere.onnx")
    Traceback (most recent call last):
    transect.errors.BadInput: model file nowhere.onnx: no such file; check the path
    """
    may_open(spec)
    settings = {key: value for key, value in options.items() if value is not None}
    kind, argument = kind_of(spec)
    if kind is not None and kind.prefix and argument == spec:
        _check_prefix(spec)
        spec = f"{kind.prefix}:{spec}"
    if "question" not in settings and gives_words(spec):
        raise no_questions(spec)
    if kind is not None and not kind.is_installed:
        raise MissingExtra(kind.extra, spec)
    apart = _apart(spec, kind, isolate, settings)
    return _here(spec, kind, argument, settings) if apart is None else apart


def _check_prefix(path: str) -> None:
    """Raises UnknownName for a path that is not there and begins as a prefix might."""
    scheme, colon, _ = path.partition(":")
    near = difflib.get_close_matches(scheme, {kind.prefix.partition(":")[0] for kind in kinds()} - {""})
    if colon and near and not Path(path).exists():
        raise UnknownName("kind of target", scheme, near, "see: transect list targets")


def takes(spec: str, option: str) -> bool:
    """Whether such a target may be given that option; of a plug-in it is not known."""
    kind, _ = kind_of(spec)
    return kind is not PLUG_IN and option in (kind or _python()).options


def remedy(spec: str, *options: str) -> str:
    """What to check about such a target whose answers are no good: those of the options that it takes.

    >>> remedy("net.onnx", "preprocess", "task"), remedy("opencv:haarcascade_smile", "preprocess", "task")
    ('check --preprocess and --task', 'check that the images show what it looks for')
    """
    taken = [f"--{option}" for option in options if takes(spec, option)]
    if not taken:
        return "check that the images show what it looks for"
    return f"check {' and '.join(filter(None, [', '.join(taken[:-1]), taken[-1]]))}"


def is_python(spec: str) -> bool:
    """Whether a spec can only be that of a Python object, which may be a Target with settings of its own."""
    return kind_of(spec)[0] in (None, _python())


def _apart(spec: str, kind: Kind | None, isolate: bool | None, settings: _Options) -> Target | None:
    """The target in a separate process; None where it is to run in this one."""
    if not (ISOLATE and _runs_code_of_others(spec, kind) if isolate is None else isolate):
        return None
    target = IsolatedTarget(spec, settings)
    if target.own_process:
        return target
    target.close()
    if isolate:
        raise BadInput(f"--isolate: {spec} counts its own calls and runs in this process; leave the option out")
    return None


def _runs_code_of_others(spec: str, kind: Kind | None) -> bool:
    """Whether a target's code or program is neither ours nor a shipped library's."""
    if spec.removeprefix("callable:").startswith("__main__:"):
        return False  # an interactive session's own function is in no file that another process could read
    return ":" in spec if kind is None else kind.trust == "code"


def _here(spec: str, kind: Kind | None, argument: str, settings: _Options) -> Target:
    if "question" in settings:
        return _asked(spec, settings)
    if kind is PLUG_IN:
        return _plugin(entry_points()[spec.partition(":")[0]], argument, settings)
    if kind is None or kind == _python():
        return _python_object(spec, settings)
    module = kind.opened()
    target: Target = module.load(argument, options_of(module.Options, settings, spec))
    return target


def _python() -> Kind:
    """The kind of Python objects, which needs no prefix."""
    return next(kind for kind in kinds() if kind.prefix == "callable")


_SAVE_AGAIN = "save it as safetensors: model.save_pretrained(FOLDER, safe_serialization=True)"
_CONVERT = "convert it to ONNX (tf2onnx) or TensorFlow Lite, or wrap it in a function and name that: module:attribute"
_PROVIDERS = re.compile(r"(gpt|chatgpt|claude|gemini|llama|mistral|qwen|pixtral|o[1-9])\b[\w.:-]*", re.IGNORECASE)


def _seems(spec: str) -> str:
    """What a spec that names no target seems to be, and what to write in its place; "" where nothing is known."""
    path, _, attribute = spec.partition(":")
    file, suffix = Path(path), Path(path).suffix.lower()
    if "://" in spec:
        return "a web address needs a target file: write it as url under [request] in api.toml, and name api.toml"
    if suffix == ".py":
        module = ".".join(file.with_suffix("").parts).lstrip("./")
        return f"a Python file is named as a module: {module}:{attribute or 'NAME, the function or class in it'}"
    if suffix in (".h5", ".hdf5", ".keras", ".pb"):
        return f"{suffix} is a TensorFlow model; {_CONVERT}"
    if suffix == ".bin":
        return f"a .bin file is pickled and never read; {_SAVE_AGAIN}, and name FOLDER"
    if suffix in (".pt", ".pth", ".ckpt", ".safetensors"):
        script = "" if suffix == ".safetensors" else f"TorchScript is torch:{path}; "
        return f"{script}weights need their module: torch:module:attribute@{path}"
    if _PROVIDERS.fullmatch(spec):
        return (
            f'a provider needs a target file, such as chat.toml with preset = "openai-chat" and model = "{spec}" '
            "under [request]; name it with --questions"
        )
    return _folder_seems(spec)


def _folder_seems(spec: str) -> str:
    """What is wrong with a folder that holds no model; "" of what is no folder."""
    if not spec or not Path(spec).is_dir():
        return ""
    expected = " or ".join(f"of {kind.listed[0][0]} ({', '.join(kind.holds)})" for kind in kinds() if kind.holds)
    pickled = sorted(file.name for file in Path(spec).glob("*.bin"))
    found = f"{pickled[0]}, which is pickled and never read; {_SAVE_AGAIN}" if pickled else "neither"
    return f"expected the files {expected}, found {found}"


def _asked(spec: str, settings: _Options) -> Target:
    from transect.targets.words.asked import ask
    from transect.targets.words.judging import coders_of

    questions, name = str(settings.pop("questions")), str(settings.pop("question"))
    judge, scorers = settings.pop("judge", None), settings.pop("scorers", ())
    question = question_set(questions).named(name)
    model = shared(spec, settings)
    return ask(model, question, coders_of(question, judge, scorers))


def _python_object(spec: str, settings: _Options) -> Target:
    if seems := _seems(spec):
        raise BadInput(f"target {spec!r}: {seems}")
    known, scheme = [info.name for info in available()], spec.partition(":")[0]
    if not all(spec.removeprefix("callable:").partition(":")):
        raise UnknownName("target", spec, known, "see: transect list targets; your own: module:attribute")
    if of_scheme := [name for name in known if name.startswith(f"{scheme}:") and scheme != _python().prefix]:
        raise UnknownName("target", spec, of_scheme)
    module = _python().opened()
    try:
        target: Target = module.load(spec, options_of(module.Options, settings, spec))
    except NoSuchModule as error:
        if not difflib.get_close_matches(scheme, {name.partition(":")[0] for name in known}):
            raise BadInput(f"target {spec!r}: {error}; for built-in ones, see: transect list targets") from None
        raise UnknownName("target", spec, known, str(error)) from None
    return target


def _plugin(entry: EntryPoint, argument: str, options: Mapping[str, object]) -> Target:
    """The Target that an entry point is, or that it returns when called with the argument (if any) and the options."""
    try:
        target = entry.load()
    except ImportError as error:
        raise BadInput(f"plug-in {entry.name}: could not be imported: {words_of(error)}") from error
    if not isinstance(target, Target) or inspect.isclass(target):
        target = target(*([argument] if argument else []), **options)
    if not isinstance(target, Target):
        raise BadInput(f"plug-in {entry.name}: expected a Target, got {type(target).__name__}")
    return target
