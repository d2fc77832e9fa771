"""The run of a mitigation: pictures, models, attacks, transects; finished parts are reused.

A folder holds pictures/, audit/, units/<mitigation>-<seed>-<hash>/ (weights and answers of one model), mitigate.json
and mitigate.html. The hash covers everything that a model depends on, so adding a mitigation to the file trains only
that one. Answers are written last: an interrupted part is computed again, from the same seed, to the same bytes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np
from jaxtyping import Float
from pydantic import TypeAdapter, ValidationError

from transect.errors import BadInput
from transect.mitigation import methods
from transect.mitigation.data import SHOWN, sheet
from transect.mitigation.measuring import Protocol, effects, labels_leak, measured, open_protocol, summary
from transect.mitigation.numbers import MitigateNumbers, SeedFigures
from transect.mitigation.settings import Config, Mitigation
from transect.mitigation.testbed import PROTECTED, QUESTIONS, Bench, open_bench
from transect.runs import array_files
from transect.runs.folder import canonical_json, spec_hash, write_atomically, write_json
from transect.runs.json_records import loads, plain
from transect.runs.locks import lock_folder
from transect.runs.model_files import check_readable, sha256
from transect.runs.parts import Progress, announced, stage
from transect.runs.pictures import png
from transect.targets.hf.loading import digests_of

if TYPE_CHECKING:
    from torch import Tensor

Say = Callable[[str], None]
RESULTS, ANSWERS, FIGURES, WEIGHTS = "mitigate.json", "answers.npz", "figures.json", "weights.safetensors"
MASKS = "masks.png"
"""With the answers of an adversary at the image: test pictures, and what its mask leaves of them."""
_FIGURES = TypeAdapter(SeedFigures)


@final
@dataclass(frozen=True)
class Unit:
    """One mitigation at one seed."""

    method: Mitigation
    seed: int
    folder: Path


def run(config: Config, out: Path, say: Say, device: str = "cpu") -> MitigateNumbers:
    """Train, attack and audit whatever the folder lacks. say: receives a line of progress at a time."""
    lock = lock_folder(out)
    try:
        return _Run(config, out, say, device).all()
    finally:
        lock.release()


@final
class _Run:
    def __init__(self, config: Config, out: Path, say: Say, device: str) -> None:
        self.config, self.out, self.say, self.device = config, out, say, device
        data = config.data
        stage("pictures, labels and transects")
        self.bench: Bench = open_bench(
            data.source,
            data.size,
            data.population,
            (data.train, data.check, data.test),
            data.labels or QUESTIONS,
            data.protected or PROTECTED,
            out / "pictures",
            official=data.split == "official",
        )
        self.protocol: Protocol | None = None
        if data.source == "faceworld" and config.audit.subjects:
            self.protocol = open_protocol(config.audit, data.size, out / "audit")
        self.named = {method.name: method for method in config.mitigations}
        setup = methods.Setup(self.bench, config.network, config.training, config.seeds[0], device)
        methods.check(config.mitigations, setup)
        self._fitted: dict[tuple[str, int], methods.Fitted] = {}

    def all(self) -> MitigateNumbers:
        """Every unit, mitigation by mitigation; mitigate.json is rewritten after each mitigation."""
        stage("attacks on the labels")
        leak = labels_leak(self.bench, self.config.attackers)
        protocol = None if self.protocol is None else self.protocol.spec
        figures: dict[str, list[SeedFigures]] = {}
        total = len(self.config.mitigations) * len(self.config.seeds)
        with Progress("mitigations and seeds", total, quiet=not announced()) as progress:
            for method in self.config.mitigations:
                units = [Unit(method, seed, self._folder(method, seed)) for seed in self.config.seeds]
                figures[method.name] = [self._counted(unit, progress) for unit in units]
                numbers = summary(self.config, self.bench, leak, figures, protocol)
                write_json(self.out / RESULTS, numbers, indent=1)
        return numbers

    def _counted(self, unit: Unit, progress: Progress) -> SeedFigures:
        """The figures of a unit; one that was there already takes no time."""
        there = (unit.folder / FIGURES).exists()
        figures = self._figures(unit)
        (progress.skip if there else progress.advance)(1)
        return figures

    def _spec(self, method: Mitigation, seed: int) -> dict[str, object]:
        """Everything that a model depends on."""
        settings = method.model_dump(exclude={"name", "start"}, exclude_none=True)
        start = self._spec(self.named[method.start], seed) if method.start else None
        weights = self.config.network.weights
        network = self.config.network.model_dump(exclude={"weights"}, exclude_none=True)
        if weights is not None:
            network["weights_sha256"] = sha256(check_readable(weights))
        library, _, folder = (self.config.network.backbone or "").partition(":")
        if library == "transformers" and Path(folder).is_dir():
            network["backbone_files"] = digests_of(Path(folder))
        bench = {"data": self.config.data.model_dump(), "network": network}
        audit = None if self.protocol is None else self.protocol.spec
        training = self.config.training.model_dump(exclude_none=True)
        return {**bench, "training": training, "method": settings, "start": start, "seed": seed, "audit": audit}

    def _folder(self, method: Mitigation, seed: int) -> Path:
        slug = re.sub(r"[^a-z0-9.]+", "-", method.name.lower()).strip("-")
        return self.out / "units" / f"{slug}-{seed}-{spec_hash(self._spec(method, seed))[:12]}"

    def _figures(self, unit: Unit) -> SeedFigures:
        """The figures of a unit's answers, stored with the settings of the measurement."""
        by = {"attackers": list(self.config.attackers), "rounds": self.config.rounds, "protected": self.bench.protected}
        stored = _read_figures(unit.folder / FIGURES, by)
        if stored is not None:
            return stored
        answers = self._answers(unit)
        self.say(f"{unit.method.name}, seed {unit.seed}: attack")
        figures = measured(self.bench, answers["test"], self.config.attackers, self.config.rounds, unit.seed)
        audit = None
        if self.protocol is not None:
            audit = effects(self.protocol, answers["audit"], self.bench.data.names, unit.method.name)
        figures = replace(figures, effects=audit, notes=loads(str(answers["notes"])))
        text = canonical_json(plain({"by": by, "figures": figures}))
        write_atomically(unit.folder / FIGURES, text)
        return _FIGURES.validate_python(loads(text)["figures"])  # in the order in which a resumed run reads them

    def _answers(self, unit: Unit) -> dict[str, np.ndarray]:
        stored = _read_answers(unit.folder / ANSWERS)
        if stored is not None:
            return stored
        self.say(f"{unit.method.name}, seed {unit.seed}: fit")
        fitted = self._fit(unit)
        bench = self.bench
        answers: dict[str, np.ndarray] = {"test": fitted.answer(bench.data.pictures, bench.regions, bench.test)}
        if self.protocol is not None:
            answers["audit"] = fitted.answer(self.protocol, self.protocol.regions, self.protocol.rows)
        if (mask := getattr(fitted.network, "mask", None)) is not None:
            shown = sheet(mask, bench.data, bench.test[:SHOWN], self.device)
            write_atomically(unit.folder / MASKS, png(shown))
        answers["notes"] = np.array(canonical_json(dict(fitted.notes)))
        content = io.BytesIO()
        np.savez(content, **answers)  # type: ignore[arg-type]
        write_atomically(unit.folder / ANSWERS, content.getvalue())
        return answers

    def _fit(self, unit: Unit) -> methods.Fitted:
        key = (unit.method.name, unit.seed)
        if key not in self._fitted:
            method = unit.method
            start = None
            if method.start:
                other = self.named[method.start]
                start = self._fit(Unit(other, unit.seed, self._folder(other, unit.seed)))
            setup = methods.Setup(self.bench, self.config.network, self.config.training, unit.seed, self.device)
            trains = method.kind in methods.TRAINED
            weights = _read_weights(unit.folder / WEIGHTS) if trains else None
            fitted = methods.fit(method, setup, start, self._tell(unit), weights)
            if trains and weights is None:
                _write_weights(unit.folder / WEIGHTS, fitted)
            self._fitted[key] = fitted
        return self._fitted[key]

    def _tell(self, unit: Unit) -> Callable[[str, int, dict[str, float]], None]:
        def tell(phase: str, epoch: int, figures: dict[str, float]) -> None:
            shown = ", ".join(f"{name} {value:.3f}" for name, value in figures.items())
            self.say(f"{unit.method.name}, seed {unit.seed}: {phase} {epoch + 1}: {shown}")

        return tell


def _write_weights(file: Path, fitted: methods.Fitted) -> None:
    from safetensors.torch import save

    tensors = {name: value.detach().cpu().contiguous() for name, value in fitted.network.state_dict().items()}
    write_atomically(file, save(tensors))


def _read_weights(file: Path) -> dict[str, Tensor] | None:
    """The weights of a finished training; None where there are none, or they are damaged."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return dict(load(file.read_bytes()))
    except (OSError, SafetensorError):
        return None


def _read_answers(file: Path) -> dict[str, Float[np.ndarray, ...]] | None:
    try:
        return array_files.arrays_in(file)
    except (OSError, BadInput):
        return None


def _read_figures(file: Path, by: Mapping[str, object]) -> SeedFigures | None:
    """Figures that were measured by these settings; None where there are none, or they are damaged."""
    try:
        content = dict(loads(file.read_text(encoding="utf-8")))
        return _FIGURES.validate_python(content["figures"]) if content.get("by") == by else None
    except (OSError, ValueError, KeyError, ValidationError):
        return None
