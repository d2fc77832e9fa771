"""`hf:FOLDER`, `hf:ID` and `hf:FOLDER#2`: which task does the folder hold, and what makes a target of it?

Classifiers, detectors, embeddings, and models of images and texts such as CLIP and SigLIP, as embeddings and as
classifiers by what texts say.
"""

from __future__ import annotations

import importlib
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, final

import numpy as np
from jaxtyping import Float, UInt8
from scipy.special import expit, softmax

from transect.errors import BadInput, UnknownName, did_you_mean
from transect.records import Task
from transect.runs.byte_cache import ByteCache
from transect.runs.trust import check_trusted
from transect.targets.hf.loading import (
    PLACE,
    TEMPLATE,
    ModelFolder,
    NetworkOptions,
    Options,
    input_tensor,
    inputs_by,
    library,
    load_network,
    load_processor,
    load_saved,
    model_facts,
    open_folder,
    quiet,
    shown_name,
)
from transect.targets.kinds import Kind
from transect.targets.model import ModelTarget
from transect.targets.output import OutputSpec
from transect.targets.python_objects import array_digest

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
        f"model folder {folder.path}: expected a classifier, detector or embedder of images, CLIP or SigLIP, "
        f"got {folder.architecture}; {advice}"
    )


def _check_known(folder: ModelFolder) -> None:
    known: Mapping[str, object] = importlib.import_module("transformers.models.auto.configuration_auto").CONFIG_MAPPING
    if folder.model_type not in known:
        raise BadInput(
            f"model folder {folder.path}: unknown model type {folder.model_type!r} (Transformers "
            f"{library().__version__}): {did_you_mean(folder.model_type, list(known), most=1)}"
        )


@final
@dataclass(frozen=True, slots=True)
class Made:
    """run: a batch of the network's inputs to raw outputs. facts: JSON values that describe it."""

    run: Callable[[np.ndarray], object]
    output: OutputSpec
    facts: Mapping[str, object]


_OTHER = (Task.DETECTION, Task.EMBEDDING)


def reading(labels: tuple[str, ...], problem: str | None, options: NetworkOptions) -> tuple[OutputSpec, int | None]:
    """The output of logits, and the column of yes where two classes make a binary target.

    problem: the config's problem_type. Two classes are binary and score `positive`, by default the second class; one
    output is binary too, or a regression where the config says so.
    """
    task = options.task or _usual_task(labels, problem)
    if task is Task.BINARY and len(labels) == 2:
        return OutputSpec(task, threshold=options.threshold), positive_column(labels, options)
    if (task in (Task.BINARY, Task.REGRESSION)) != (len(labels) == 1) or task in _OTHER:
        raise BadInput(f"task: the model has {len(labels)} outputs ({', '.join(labels[:4])} …), got {task.value}")
    if len(labels) == 1:
        scale: Literal["logit", "probability"] = "logit" if task is Task.BINARY else "probability"
        return OutputSpec(task, scale, threshold=options.threshold), None
    return OutputSpec(task, "logit", labels, options.threshold, options.positive), None


def positive_column(labels: tuple[str, ...], options: NetworkOptions) -> int:
    """Of two classes the number of the one that counts as yes: the second, unless the user names one."""
    if options.positive is None:
        return 1
    column = OutputSpec(Task.MULTICLASS, labels=labels, positive=options.positive).positive_column
    return 1 if column is None else column


def _usual_task(labels: tuple[str, ...], problem: str | None) -> Task:
    if problem == "multi_label_classification":
        return Task.MULTILABEL
    if len(labels) == 1:
        return Task.REGRESSION if problem == "regression" else Task.BINARY
    return Task.BINARY if len(labels) == 2 else Task.MULTICLASS


def classifier(folder: ModelFolder, options: NetworkOptions) -> Made:
    """A network of one, two or more classes, or of several labels. Raises BadInput for labels of the user's own."""
    if options.labels:
        raise BadInput(
            f"model folder {folder.path}: an image classifier takes its labels from its config; leave "
            "--labels out, or give a model of images and texts (CLIP, SigLIP)"
        )
    network, _ = load_network(folder, "AutoModelForImageClassification", "an image classifier", options)
    labels = labels_of(network)
    output, column = reading(labels, network.config.problem_type, options)

    def run(inputs: np.ndarray) -> np.ndarray:
        import torch

        with torch.inference_mode():
            logits = network(pixel_values=input_tensor(inputs, options)).logits.double()
            chosen = logits if column is None else torch.softmax(logits, dim=1)[:, column]
        return np.asarray(chosen.cpu().numpy())

    facts: dict[str, object] = {"classes": list(labels)}
    facts |= {"positive": options.positive, "positive_class": None if column is None else labels[column]}
    return Made(run, output, facts)


