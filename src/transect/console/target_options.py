"""What a command line says of a target beside its name: one reading for every command that takes a target."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from transect.console.audit_options import model_option, option_of

_limits = option_of("Limits")

TaskName = Annotated[
    str | None,
    model_option(help="The model's task: binary, multiclass, multilabel, detection, regression or embedding."),
]
PreprocessFile = Annotated[Path | None, model_option(help="TOML file with the model's preprocessing.")]
ClassNames = Annotated[str | None, model_option(help="Names of the model's classes, separated by commas.")]
PositiveClass = Annotated[str | None, model_option(help="The class or label that counts as yes.")]
OutputKind = Annotated[str | None, model_option(help="What the model returns: probability or logit.")]
Isolate = Annotated[
    bool | None,
    model_option(
        "--isolate/--no-isolate",
        help="Run the model in a separate process: a crash or a call that hangs then fails one image and not the run. "
        "Default for Python, PyTorch and ONNX models and plug-ins.",
    ),
]
Templates = Annotated[
    list[str] | None,
    model_option(
        "--template",
        help="Of an open model with --labels: a sentence with {} for the label; repeatable, and scores are averaged "
        "over them. hf:FOLDER#2 is the second alone.",
    ),
]
Dtype = Annotated[str | None, model_option(help="Numbers of an open model: float32 (default), float16 or bfloat16.")]
ModelDevice = Annotated[
    str | None, model_option(help="Where an open or PyTorch model is computed: cpu (default), cuda, cuda:1, …")
]
AllowDownload = Annotated[
    bool | None,
    model_option(
        "--allow-download/--no-download",
        help="Download the model of hf:ID where it is not in the local cache; without it nothing is downloaded.",
    ),
]
Timeout = Annotated[float, _limits(help="Seconds that a model may take for an image.")]
Batch = Annotated[int, _limits(help="Images in each call of a model.")]
MaxFailures = Annotated[float, _limits(help="Stop when more than this share of images fails.")]


def given(
    *,
    task: str | None,
    preprocess: Path | None,
    labels: str | None,
    positive: str | None,
    threshold: float | None,
    output: str | None,
    isolate: bool | None = None,
    templates: list[str] | None = None,
    dtype: str | None = None,
    model_device: str | None = None,
    allow_download: bool | None = None,
) -> dict[str, Any]:
    """The options that were given, as `resolve_targets` takes them; labels separated by commas."""
    options = {
        "task": task,
        "preprocess": preprocess,
        "labels": tuple(name.strip() for name in labels.split(",")) if labels else None,
        "positive": positive,
        "threshold": threshold,
        "output": output,
        "isolate": isolate,
        "templates": tuple(templates) if templates else None,
        "dtype": dtype,
        "device": model_device,
        "allow_download": allow_download,
    }
    return {name: value for name, value in options.items() if value is not None}
