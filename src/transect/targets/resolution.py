"""Which target does a spec name? The only place that knows all kinds of targets."""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from transect.errors import BadInput, UnknownName
from transect.protocols import Target
from transect.records import Task
from transect.targets.catalogue import available, entry_points
from transect.targets.fingerprint import fingerprint
from transect.targets.model import ModelTarget
from transect.targets.objects import NoSuchModule, import_object
from transect.targets.output import OutputSpec
from transect.targets.preprocess import Preprocess

_DLIB_FACES = "face-recognition"
_DETECTORS = {"opencv": "transect.targets.opencv", "dlib": "transect.targets.dlib_hog"}
_MODELS = {"torch": "transect.targets.torch_model", "onnx": "transect.targets.onnx_model"}
_CLASSIFIER = "classifier"
_OUTPUT = ("task", "labels", "output", "threshold", "positive")


def resolve(spec: str, **options: Any) -> Target:
    """The target that `spec` names.

    | spec | target |
    | --- | --- |
    | `opencv:haarcascade_frontalface_default` | a cascade of the OpenCV 4 wheel |
    | `dlib:hog-face` | dlib's frontal face detector |
    | `dlib:face-recognition@folder` | dlib's ResNet embedding; the folder holds its two model files |
    | `module:attribute`, `callable:module:attribute` | a function of uint8 images, or a Target or what makes one |
    | `torch:module:attribute@weights.safetensors` | a PyTorch module and its weights (state_dict or safetensors) |
    | `torch:model.pt` | a TorchScript file; its own program runs in PyTorch's interpreter |
    | `onnx:file.onnx` | an ONNX model |
    | `classifier:folder` | what `transect train classifier` made, or its classifier.toml |
    | `file.toml` | a model behind a web address, as the file describes it |
    | `name`, `name:argument` | a plug-in: the entry point `name` in the group transect.targets |

    options: for models task, labels, preprocess (Preprocess, mapping or TOML file), output ("probability" or
    "logit"), threshold, positive, and what the kind itself takes (torch: device; onnx: output_name, threads); for
    detectors their settings (scale_factor ...). An option that is None counts as not given.

    Raises UnknownName (with the nearest names) for an unknown target or option, BadInput for an unreadable or
    unfit model, MissingExtra where a library is not installed.

    >>> resolve("onnx:nowhere.onnx")
    Traceback (most recent call last):
    transect.errors.BadInput: model file nowhere.onnx: expected a file, found none: check the path
    """
    given = {key: value for key, value in options.items() if value is not None}
    scheme, _, argument = spec.partition(":")
    if argument and scheme == _CLASSIFIER:
        return _trained(argument, spec, given)
    if spec.endswith(".toml"):
        return _over_http(spec, given)
    if scheme == "dlib" and argument.partition("@")[0] == _DLIB_FACES:
        return _detector("transect.targets.dlib_face", argument, given)
    if argument and scheme in _DETECTORS:
        return _detector(_DETECTORS[scheme], argument, given)
    if argument and scheme in _MODELS:
        return _model(_MODELS[scheme], argument, spec, given)
    if scheme in (entries := entry_points()):
        return _plugin(entries[scheme], argument, given)
    return _python_object(spec, argument if scheme == "callable" else spec, given)


def as_target(obj: Any, *, name: str = "", preprocess: Any = None, **options: Any) -> Target:
    """A target made of a Python object.

    A Target comes back as it is, a class of one is instantiated. An nn.Module is run in evaluation mode on what
    `preprocess` makes (by default RGB in [0, 1], [n, 3, h, w]). Any other callable is given the uint8 pixels
    [n, h, w, 3], or what `preprocess` makes of them. options: task (binary by default), labels, output, threshold,
    positive; see OutputSpec. Raises BadInput for anything else, and for options on what is a Target already.

    >>> as_target(lambda pixels: pixels.mean(axis=(1, 2, 3)) / 255, name="brightness").task
    <Task.BINARY: 'binary'>
    """
    obj = obj() if inspect.isclass(obj) and (hasattr(obj, "predict") or _is_module(obj)) else obj
    if isinstance(obj, Target):
        return _unchanged(obj, {"preprocess": preprocess, **options})
    if not callable(obj):
        missing = ", ".join(part for part in ("name", "task", "predict") if not hasattr(obj, part))
        raise BadInput(f"expected a function or a Target, got {type(obj).__name__} (it lacks {missing})")
    name = name or getattr(obj, "__name__", type(obj).__name__)
    output, rest = _output_spec(options)
    _check_options(name, rest, ())
    if _is_module(type(obj)):
        from transect.targets.torch_model import of_module

        facts = {"class": type(obj).__qualname__, "code_sha256": fingerprint(obj)}
        return of_module(obj, name, output, _preprocess(preprocess), facts=facts)
    return ModelTarget(name, obj, output, _preprocess(preprocess), _code_facts(obj))


def _detector(module: str, argument: str, options: dict[str, Any]) -> Target:
    load = importlib.import_module(module).load
    _check_options(argument, options, _keywords(load))
    target: Target = load(argument, **options)
    return target