def labels_of(network: Any) -> tuple[str, ...]:
    """The names of a network's classes, in the order of its outputs."""
    names = network.config.id2label
    return tuple(str(names[number]) for number in sorted(names))


def detector(folder: ModelFolder, options: NetworkOptions) -> Made:
    """A detector whose boxes of the class `positive` count; Transformers' own `post_process_…` makes the boxes."""
    if options.task not in (None, Task.DETECTION) or options.labels:
        raise BadInput(f"model folder {folder.path}: an object detector takes no labels: leave --task and --labels "
                       "out, and choose the class that counts with --positive")  # fmt: skip
    ready = load_processor(folder)
    network, _ = load_network(folder, "AutoModelForObjectDetection", "an object detector", options)
    labels = labels_of(network)
    kind = _kind(labels, options.positive)
    output = OutputSpec(Task.DETECTION, threshold=options.threshold)
    wanted = labels.index(kind)

    def run(inputs: np.ndarray) -> list[np.ndarray]:
        import torch

        with torch.inference_mode():
            answer = network(pixel_values=input_tensor(inputs, options))
            sizes = [(inputs.shape[2], inputs.shape[3])] * len(inputs)
            answer.logits, answer.pred_boxes = answer.logits.float(), answer.pred_boxes.float()
            found = ready.post_process_object_detection(answer, threshold=output.threshold, target_sizes=sizes)
        return [_boxes(image, wanted) for image in found]

    return Made(run, output, {"classes": list(labels), "kind": kind, "positive": options.positive})


def _kind(labels: tuple[str, ...], positive: str | None) -> str:
    if positive is not None and positive not in labels:
        raise UnknownName("positive label", positive, labels)
    if positive is None and len(labels) > 1:
        raise BadInput(f"positive: no class whose boxes count ({', '.join(labels[:4])}, …); choose it with --positive")
    return positive or labels[0]


def _boxes(found: dict[str, Any], wanted: int) -> np.ndarray:
    """Boxes [m, 5] of the class, the most certain first."""
    mine = (found["labels"] == wanted).cpu().numpy()
    boxes = found["boxes"].double().cpu().numpy()[mine]
    scores = found["scores"].double().cpu().numpy()[mine]
    order = np.argsort(-scores, kind="stable")
    return np.column_stack([boxes, scores])[order]


_PROJECTED: Final = "WithProjection"
_POOLER: Final = "pooler"
_WHAT: Final = "a network that embeds images"


def embedder(folder: ModelFolder, options: Options) -> Made:
    """A network whose vector of each image is compared.

    It is the one in the space of images and texts where the network has that (CLIP, SigLIP), else its pooled output,
    else the class token; "vector" says which.
    """
    if options.task not in (None, Task.EMBEDDING) or options.positive is not None or options.labels:
        raise BadInput(
            f"model folder {folder.path}: the network embeds images and has no classes: leave --task, "
            "--labels and --positive out, or, for an image-text network, give --labels without "
            "--task embedding"
        )
    kind = folder.architecture if folder.architecture.endswith(_PROJECTED) else "AutoModel"
    network, missing = load_network(folder, kind, _WHAT, options, unused=_POOLER)
    if not hasattr(network, "get_image_features") and network.main_input_name != "pixel_values":
        raise BadInput(f"model folder {folder.path}: expected {_WHAT}, got {folder.architecture}, which takes none")
    name, vectors_of = _vectors(network, kind, pooled=not missing)

    def run(inputs: np.ndarray) -> np.ndarray:
        import torch

        with torch.inference_mode():
            vectors = vectors_of(input_tensor(inputs, options))
        return np.asarray(vectors.flatten(1).double().cpu().numpy())

    return Made(run, OutputSpec(Task.EMBEDDING, threshold=options.threshold), {"vector": name})


def image_features(network: Any, pixels: Any) -> Any:
    """The vectors of images in the space that images and texts share."""
    return pooled_of(network.get_image_features(pixel_values=pixels))


def pooled_of(answer: object) -> Any:
    """The vectors themselves; later versions of the library return them inside an output."""
    return getattr(answer, "pooler_output", answer)


def _vectors(network: Any, kind: str, *, pooled: bool) -> tuple[str, Callable[[Any], Any]]:
    """Which vectors of images a network has, and how they are had."""

    def pooled_or_first(pixels: object) -> object:
        answer = network(pixel_values=pixels)
        vectors = getattr(answer, "pooler_output", None) if pooled else None
        return answer.last_hidden_state[:, 0] if vectors is None else vectors

    if hasattr(network, "get_image_features"):
        return "image features", lambda pixels: image_features(network, pixels)
    if kind.endswith(_PROJECTED):
        return "image embeds", lambda pixels: network(pixel_values=pixels).image_embeds
    return "pooled output" if pooled else "class token", pooled_or_first


