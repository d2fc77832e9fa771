"""How much is rendered, trained and measured when the world's validity is checked, and from which seeds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from transect.errors import BadInput, UnknownName

if TYPE_CHECKING:
    from transect.jobs.verify.outside_readers import Outside

PARTS = ("photometry", "by_attribute", "sharpness", "targets", "attributes", "identity", "groups", "readers")
"""The parts of the check, in the order in which they are made."""

FULL = 5000
"""Subjects of the photometry at the full size; all other numbers stand in proportion to it."""

FIRST_SEEDS = {
    "photometry": 1_000_000,
    "targets": 2_000_000,
    "landmarks": 6_000_000,
    "training": 10_000_000,
    "held_out": 20_000_000,
    "identities": 40_000_000,
    "other_people": 45_000_000,
    "controls": 50_000_000,
    "held_out_controls": 55_000_000,
    "readers": 60_000_000,
    "by_attribute": 65_000_000,
    "sharpness": 70_000_000,
}
"""Each sample's seeds begin here, apart from each other, from a study's and from those that the world was fitted on."""

_DEVICES = ("cpu", "cuda")


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """One check of the world.

    subjects: of the photometry (5,000 is the full check); the other samples are in proportion. image_size: pixels.
    parts: which of PARTS. epochs: passes over the training images. device: cpu or cuda[:n], for training alone; the
    pictures are always rendered on the CPU. resamples: of the bootstrap. landmark_model, recognition_model: files of
    dlib's 68-point predictor and recognition network, measured in addition where they are given. outside: models from
    outside that read attributes; without them, the part readers is empty.

    Raises BadInput for numbers below their least and files that are not there, UnknownName for a part.
    """

    subjects: int = FULL
    image_size: int = 128
    parts: tuple[str, ...] = PARTS
    epochs: int = 14
    device: str = "cpu"
    resamples: int = 1000
    landmark_model: Path | None = None
    recognition_model: Path | None = None
    outside: Outside | None = None

    def __post_init__(self) -> None:
        for name in ("subjects", "epochs", "resamples"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name}: expected at least 1, got {getattr(self, name)}; give more")
        for part in self.parts:
            if part not in PARTS:
                raise UnknownName("part of the check", part, PARTS, "separate several by commas")
        if not self.parts:
            raise BadInput(f"expected at least one part of the check, got none; choose from {', '.join(PARTS)}")
        given = bool(self.outside and self.outside.readers)
        if self.parts == ("readers",) and not given:
            raise BadInput("expected a model that reads an attribute, got none; give --reader ATTRIBUTE=TARGET")
        if given and "readers" not in self.parts:
            raise BadInput("--reader: expected readers among the parts of the check; add it to --only")
        for name in ("landmark_model", "recognition_model"):
            file = getattr(self, name)
            if file is not None and not file.is_file():
                raise BadInput(f"{name} {file}: expected a file of dlib's, found none; check the path")
        _check_device(self.device)

    def in_proportion(self, full: int, least: int = 4) -> int:
        """A number that is `full` at 5,000 subjects.

        >>> Settings(subjects=500).in_proportion(1000)
        100
        """
        return max(least, round(full * self.subjects / FULL))

    def of(self, *names: str) -> dict[str, object]:
        """Some of the settings by name."""
        return {name: getattr(self, name) for name in names}


def _check_device(device: str) -> None:
    kind, _, number = device.partition(":")
    if kind not in _DEVICES or (number and not (kind == "cuda" and number.isdecimal())):
        raise BadInput(f"device: expected cpu, cuda or cuda:N, got {device!r}; change it")
    if kind == "cuda":
        import torch

        if int(number or 0) >= torch.cuda.device_count():
            devices = torch.cuda.device_count()
            raise BadInput(f"device: expected a CUDA device for {device!r}, found {devices}; use cpu")
