"""Which target does a spec name? The only place that knows all kinds of targets."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from transect.errors import BadInput, UnknownName
from transect.protocols import Target
from transect.records import Task
from transect.runs.model_files import CARD
from transect.runs.table_inputs import as_names
from transect.runs.trust import check_trusted
from transect.spoken_answers import Speaker
from transect.targets.box_heads import HEADS
from transect.targets.catalogue import available, entry_points
from transect.targets.hf.loading import CONFIG, PROCESSOR, is_folder
from transect.targets.hf.loading import Options as OpenOptions
from transect.targets.isolated.target import IsolatedTarget
from transect.targets.model import ModelTarget, is_estimator, of_estimator
from transect.targets.output import AUTOMATIC, OutputSpec
from transect.targets.preprocess import Preprocess
from transect.targets.python_objects import NoSuchModule, fingerprint, import_object
from transect.targets.words.speakers import LOCAL, gives_words, no_questions, question_set, shared
from transect.texts import words_of

_CLASSIFIER = "classifier"
_WITHOUT_OWN_CODE = ("opencv", "dlib", "hf", "timm", _CLASSIFIER, LOCAL)
"""Prefixes of targets whose code and program are ours or a library's."""
ISOLATE = True
"""Whether targets that run the code of others get a process of their own unless `isolate` says otherwise."""
_Options = dict[str, Any]
"""Settings of a target as a user states them; the loader of each kind checks them."""
_FILES = ("onnx", "tflite")
"""Prefixes that are also the endings of their files."""
_OUTPUT = ("task", "labels", "output", "threshold", "positive")


def resolve(spec: str, *, isolate: bool | None = None, **options: object) -> Target:
    """The target that `spec` names, in a separate process where that runs the code of others.

    | spec | target |
    | --- | --- |
    | `file.onnx`, `onnx:file.onnx` | an ONNX model |
    | `file.tflite`, `tflite:file.tflite` | a TensorFlow Lite model |
    | `folder`, `hf:folder`, `hf:id` | an open model, or a cached one: config.json, safetensors and its processor |
    | `timm:name@weights.safetensors` | a network of timm, with weights for it |
    | `folder`, `classifier:folder` | a classifier that `transect train classifier` wrote, or its classifier.toml |
    | `vlm:folder` | a vision-language model on this machine, which `questions` make into targets |
    | `file.toml` | a model behind a web address, as the file describes it; a chat interface needs `--questions` |
    | `module:attribute`, `callable:module:attribute` | a function of uint8 images, a scikit-learn estimator, a Target |
    | `torch:module:attribute@weights.safetensors` | a PyTorch module and its weights (state_dict or safetensors) |
    | `torch:model.pt` | a TorchScript file; its own program runs in PyTorch's interpreter |
    | `opencv:haarcascade_frontalface_default` | a cascade of the OpenCV 4 wheel |
    | `dlib:hog-face` | dlib's frontal face detector |
    | `dlib:face-recognition@folder` | dlib's ResNet embedding; the folder holds its two model files |
    | `name`, `name:argument` | a plug-in: the entry point `name` in the group transect.targets |

    options: for models task, labels, preprocess (Preprocess, mapping or TOML file), output ("probability", "logit",
    or the head of a detector's network), threshold, positive, and the options of that kind (torch, classifier: device;
    hf and timm: device, dtype; hf: templates, allow_download; onnx and tflite: output_name; onnx: threads); for
    detectors their settings (scale_factor ...). None stands for the default. isolate: whether the target runs in a
    separate process, where a crash or a call that hangs fails one image and not the run; by default functions, PyTorch
    modules, TorchScript, ONNX and TensorFlow Lite files and plug-ins do, unless they count their calls.

    A model that answers in words takes questions (a file, or a set that ships) and question (the name of one of them),
    and where its texts are coded judge and scorers.

    Raises UnknownName (with the nearest names) for an unknown target or option, BadInput for an unreadable or
    unfit model, MissingExtra where a library is not installed.

    >>> resolve("nowhere.onnx")
    Traceback (most recent call last):
    transect.errors.BadInput: model file nowhere.onnx: expected a file, found none: check the path
    """
    check_trusted(spec)
    settings = {key: value for key, value in options.items() if value is not None}
    spec = _with_prefix(spec)
    if "question" not in settings and gives_words(spec):
        raise no_questions(spec)
    apart = _apart(spec, isolate, settings)
    return _here(spec, settings) if apart is None else apart


