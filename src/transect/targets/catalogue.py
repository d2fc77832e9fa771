"""The table of targets, made without importing any of them: `transect targets` starts at once."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import final

ENTRY_POINTS = "transect.targets"
"""Third parties add targets under this entry-point group."""

_CASCADES = {
    "haarcascade_eye": "one eye",
    "haarcascade_eye_tree_eyeglasses": "one eye, also behind glasses",
    "haarcascade_frontalcatface": "a cat's face, frontal",
    "haarcascade_frontalcatface_extended": "a cat's face, frontal, more poses",
    "haarcascade_frontalface_alt": "a frontal face (stumps)",
    "haarcascade_frontalface_alt2": "a frontal face (two-split trees)",
    "haarcascade_frontalface_alt_tree": "a frontal face (tree of stages)",
    "haarcascade_frontalface_default": "a frontal face (the usual one)",
    "haarcascade_fullbody": "a standing person",
    "haarcascade_lefteye_2splits": "a left eye, open or closed",
    "haarcascade_license_plate_rus_16stages": "a Russian license plate",
    "haarcascade_lowerbody": "legs of a person",
    "haarcascade_profileface": "a face in profile",
    "haarcascade_righteye_2splits": "a right eye, open or closed",
    "haarcascade_russian_plate_number": "a Russian license plate",
    "haarcascade_smile": "a smiling mouth",
    "haarcascade_upperbody": "head and shoulders",
}
"""What each cascade of the OpenCV 4 wheels finds; listed also where OpenCV is not installed."""


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
    """All targets that can be named: cascades, other detectors, patterns for own models, entry points.

    Reads file names and metadata only; no optional library is imported.

    >>> [info.installed for info in available() if info.name == "callable:module:attribute"]
    [True]
    """
    return [*_cascades(), *_others(), *_plugins()]


def cascade_files() -> dict[str, Path]:
    """Name of each cascade that the installed OpenCV wheel ships, and its file; empty without OpenCV 4."""
    spec = importlib.util.find_spec("cv2")
    folders = (spec.submodule_search_locations or []) if spec else []
    files = (path for folder in folders for path in (Path(folder) / "data").glob("*cascade*_*.xml"))
    return {path.stem: path for path in sorted(files)}


def entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    """Third parties' targets by name."""
    return {entry.name: entry for entry in importlib.metadata.entry_points(group=ENTRY_POINTS)}


def installed(module: str) -> bool:
    """Whether the module could be imported, without importing it."""
    return importlib.util.find_spec(module) is not None


def _cascades() -> list[TargetInfo]:
    files = cascade_files()
    return [
        TargetInfo(f"opencv:{name}", "detection", _CASCADES.get(name, "an OpenCV cascade"), "opencv", name in files)
        for name in sorted({*files, *_CASCADES})
    ]


def _others() -> list[TargetInfo]:
    dlib, onnx, lite = (installed(module) for module in ("dlib", "onnxruntime", "ai_edge_litert"))
    hf = installed("transformers")
    http = all(map(installed, ("httpx2", "jmespath", "tenacity")))
    return [
        TargetInfo("dlib:hog-face", "detection", "dlib's frontal face detector (HOG and linear SVM)", "dlib", dlib),
        TargetInfo("dlib:face-recognition@folder", "embedding", "dlib's ResNet; model files are yours", "dlib", dlib),
        TargetInfo("callable:module:attribute", "any", "a function, a scikit-learn estimator, a Target", "", True),
        TargetInfo("torch:module:attribute@weights", "any", "a PyTorch module with its weights", "", True),
        TargetInfo("torch:model.pt", "any", "a TorchScript file (it runs with your rights)", "", True),
        TargetInfo("onnx:file.onnx", "any", "an ONNX model, run by ONNX Runtime", "onnx", onnx),
        TargetInfo("tflite:file.tflite", "any", "a TensorFlow Lite model, run by LiteRT", "tflite", lite),
        TargetInfo("hf:folder", "any", "a saved classifier, CLIP or SigLIP, detector or embedding", "huggingface", hf),
        TargetInfo("timm:name@weights", "any", "a network of timm with safetensors", "timm", installed("timm")),
        TargetInfo("classifier:folder", "binary, multiclass", "a model of transect train classifier", "", True),
        TargetInfo("vlm:folder", "any", "a saved vision-language model (--questions)", "huggingface", hf),
        TargetInfo("file.toml", "any", "a model behind a web address, described in a TOML file", "http", http),
    ]


def _plugins() -> list[TargetInfo]:
    return [
        TargetInfo(name, "any", f"plug-in {entry.dist.name if entry.dist else entry.module}", "", True)
        for name, entry in sorted(entry_points().items())
    ]