_WHAT_OF_DUAL: Final = "an image-text network (CLIP, SigLIP)"
_BATCHES: Final = 256
"""Batches of images whose features are kept, so that several templates or queries ask the network once."""
_TEXTS_AT_ONCE: Final = 64
_OPENED: weakref.WeakValueDictionary[tuple[str, ...], DualEncoder] = weakref.WeakValueDictionary()
"""The networks in use: targets of one folder share one."""


@final
class DualEncoder:
    """A network of images and texts. pairwise: each text is judged by itself (SigLIP), not against others (CLIP)."""

    def __init__(self, network: Any, tokens: Any, options: Options) -> None:
        self._network, self._tokens, self._options = network, tokens, options
        self._kept: ByteCache[Float[np.ndarray, "n d"]] = ByteCache(_BATCHES, lambda _: 1)
        bias = getattr(network, "logit_bias", None)
        self.pairwise = bias is not None
        self._scale = float(network.logit_scale.detach().double().exp())
        self._bias = 0.0 if bias is None else float(bias.detach().double())

    def images(self, inputs: np.ndarray) -> Float[np.ndarray, "n d"]:
        """Directions of images, of length 1, from what the processor made of them; kept for the next question."""
        return self._kept.get(array_digest(inputs), lambda: self._images(inputs))

    def texts(self, texts: Sequence[str]) -> Float[np.ndarray, "m d"]:
        """Directions of texts, of length 1. Raises BadInput for a text that is longer than the network reads."""
        import torch

        tokens, parts = self._tokenized(texts), []
        with torch.inference_mode():
            for start in range(0, len(texts), _TEXTS_AT_ONCE):
                part = {name: values[start : start + _TEXTS_AT_ONCE] for name, values in tokens.items()}
                parts.append(pooled_of(self._network.get_text_features(**part)).double().cpu().numpy())
        return _directions(np.concatenate(parts))

    def logits(self, images: Float[np.ndarray, "n d"], texts: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
        """How well each text fits each image, on the network's own scale."""
        return np.asarray(self._scale * (images @ texts.T) + self._bias)

    def _images(self, inputs: np.ndarray) -> Float[np.ndarray, "n d"]:
        import torch

        with torch.inference_mode():
            vectors = image_features(self._network, input_tensor(inputs, self._options))
        return _directions(vectors.double().cpu().numpy())

    def _tokenized(self, texts: Sequence[str]) -> dict[str, Any]:
        most = int(self._network.config.text_config.max_position_embeddings)
        lengths = [len(ids) for ids in self._tokens(list(texts))["input_ids"]]
        if max(lengths) > most:  # cut off, two labels could become the same text
            long = texts[int(np.argmax(lengths))]
            raise BadInput(f"text {long!r}: expected at most {most} tokens, got {max(lengths)}; shorten it")
        # SigLIP was taught on texts padded to one length.
        padding = {"padding": "max_length", "max_length": most} if self.pairwise else {"padding": True}
        tokens = self._tokens(list(texts), return_tensors="pt", **padding)
        return {
            name: tokens[name].to(self._options.device) for name in ("input_ids", "attention_mask") if name in tokens
        }


def dual_encoder(folder: ModelFolder, options: Options) -> DualEncoder:
    """The network of a folder, opened once. Raises BadInput for another kind, or where the tokenizer is missing."""
    folder.check_tokenizer()
    key = (options.device, options.dtype, *folder.digests().values())
    known = _OPENED.get(key)
    if known is None:
        network, _ = load_network(folder, "AutoModel", _WHAT_OF_DUAL, options)
        if not all(hasattr(network, name) for name in ("get_image_features", "get_text_features", "logit_scale")):
            raise BadInput(
                f"model folder {folder.path}: expected {_WHAT_OF_DUAL} for labels in words, got {folder.architecture}; "
                "leave --labels out"
            )
        known = _OPENED[key] = DualEncoder(network, load_saved(folder, "AutoTokenizer", "its tokenizer"), options)
    return known


def _directions(vectors: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


_SCHEME = "hf:"


@final
class TextImages:
    """A network of images and texts with the processor that was saved with it."""

    def __init__(
        self,
        name: str,
        encoder: DualEncoder,
        ready: Callable[[UInt8[np.ndarray, "n h w 3"]], np.ndarray],
        facts: Mapping[str, object],
    ) -> None:
        self.name, self._encoder, self._ready, self._facts = name, encoder, ready, dict(facts)

    def describe(self) -> dict[str, Any]:
        """Files, versions and preprocessing, as JSON values."""
        return dict(self._facts)

    def texts(self, texts: Sequence[str]) -> Float[np.ndarray, "m d"]:
        """Directions of texts, of length 1. Raises BadInput for a text that is longer than the network reads."""
        return self._encoder.texts(texts)

    def images(self, pixels: UInt8[np.ndarray, "n h w 3"]) -> Float[np.ndarray, "n d"]:
        """Directions of images, of length 1."""
        return self._encoder.images(self._ready(pixels))

    def logits(self, pixels: UInt8[np.ndarray, "n h w 3"], texts: Sequence[str]) -> Float[np.ndarray, "n m"]:
        """How well each text fits each image, on the network's own scale."""
        return self._encoder.logits(self.images(pixels), self.texts(texts))


def open_text_images(spec: str, options: Options | None = None) -> TextImages:
    """The network of `hf:FOLDER`, `hf:ID` or a folder. Raises as `opening.load`, and for a network without texts."""
    check_trusted(spec)
    options = options or Options()
    argument = spec.removeprefix(_SCHEME)
    if not argument or (":" in argument and not spec.startswith(_SCHEME)):
        raise BadInput(f"model {spec}: expected hf:FOLDER of an image-text network (CLIP, SigLIP)")
    with quiet(argument):
        folder = open_folder(argument, allow_download=options.allow_download)
        folder.check_processor()
        encoder = dual_encoder(folder, options)
        ready = load_processor(folder)
        facts = model_facts(folder, options, ready)
    return TextImages(f"{_SCHEME}{shown_name(argument)}", encoder, inputs_by(ready), facts)


_TASKS: Final = (None, Task.BINARY, Task.MULTICLASS, Task.MULTILABEL)


def zero_shot(folder: ModelFolder, options: Options, number: int | None = None) -> Made:
    """A classifier of the labels; number: of the one template that is used, from 1; None for the mean over all.

    Labels are compared with each other (softmax), or, with the task multilabel and for a single label, each judged by
    itself (logistic; SigLIP alone).
    """
    encoder = dual_encoder(folder, options)
    templates = options.templates or (TEMPLATE,)
    if number is not None:
        if not 1 <= number <= len(templates):
            raise BadInput(f"template #{number}: expected a number from 1 to {len(templates)}; add --template")
        templates = (templates[number - 1],)
    task = _task(options, encoder)
    texts = [template.replace(PLACE, label) for template in templates for label in options.labels]
    vectors = encoder.texts(texts)
    column = positive_column(options.labels, options) if task is Task.BINARY and len(options.labels) == 2 else None
    alone = task is Task.MULTILABEL or len(options.labels) == 1

    def run(inputs: np.ndarray) -> Float[np.ndarray, "n k"]:
        logits = encoder.logits(encoder.images(inputs), vectors)
        scores = by_template(logits, len(options.labels), alone=alone).mean(axis=1)
        return np.asarray(scores if column is None else scores[:, [column]])

    facts: dict[str, object] = {
        "templates": list(options.templates or (TEMPLATE,)),
        "template": number,
        "labels": list(options.labels),
    }
    facts |= {"classes": list(options.labels), "positive": options.positive}
    facts |= {"positive_class": None if column is None else options.labels[column]}
    return Made(run, _output(task, options), facts)


def by_template(
    logits: Float[np.ndarray, "n m"], labels: int, *, alone: bool = False
) -> Float[np.ndarray, "n templates labels"]:
    """Scores by template and label, from logits of all texts; alone: logistic, else softmax within a template."""
    shaped = logits.reshape(len(logits), -1, labels)
    return np.asarray(expit(shaped) if alone else softmax(shaped, axis=2))


def _task(options: Options, encoder: DualEncoder) -> Task:
    count, task = len(options.labels), options.task
    if task not in _TASKS or (task is Task.BINARY and count > 2) or (task is Task.MULTICLASS and count == 1):
        raise BadInput(f"task: expected one that fits {count} labels in words, got {task}; leave --task out")
    if (task is Task.MULTILABEL or count == 1) and not encoder.pairwise:
        raise BadInput(
            "labels: this model compares texts: expected at least two labels; add one, such as 'a face', and "
            "leave --task out"
        )
    if task is not None:
        return task
    return Task.BINARY if count <= 2 else Task.MULTICLASS


def _output(task: Task, options: Options) -> OutputSpec:
    if task is Task.BINARY:
        return OutputSpec(task, threshold=options.threshold)
    return OutputSpec(task, labels=options.labels, threshold=options.threshold, positive=options.positive)