def _apart(spec: str, isolate: bool | None, settings: _Options) -> Target | None:
    """The target in a separate process; None where it is to run in this one."""
    if not (ISOLATE and _runs_code_of_others(spec) if isolate is None else isolate):
        return None
    target = IsolatedTarget(spec, settings)
    if target.own_process:
        return target
    target.close()
    if isolate:
        raise BadInput(f"--isolate: {spec} counts its own calls and runs in this process; leave the option out")
    return None


def _here(spec: str, settings: _Options) -> Target:
    if "question" in settings:
        return _asked(spec, settings)
    scheme, _, argument = spec.partition(":")
    if argument and scheme in _KINDS:
        module, opened = _KINDS[scheme]
        if scheme == "dlib" and argument.partition("@")[0] == "face-recognition":
            module = "dlib_face"
        return opened(importlib.import_module(f"transect.targets.{module}"), argument, spec, settings)
    if spec.endswith(".toml"):
        return _over_http(spec, settings)
    if scheme in (entries := entry_points()):
        return _plugin(entries[scheme], argument, settings)
    return _python_object(spec, argument if scheme == "callable" else spec, settings)


def _runs_code_of_others(spec: str) -> bool:
    """Whether a target's code or program is neither ours nor a shipped library's."""
    scheme, _, module = spec.partition(":")
    if scheme == "__main__" or (scheme == "callable" and module.startswith("__main__:")):
        return False  # an interactive session's own function is in no file that another process could read
    return ":" in spec and not spec.endswith(".toml") and scheme not in _WITHOUT_OWN_CODE


def _with_prefix(spec: str) -> str:
    """The spec of a bare path with the prefix of its kind; a plug-in of its name comes first. Raises BadInput."""
    scheme = spec.partition(":")[0]
    if scheme == "callable" or scheme in _KINDS or scheme in entry_points():
        return spec
    for kind in _FILES:
        if spec.lower().endswith(f".{kind}"):
            return f"{kind}:{spec}"
    folder = Path(spec)
    if folder.name == CARD:
        return f"{_CLASSIFIER}:{spec}"
    if not spec or not folder.is_dir():
        return spec
    if (folder / CARD).is_file():
        return f"{_CLASSIFIER}:{spec}"
    if is_folder(folder):
        return f"hf:{spec}"
    pickled = sorted(file.name for file in folder.glob("*.bin"))
    raise BadInput(
        f"target folder {spec}: expected a Hugging Face model ({CONFIG}, *.safetensors, "
        f"{PROCESSOR}) or a trained classifier ({CARD}), found "
        + (f"{pickled[0]}, which is pickled and never read; {_SAVE_AGAIN}" if pickled else "neither")
    )


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
            f'a model of a provider needs a target file, as chat.toml with preset = "openai-chat" and model = "{spec}" '
            "under [request]; name it with --questions"
        )
    return ""


