"""The order of a mitigation's stages: pictures, models, attacks, transects; what is finished is never made twice.

A folder holds pictures/, audit/, units/<mitigation>-<seed>-<hash>/ (weights and answers of one model), results.json and
mitigation.html. The hash is of all that a model hangs on, so that a mitigation can be added to a file and only it is
trained. Answers are written last: what a kill cut short is made again, from the same seed, to the same bytes.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final
from zipfile import BadZipFile

import numpy as np
from filelock import FileLock, Timeout
from jaxtyping import Float

from transect.errors import FolderInUse
from transect.mitigation import methods
from transect.mitigation.masks import SHOWN, as_png, sheet
from transect.mitigation.measuring import labels_leak, measured
from transect.mitigation.settings import Config
from transect.mitigation.summary import summary
from transect.mitigation.testbed import PROTECTED, QUESTIONS, Bench, open_bench
from transect.mitigation.transects import Protocol, effects, open_protocol
from transect.runs.folder import canonical_json, disk_errors, spec_hash, write_atomically
from transect.runs.model_files import check_readable, sha256

Say = Callable[[str], None]
RESULTS, ANSWERS, FIGURES, WEIGHTS = "results.json", "answers.npz", "figures.json", "weights.safetensors"
MASKS = "masks.png"
"""Beside the answers of an adversary at the image: test pictures, and what its mask leaves of them."""


@final
@dataclass(frozen=True)
class Unit:
    """One mitigation at one seed."""

    method: Any
    seed: int
    folder: Path


def mitigate(config: Config, out: Path, say: Say, device: str = "cpu") -> dict[str, Any]:
    """Train, attack and audit whatever the folder lacks; the content of `results.json`.

    Raises FolderInUse where another run works there, BadInput for what cannot be used.
    """
    with disk_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        lock = FileLock(out / "run.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise FolderInUse(f"{out} is in use by a live run: wait for it, stop it, or choose another --out") from None
    try:
        return _Run(config, out, say, device).all()
    finally:
        lock.release()


@final
class _Run:
    def __init__(self, config: Config, out: Path, say: Say, device: str) -> None:
        self.config, self.out, self.say, self.device = config, out, say, device
        data = config.data
        self.bench: Bench = open_bench(
            data.source,
            data.size,
            data.population,
            (data.train, data.check, data.test),
            data.labels or QUESTIONS,
            data.protected or PROTECTED,
            out / "pictures",
        )
        self.protocol: Protocol | None = None
        if data.source == "faceworld" and config.audit.subjects:
            self.protocol = open_protocol(config.audit, data.size, out / "audit")
        self.named = {one.name: one for one in config.mitigations}
        setup = methods.Setup(self.bench, config.network, config.training, config.seeds[0], device)
        methods.check(config.mitigations, setup)
        self._fitted: dict[tuple[str, int], methods.Fitted] = {}

    def all(self) -> dict[str, Any]:
        """Every unit, mitigation by mitigation; the results are written anew after each mitigation."""
        leak = labels_leak(self.bench, self.config.attackers)
        found: dict[str, list[dict[str, Any]]] = {}
        made: dict[str, Any] = {}
        for method in self.config.mitigations:
            found[method.name] = [self._figures(Unit(method, seed, self._folder(method, seed))) for seed in self._seeds]
            made = summary(self.config, self.bench, leak, found, None if self.protocol is None else self.protocol.spec)
            text = json.dumps(made, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
            write_atomically(self.out / RESULTS, text.encode())
        return made

    @property
    def _seeds(self) -> tuple[int, ...]:
        return self.config.seeds

    def _spec(self, method: Any, seed: int) -> dict[str, Any]:
        """All that a model hangs on."""
        settings = method.model_dump(exclude={"name", "start"}, exclude_none=True)
        start = self._spec(self.named[method.start], seed) if method.start else None
        own = self.config.network
        network = own.model_dump(exclude={"weights"}, exclude_none=True)
        if own.weights is not None:
            network["weights_sha256"] = sha256(check_readable(own.weights))
        bench = {"data": self.config.data.model_dump(), "network": network}
        audit = None if self.protocol is None else self.protocol.spec
        training = self.config.training.model_dump(exclude_none=True)
        return {**bench, "training": training, "method": settings, "start": start, "seed": seed, "audit": audit}

    def _folder(self, method: Any, seed: int) -> Path:
        slug = re.sub(r"[^a-z0-9.]+", "-", method.name.lower()).strip("-")
        return self.out / "units" / f"{slug}-{seed}-{spec_hash(self._spec(method, seed))[:12]}"

    def _figures(self, unit: Unit) -> dict[str, Any]:
        """What is measured of a unit's answers; kept beside them with what it was measured by."""
        by = {"attackers": list(self.config.attackers), "rounds": self.config.rounds, "protected": self.bench.protected}
        kept = _read_json(unit.folder / FIGURES)
        if kept is not None and kept.get("by") == by:
            return dict(kept["figures"])
        answers = self._answers(unit)
        self.say(f"{unit.method.name}, seed {unit.seed}: attack")
        figures = measured(self.bench, answers["test"], self.config.attackers, self.config.rounds, unit.seed)
        if self.protocol is not None:
            figures["effects"] = effects(self.protocol, answers["audit"], self.bench.data.names, unit.method.name)
        figures = {"seed": unit.seed, **figures, "notes": json.loads(str(answers["notes"]))}
        text = canonical_json({"by": by, "figures": figures})
        write_atomically(unit.folder / FIGURES, text.encode())
        return dict(json.loads(text)["figures"])  # in the order in which a resumed run reads them

    def _answers(self, unit: Unit) -> dict[str, Any]:
        kept = _read_answers(unit.folder / ANSWERS)
        if kept is not None:
            return kept
        self.say(f"{unit.method.name}, seed {unit.seed}: fit")
        fitted = self._fit(unit)
        bench = self.bench
        made: dict[str, Any] = {"test": fitted.answer(bench.data.pictures, bench.regions, bench.test)}
        if self.protocol is not None:
            made["audit"] = fitted.answer(self.protocol, self.protocol.regions, self.protocol.rows)
        if (mask := getattr(fitted.network, "mask", None)) is not None:
            shown = sheet(mask, bench.data, bench.test[:SHOWN], self.device)
            write_atomically(unit.folder / MASKS, as_png(shown))
        made["notes"] = np.array(canonical_json(dict(fitted.notes)))
        content = io.BytesIO()
        np.savez(content, **made)
        write_atomically(unit.folder / ANSWERS, content.getvalue())
        return made

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
            kept = _read_weights(unit.folder / WEIGHTS) if trains else None
            fitted = methods.fit(method, setup, start, self._tell(unit), kept)
            if trains and kept is None:
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


def _read_weights(file: Path) -> dict[str, Any] | None:
    """The weights of a finished training; None where there are none, or they are damaged."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return dict(load(file.read_bytes()))
    except (OSError, SafetensorError):
        return None


def _read_answers(file: Path) -> dict[str, Float[np.ndarray, ...]] | None:
    try:
        with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except (OSError, ValueError, EOFError, BadZipFile):
        return None


def _read_json(file: Path) -> dict[str, Any] | None:
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None
