"""`hf:FOLDER`, `hf:ID` and `hf:FOLDER#2`: which task does the folder hold, and what makes a target of it?"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from transect.errors import BadInput, did_you_mean
from transect.records import Task
from transect.targets.hf.heads import Made, classifier, detector, embedder, zero_shot
from transect.targets.hf.loading import (
    ModelFolder,
    Options,
    inputs_by,
    library,
    load_processor,
    model_facts,
    open_folder,
    quiet,
    shown_name,
)
from transect.targets.kinds import Kind
from transect.targets.model import ModelTarget

KIND: Final = Kind(
    prefix="hf",
    trust="data",
    listed=(("hf:folder", "any", "a saved classifier, CLIP or SigLIP, detector or embedding"),),
    holds=("config.json", "*.safetensors"),
    extra="huggingface",
    needs=("transformers",),
)
_NUMBERED: Final = re.compile(r"(.+)#(\d+)")
_HEADS: Final = {
    "classification": "MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES",
    "detection": "MODEL_FOR_OBJECT_DETECTION_MAPPING_NAMES",
}
_OF_TASK: Final = {
    **dict.fromkeys((Task.BINARY, Task.MULTICLASS, Task.MULTILABEL, Task.REGRESSION), "classification"),
    Task.DETECTION: "detection",
}
_BASES: Final = ("Model", "WithProjection")
"""How classes without a head end."""


def load(argument: str, options: Options) -> ModelTarget:
    """The folder, or the cached model of an id, as a target; the processor that was saved with it preprocesses.

    argument: with `#2` at the end, labels in words are asked in the second template alone. The task is that of the
    config: an image classifier, an object detector, or a network that embeds images, which with `labels` is a
    classifier by labels in words. Nothing is downloaded unless options.allow_download, no code that came with a model
    runs, nothing is unpickled. Raises MissingExtra without Transformers; BadInput for a model that does not fit.
    """
    place, number = split(argument)
    with quiet(place):
        folder = open_folder(place, allow_download=options.allow_download)
        _check_known(folder)
        if options.preprocess is None:
            folder.check_processor()
        made = _made(folder, options, number)
        ready = None if options.preprocess else load_processor(folder)
        facts = model_facts(folder, options, ready) | dict(made.facts)
    named = f"{KIND.prefix}:{shown_name(place)}{'' if number is None else f'#{number}'}"
    processed = None if ready is None else inputs_by(ready)
    return ModelTarget(named, made.run, made.output, options.preprocess, facts, processed)


def split(argument: str) -> tuple[str, int | None]:
    """The folder or id, and the number of the template, None without one.

    >>> split("models/clip#2"), split("models/clip")
    (('models/clip', 2), ('models/clip', None))
    """
    numbered = _NUMBERED.fullmatch(argument)
    if numbered is None or Path(argument).is_dir():
        return argument, None
    return numbered[1], int(numbered[2])


def _made(folder: ModelFolder, options: Options, number: int | None) -> Made:
    if number is not None and not options.labels:
        raise BadInput(f"template #{number}: expected --labels and --template to choose from, got none; leave it out")
    if options.task is Task.EMBEDDING:
        return embedder(folder, options)
    head = _head(folder, options)
    if head == "detection":
        return detector(folder, options)
    if head == "classification":
        return classifier(folder, options)
    return zero_shot(folder, options, number) if options.labels else embedder(folder, options)


def _head(folder: ModelFolder, options: Options) -> str | None:
    """What the saved network ends in, None for no head; where its config names no class, what the task needs."""
    if not folder.architecture:
        return _OF_TASK.get(options.task) if options.task and not options.labels else None
    auto = importlib.import_module("transformers.models.auto.modeling_auto")
    for head, mapping in _HEADS.items():
        names = getattr(auto, mapping).values()
        if any(folder.architecture in (name if isinstance(name, tuple | list) else (name,)) for name in names):
            return head
    if folder.architecture.endswith(_BASES):
        return None
    advice = "a model that answers in words is vlm:FOLDER" if "Generation" in folder.architecture else "choose another"
    raise BadInput(
        f"model folder {folder.path}: expected an image classifier, an object detector, CLIP or SigLIP, or a network "
        f"that embeds images, got {folder.architecture}; {advice}"
    )


def _check_known(folder: ModelFolder) -> None:
    known: Mapping[str, Any] = importlib.import_module("transformers.models.auto.configuration_auto").CONFIG_MAPPING
    if folder.model_type not in known:
        raise BadInput(
            f"model folder {folder.path}: unknown model type {folder.model_type!r} (Transformers "
            f"{library().__version__}): {did_you_mean(folder.model_type, list(known), most=1)}"
        )
