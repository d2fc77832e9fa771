"""Transect measures bias in vision models by experiment.

It makes images that differ in one attribute and in nothing else, asks the model under audit, and estimates
what that attribute causes. The names here are loaded when they are first used.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transect import effects as effects
    from transect import generators as generators
    from transect import targets as targets
    from transect import testing as testing
    from transect.errors import TransectError as TransectError
    from transect.experiment.world_settings import WorldSettings as WorldSettings
    from transect.jobs.annotate.run import annotate as annotate
    from transect.jobs.audit.request import AuditRequest as AuditRequest
    from transect.jobs.audit.request import CheckSettings as CheckSettings
    from transect.jobs.audit.request import ModelSettings as ModelSettings
    from transect.jobs.audit.request import RatingSettings as RatingSettings
    from transect.jobs.audit.request import ReportSettings as ReportSettings
    from transect.jobs.audit.request import RunSettings as RunSettings
    from transect.jobs.audit.request import VerificationSettings as VerificationSettings
    from transect.jobs.audit.run import audit as audit
    from transect.jobs.audit.run import audit_cost as audit_cost
    from transect.jobs.directions.run import DirectionsOptions as DirectionsOptions
    from transect.jobs.directions.run import fit_directions as fit_directions
    from transect.jobs.invert.run import InvertOptions as InvertOptions
    from transect.jobs.invert.run import invert as invert
    from transect.jobs.leakage.run import LeakageOptions as LeakageOptions
    from transect.jobs.leakage.run import leakage as leakage
    from transect.jobs.match.options import MatchOptions as MatchOptions
    from transect.jobs.match.run import match as match
    from transect.jobs.mitigate.run import mitigate as mitigate
    from transect.jobs.neighbours.run import neighbours as neighbours
    from transect.jobs.plan.run import plan as plan
    from transect.jobs.recognition.run import RecognitionOptions as RecognitionOptions
    from transect.jobs.recognition.run import recognition as recognition
    from transect.jobs.render.run import render as render
    from transect.jobs.report.run import open_run as open_run
    from transect.jobs.report.run import report as report
    from transect.jobs.search.request import SearchOptions as SearchOptions
    from transect.jobs.search.run import search as search
    from transect.jobs.train.run import ClassifierOptions as ClassifierOptions
    from transect.jobs.train.run import GanOptions as GanOptions
    from transect.jobs.train.run import train_classifier as train_classifier
    from transect.jobs.train.run import train_encoder as train_encoder
    from transect.jobs.train.run import train_gan as train_gan
    from transect.jobs.verify.run import verify as verify
    from transect.records import Attribute as Attribute
    from transect.records import Design as Design
    from transect.records import Effect as Effect
    from transect.records import Images as Images
    from transect.records import Latents as Latents
    from transect.records import Predictions as Predictions
    from transect.records import Task as Task
    from transect.targets.limits import Limits as Limits

__version__ = "0.1.0"

_HOME = {
    "Attribute": "transect.records",
    "annotate": "transect.jobs.annotate.run",
    "audit": "transect.jobs.audit.run",
    "audit_cost": "transect.jobs.audit.run",
    "AuditRequest": "transect.jobs.audit.request",
    "CheckSettings": "transect.jobs.audit.request",
    "ClassifierOptions": "transect.jobs.train.run",
    "Design": "transect.records",
    "DirectionsOptions": "transect.jobs.directions.run",
    "Effect": "transect.records",
    "fit_directions": "transect.jobs.directions.run",
    "GanOptions": "transect.jobs.train.run",
    "Images": "transect.records",
    "invert": "transect.jobs.invert.run",
    "InvertOptions": "transect.jobs.invert.run",
    "Latents": "transect.records",
    "leakage": "transect.jobs.leakage.run",
    "LeakageOptions": "transect.jobs.leakage.run",
    "Limits": "transect.targets.limits",
    "match": "transect.jobs.match.run",
    "MatchOptions": "transect.jobs.match.options",
    "mitigate": "transect.jobs.mitigate.run",
    "ModelSettings": "transect.jobs.audit.request",
    "neighbours": "transect.jobs.neighbours.run",
    "open_run": "transect.jobs.report.run",
    "plan": "transect.jobs.plan.run",
    "Predictions": "transect.records",
    "RatingSettings": "transect.jobs.audit.request",
    "recognition": "transect.jobs.recognition.run",
    "RecognitionOptions": "transect.jobs.recognition.run",
    "render": "transect.jobs.render.run",
    "report": "transect.jobs.report.run",
    "ReportSettings": "transect.jobs.audit.request",
    "RunSettings": "transect.jobs.audit.request",
    "search": "transect.jobs.search.run",
    "SearchOptions": "transect.jobs.search.request",
    "Task": "transect.records",
    "train_classifier": "transect.jobs.train.run",
    "train_encoder": "transect.jobs.train.run",
    "train_gan": "transect.jobs.train.run",
    "TransectError": "transect.errors",
    "VerificationSettings": "transect.jobs.audit.request",
    "verify": "transect.jobs.verify.run",
    "WorldSettings": "transect.experiment.world_settings",
    "effects": "",
    "generators": "",
    "targets": "",
    "testing": "",
}

__all__ = ["__version__", *_HOME]  # noqa: PLE0604  (strings all)


if not TYPE_CHECKING:  # a type checker knows the names above and no others

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module 'transect' has no attribute {name!r}")
        if not _HOME[name]:
            return importlib.import_module(f"transect.{name}")
        return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """The package: a function may share the name of a folder, and importing `transect.report.page` keeps it."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and _HOME.get(name)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