def _over_http(path: str, options: dict[str, Any]) -> Target:
    if options:
        raise BadInput(f"{path} says itself how it is asked and read: expected no {', '.join(options)} beside it")
    from transect.targets.http.target import load

    return load(path)


def _trained(argument: str, spec: str, options: dict[str, Any]) -> Target:
    from transect.targets.classifier import load

    _check_options(spec, options, ("threshold", "device"))
    return load(argument, name=_shown(spec), **options)


def _model(module: str, argument: str, spec: str, options: dict[str, Any]) -> Target:
    load = importlib.import_module(module).load
    output, rest = _output_spec(options)
    preprocess = _preprocess(rest.pop("preprocess", None))
    _check_options(spec, rest, tuple(key for key in _keywords(load) if key not in ("name", "output", "preprocess")))
    target: Target = load(argument, name=_shown(spec), output=output, preprocess=preprocess, **rest)
    return target


def _shown(spec: str) -> str:
    """The spec as tables and reports show it: files by their name alone, since folders tell of people and machines.

    >>> _shown("torch:models:Net@/home/ada/net.safetensors"), _shown("onnx:/srv/smile.onnx")
    ('torch:models:Net@net.safetensors', 'onnx:smile.onnx')
    """
    scheme, _, argument = spec.partition(":")
    source, at, weights = argument.rpartition("@")
    return f"{scheme}:{source}{at}{Path(weights).name}"


def _python_object(spec: str, reference: str, options: dict[str, Any]) -> Target:
    known = [info.name for info in available()]
    hint = "see: transect targets; your own: module:attribute"
    if not all(reference.partition(":")):
        raise UnknownName("target", spec, known, hint)
    try:
        found = import_object(reference)
    except NoSuchModule as error:
        if not difflib.get_close_matches(spec.partition(":")[0], {name.partition(":")[0] for name in known}):
            raise BadInput(f"target {spec!r}: {error}; those that ship: transect targets") from None
        raise UnknownName("target", spec, known, str(error)) from None
    return as_target(found, **{"name": spec, **options})


def _plugin(entry: Any, argument: str, options: dict[str, Any]) -> Target:
    """An entry point is a Target, or what makes one: called with the argument, if there is one, and the options."""
    try:
        made = entry.load()
    except ImportError as error:
        raise BadInput(f"plug-in {entry.name}: could not be imported: {error}") from error
    if not isinstance(made, Target) or inspect.isclass(made):
        made = made(*([argument] if argument else []), **options)
    if not isinstance(made, Target):
        raise BadInput(f"plug-in {entry.name}: expected a Target, got {type(made).__name__}")
    return made


def _output_spec(options: Mapping[str, Any]) -> tuple[OutputSpec, dict[str, Any]]:
    """The options that say how an output is read, and the others."""
    rest = {key: value for key, value in options.items() if key not in _OUTPUT}
    own = {key: value for key, value in options.items() if key in _OUTPUT and value is not None}
    if "output" in own:
        own["scale"] = _choice("output", own.pop("output"), ("probability", "logit"))
    if "task" in own:
        own["task"] = Task(_choice("task", str(own["task"]), tuple(task.value for task in Task)))
    if "labels" in own:
        own["labels"] = tuple(own["labels"].split(",") if isinstance(own["labels"], str) else own["labels"])
    return OutputSpec(**own), rest


def _choice(key: str, value: Any, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise UnknownName(key, str(value), allowed)
    return str(value)


def _preprocess(given: Any) -> Preprocess | None:
    if given is None or isinstance(given, Preprocess):
        return given
    if isinstance(given, Mapping):
        return Preprocess.from_mapping(given)
    if isinstance(given, str | Path):
        return Preprocess.from_toml(given)
    raise BadInput(f"preprocess: expected settings or the path of a TOML file, got {type(given).__name__}")


def _unchanged(target: Target, options: Mapping[str, Any]) -> Target:
    given = [key for key, value in options.items() if value is not None]
    if given:
        raise BadInput(f"{target.name} is a Target and has its own settings: it takes no {', '.join(given)}")
    return target


def _is_module(kind: type) -> bool:
    """Whether the class is an nn.Module; PyTorch is not imported for that, since it then already is."""
    torch = sys.modules.get("torch")
    return torch is not None and issubclass(kind, torch.nn.Module)


def _code_facts(obj: Callable[..., Any]) -> dict[str, Any]:
    """Where a function comes from, and a digest of its code, so that changed code is another target."""
    module, name = getattr(obj, "__module__", ""), getattr(obj, "__qualname__", type(obj).__qualname__)
    return {"function": f"{module}:{name}", "code_sha256": fingerprint(obj)}


def _keywords(load: Callable[..., Any]) -> tuple[str, ...]:
    parameters = inspect.signature(load).parameters.values()
    return tuple(one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY)


def _check_options(target: str, given: Mapping[str, Any], accepted: tuple[str, ...]) -> None:
    for key in given:
        if key not in accepted:
            raise UnknownName(f"option of {target}", key, accepted or ("none",), "it takes no others")