def as_target(
    model: Any, *, name: str = "", preprocess: object = None, isolate: bool | None = None, **options: object
) -> Target:
    """A target made of a Python object.

    A Target comes back as it is; its `predict` may return Predictions or plain arrays, which are read by its own task,
    labels and threshold. A class of targets is instantiated. An nn.Module is run in evaluation mode on what
    `preprocess` makes (by default RGB in [0, 1], [n, 3, h, w]). Any other callable, and an object with `predict` or
    `predict_proba` as scikit-learn's estimators have them, gets the uint8 pixels [n, h, w, 3], or what `preprocess`
    makes of them. options: task (binary by default; estimators know theirs), labels, output, threshold, positive; see
    OutputSpec. Raises BadInput for anything else, and for options on a Target, which has its own settings.

    >>> as_target(lambda pixels: pixels.mean(axis=(1, 2, 3)) / 255, name="brightness").task
    <Task.BINARY: 'binary'>
    """
    if isolate:
        raise BadInput(
            "--isolate: expected the spec of a target, got an object of this process; name it module:attribute"
        )
    model = model() if inspect.isclass(model) and (hasattr(model, "predict") or _is_module(model)) else model
    if isinstance(model, Target):
        return _unchanged(model, {"preprocess": preprocess, **options})
    if isinstance(model, Speaker) and not is_estimator(model):
        raise no_questions(model.name)
    if not callable(model) and not is_estimator(model):
        missing = ", ".join(part for part in ("name", "task", "predict") if not hasattr(model, part))
        kind = type(model).__name__
        raise BadInput(f"expected a function, an object with predict, or a Target, got {kind} (it lacks {missing})")
    name = name or getattr(model, "__name__", type(model).__name__)
    output, rest = _output_spec(options)
    _check_options(name, rest, ())
    if _is_module(type(model)):
        from transect.targets.torch_model import of_module

        facts = {"class": type(model).__qualname__, "code_sha256": fingerprint(model)}
        return of_module(model, name, output, _preprocess(preprocess), facts=facts)
    if is_estimator(model) and (hasattr(model, "predict_proba") or not callable(model)):
        return of_estimator(model, name, output, _preprocess(preprocess), output.task if options.get("task") else None)
    return ModelTarget(name, model, output, _preprocess(preprocess), _code_facts(model))


def _asked(spec: str, settings: _Options) -> Target:
    from transect.targets.words.asked import ask
    from transect.targets.words.judging import coders_of

    questions, name = str(settings.pop("questions")), str(settings.pop("question"))
    judge, scorers = settings.pop("judge", None), settings.pop("scorers", ())
    question = question_set(questions).named(name)
    model = shared(spec, settings)
    return ask(model, question, coders_of(question, judge, scorers))


def _detector(module: Any, argument: str, _: str, options: _Options) -> Target:
    _check_options(argument, options, _keywords(module.load))
    target: Target = module.load(argument, **options)
    return target


def _over_http(path: str, options: dict[str, object]) -> Target:
    if options:
        raise BadInput(f"{path} holds every setting of its target: expected no {', '.join(options)} option")
    from transect.targets.http.target import load

    return load(path)


def _open_model(module: Any, argument: str, spec: str, options: _Options) -> Target:
    _check_options(spec, options, tuple(field.name for field in dataclasses.fields(OpenOptions)))
    readers: Mapping[str, Callable[[Any], Any]] = {
        "task": _task, "preprocess": _preprocess, "labels": _texts, "templates": as_names,
    }  # fmt: skip
    settings = {key: readers[key](value) if key in readers else value for key, value in options.items()}
    target: Target = module.load(argument, options=OpenOptions(**settings))
    return target


def _trained(module: Any, argument: str, spec: str, options: _Options) -> Target:
    _check_options(spec, options, ("threshold", "device"))
    target: Target = module.load_classifier(argument, name=_shown(spec), **options)
    return target


def _model(module: Any, argument: str, spec: str, options: _Options) -> Target:
    output, rest = _output_spec(options, has_heads=getattr(module, "HAS_HEADS", False))
    preprocess = _preprocess(rest.pop("preprocess", None))
    _check_options(
        spec, rest, tuple(key for key in _keywords(module.load) if key not in ("name", "output", "preprocess"))
    )
    target: Target = module.load(argument, name=_shown(spec), output=output, preprocess=preprocess, **rest)
    return target


_KINDS: Mapping[str, tuple[str, Callable[[Any, str, str, _Options], Target]]] = {
    "opencv": ("opencv", _detector),
    "dlib": ("dlib_hog", _detector),
    "hf": ("hf.opening", _open_model),
    "timm": ("timm_model", _open_model),
    "torch": ("torch_model", _model),
    "onnx": ("onnx_model", _model),
    "tflite": ("tflite_model", _model),
    _CLASSIFIER: ("torch_model", _trained),
}
"""By prefix, the module that opens a target, and how it is called; libraries may be large, so it is imported late."""


