"""Transect measures bias in vision models by experiment.

It makes images that differ in one attribute and in nothing else, asks the model under audit, and estimates
what that attribute causes. The names here are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Attribute": "transect.records",
    "Design": "transect.records",
    "Effect": "transect.records",
    "Images": "transect.records",
    "Latents": "transect.records",
    "Limits": "transect.experiment.study",
    "Predictions": "transect.records",
    "Task": "transect.records",
    "TransectError": "transect.errors",
    "annotate": "transect.jobs.annotate.run",
    "audit": "transect.jobs.audit.run",
    "search": "transect.jobs.search.run",
    "SearchOptions": "transect.jobs.search.request",
    "fit_directions": "transect.jobs.directions.run",
    "invert": "transect.jobs.invert.run",
    "train_classifier": "transect.jobs.train.run",
    "train_encoder": "transect.jobs.train.run",
    "train_gan": "transect.jobs.train.run",
    "ClassifierOptions": "transect.jobs.train.run",
    "DirectionsOptions": "transect.jobs.directions.run",
    "GanOptions": "transect.jobs.train.run",
    "InvertOptions": "transect.jobs.invert.run",
    "leakage": "transect.jobs.leakage.run",
    "LeakageOptions": "transect.jobs.leakage.run",
    "match": "transect.jobs.match.run",
    "mitigate": "transect.jobs.mitigate.run",
    "neighbours": "transect.jobs.neighbours.run",
    "recognition": "transect.jobs.recognition.run",
    "RecognitionOptions": "transect.jobs.recognition.run",
    "MatchOptions": "transect.jobs.match.options",
    "verify": "transect.jobs.verify.run",
    "generators": "",
    "effects": "",
    "targets": "",
    "testing": "",
}

__all__ = ["__version__", *_HOME]  # noqa: PLE0604  (strings all)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'transect' has no attribute {name!r}")
    if not _HOME[name]:
        return importlib.import_module(f"transect.{name}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