def _shown(spec: str) -> str:
    """The spec as tables and reports show it: files by name alone, since folders reveal people and machines."""
    scheme, _, argument = spec.partition(":")
    source, at, weights = argument.rpartition("@")
    return f"{scheme}:{source}{at}{Path(weights).name}"


def _python_object(spec: str, reference: str, options: _Options) -> Target:
    if seems := _seems(spec):
        raise BadInput(f"target {spec!r}: {seems}")
    known = [info.name for info in available()]
    hint = "see: transect targets; your own: module:attribute"
    if not all(reference.partition(":")):
        raise UnknownName("target", spec, known, hint)
    try:
        model = import_object(reference)
    except NoSuchModule as error:
        if not difflib.get_close_matches(spec.partition(":")[0], {name.partition(":")[0] for name in known}):
            raise BadInput(f"target {spec!r}: {error}; those that ship: transect targets") from None
        raise UnknownName("target", spec, known, str(error)) from None
    return as_target(model, **{"name": spec, **options})


def _plugin(entry: EntryPoint, argument: str, options: _Options) -> Target:
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


def _output_spec(options: Mapping[str, Any], *, has_heads: bool = False) -> tuple[OutputSpec, _Options]:
    """The options that state how an output is read, and the others. has_heads: whether detectors may give numbers."""
    rest = {key: value for key, value in options.items() if key not in _OUTPUT}
    settings = {key: value for key, value in options.items() if key in _OUTPUT and value is not None}
    if has_heads and settings.get("output") in HEADS:
        settings = {"task": Task.DETECTION, **settings, "head": settings.pop("output")}
    if "output" in settings:
        known = ("probability", "logit", *(HEADS if has_heads else ()))
        settings["scale"] = _choice("output", settings.pop("output"), known)
    if "task" in settings:
        settings["task"] = _task(settings["task"])
        if has_heads and settings["task"] is Task.DETECTION:
            settings.setdefault("head", AUTOMATIC)
    if "labels" in settings:
        settings["labels"] = _texts(settings["labels"])
    return OutputSpec(**settings), rest


def _texts(value: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(value.split(",") if isinstance(value, str) else value)


def _task(value: object) -> Task:
    return Task(_choice("task", str(value), tuple(task.value for task in Task)))


def _choice(key: str, value: object, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise UnknownName(key, str(value), allowed)
    return str(value)


def _preprocess(settings: object) -> Preprocess | None:
    if settings is None or isinstance(settings, Preprocess):
        return settings
    if isinstance(settings, Mapping):
        return Preprocess.from_mapping(settings)
    if isinstance(settings, str | Path):
        return Preprocess.from_toml(settings)
    raise BadInput(f"preprocess: expected settings or the path of a TOML file, got {type(settings).__name__}")


def _unchanged(target: Target, options: Mapping[str, object]) -> Target:
    stated = [key for key, value in options.items() if value is not None]
    if stated:
        raise BadInput(f"{target.name} is a Target and has its own settings: it takes no {', '.join(stated)}")
    return target


def _is_module(kind: type) -> bool:
    """Whether the class is an nn.Module. No import of PyTorch: a module's class has imported it already."""
    torch = sys.modules.get("torch")
    return torch is not None and issubclass(kind, torch.nn.Module)


def _code_facts(obj: Callable[..., object]) -> dict[str, object]:
    """Where a function comes from, and a digest of its code, so that changed code is another target."""
    module, name = getattr(obj, "__module__", ""), getattr(obj, "__qualname__", type(obj).__qualname__)
    return {"function": f"{module}:{name}", "code_sha256": fingerprint(obj)}


def _keywords(load: Callable[..., object]) -> tuple[str, ...]:
    parameters = inspect.signature(load).parameters.values()
    return tuple(parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY)


def _check_options(target: str, options: Mapping[str, object], accepted: tuple[str, ...]) -> None:
    for key in options:
        if key not in accepted:
            raise UnknownName(f"option of {target}", key, accepted or ("none",), "it takes no others")
