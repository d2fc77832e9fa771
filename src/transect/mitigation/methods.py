"""Every mitigation in one form: what is fitted on a bench, and how it then answers on any pictures.

Those that train have weights, which can be stored and loaded; the others are computed again from the weights that they
start from. An answer depends on the picture and its row alone.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, final

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transect.attacks import labelled
from transect.attacks.balance import balanced_subset
from transect.errors import BadInput
from transect.mitigation import closed_forms, settings
from transect.mitigation.adversarial import (
    IMAGE,
    Adversary,
    Loss,
    Read,
    Settings,
    Tell,
    fit_predictor,
    pairs_of,
    reweighed_loss,
    scores_of,
    star,
    star_loss,
    worst_group_loss,
)
from transect.mitigation.data import Pixels, Regions, TaskData, balanced_batches, images_of
from transect.mitigation.networks import Mask, Tap, changed, module_named, new_backbone, new_network
from transect.mitigation.testbed import Bench, faceless, hidden_by
from transect.training.pictures import chance

TRAINED: Final = ("plain", "hide", "balanced", "reweighed", "group_dro", "adversarial", "crf")
"""The kinds that have weights."""

_AT_ONCE: Final = 256
_NOISE_STREAM: Final = 7

Answer = Callable[[Pixels, Regions | None, Int[np.ndarray, " m"]], Float[np.ndarray, "m k"]]


@final
@dataclass(frozen=True)
class Setup:
    """What every mitigation of one seed shares."""

    bench: Bench
    network: settings.Network
    training: settings.Training
    seed: int
    device: str = "cpu"


@final
@dataclass(frozen=True)
class Fitted:
    """answer: a score for each label of the rows of any pictures, yes from 0 on. notes: facts about the training."""

    network: nn.Module
    answer: Answer
    rows: Int[np.ndarray, " a"]
    notes: Mapping[str, int | float] = field(default_factory=dict)


class _Masked(nn.Module):
    """A model behind a mask."""

    def __init__(self, mask: nn.Module, model: nn.Module) -> None:
        super().__init__()
        self.mask, self.model = mask, model

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.model(images * self.mask(images))
        return logits


def fit(
    method: settings.Mitigation,
    setup: Setup,
    start: Fitted | None,
    tell: Tell,
    weights: Mapping[str, Tensor] | None = None,
) -> Fitted:
    """Fit a mitigation, from `start` where it starts from one. weights: of a finished training, instead of training."""
    if method.kind == "adversarial":
        return _adversarial(method, setup, _required(start), tell, weights)
    if method.kind == "noise":
        return _noise(method, setup, _required(start))
    if method.kind == "erasure":
        return _erasure(method, setup, _required(start))
    if method.kind == "thresholds":
        return _thresholds(method, setup, _required(start))
    if method.kind == "rba":
        return _rba(method, setup, _required(start))
    return _trained(method, setup, tell, weights)


def check(mitigations: Sequence[settings.Mitigation], setup: Setup) -> None:
    """Check before any training that named modules exist and batches can be balanced. Raises BadInput that names it."""
    chosen = setup.network
    bare = (
        setup
        if chosen.backbone is None
        else replace(setup, network=settings.Network(backbone=chosen.backbone, pretrained=False))
    )
    network = _new(settings.Plain(name="plain", kind="plain"), bare) if mitigations else nn.Identity()
    for method in mitigations:
        try:
            if (module := getattr(method, "module", IMAGE)) != IMAGE:
                module_named(network, module)
            if method.kind == "adversarial":
                next(balanced_batches(setup.bench.train, setup.bench.data.protected, setup.training.batch, 0, 0))
                _settings(setup, method)
            if method.kind == "hide":
                hidden_by(method, setup.bench.data.pictures, setup.bench.regions)
        except BadInput as error:
            raise BadInput(f"{method.name}: {str(error).removeprefix(method.name + ': ')}") from None


def training_rows(method: settings.Mitigation, bench: Bench, seed: int) -> Int[np.ndarray, " a"]:
    """The training rows of a model: all, or for `balanced` the largest balanced subset of them."""
    if method.kind != "balanced":
        return bench.train
    data, rows = bench.data, bench.train
    items = labelled(data.labels[rows], data.protected[rows], ids=rows)
    subset = balanced_subset(items, method.alpha, seed=seed, balance_sizes=method.balance_sizes).rows
    if len(np.unique(data.protected[rows[subset]])) < data.classes or not len(subset):
        raise BadInput(
            f"{method.name}: expected a balanced subset with every class, got {len(subset)} rows; raise alpha"
        )
    return np.asarray(rows[subset])


def _trained(method: settings.Mitigation, setup: Setup, tell: Tell, weights: Mapping[str, Tensor] | None) -> Fitted:
    bench = setup.bench
    if method.kind == "hide":
        bench = bench.on(hidden_by(method, bench.data.pictures, bench.regions))
    rows = training_rows(method, bench, setup.seed)
    network = _new(method, setup)
    loss, read = _loss(method, bench.data, rows, network), _reader(network)
    if weights is None:
        fit_predictor(network, bench.data, rows, bench.check, _settings(setup), tell, loss, read)
    else:
        network.load_state_dict(dict(weights))

    def answer(pictures: Pixels, regions: Regions | None, chosen: Int[np.ndarray, " m"]) -> Float[np.ndarray, "m k"]:
        seen = pictures if method.kind != "hide" else bench.data.pictures
        if method.kind == "hide" and pictures is not setup.bench.data.pictures:
            seen = hidden_by(method, pictures, regions)
        return np.asarray(read(scores_of(network, seen, chosen, setup.device)))

    return Fitted(network, answer, rows, {"training pictures": len(rows), **faceless(bench)})


def _adversarial(
    method: settings.Adversarial, setup: Setup, start: Fitted, tell: Tell, weights: Mapping[str, Tensor] | None
) -> Fitted:
    data = setup.bench.data
    network = copy.deepcopy(start.network).to(setup.device)
    mask = None
    if method.module == IMAGE:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(setup.seed)
            mask = Mask() if method.mask_widths is None else Mask(method.mask_widths)
    whole: nn.Module = network if mask is None else _Masked(mask, network)
    pairs = pairs_of(network)
    loss = None if pairs is None else star_loss(data, pairs)
    if weights is None:
        adversary = Adversary(network, data, _settings(setup, method), mask, loss)
        adversary.fit_critic(start.rows, tell)
        adversary.fit_both(start.rows, tell)
    else:
        whole.load_state_dict(dict(weights))
    read = _reader(network)

    def answer(pictures: Pixels, _: Regions | None, chosen: Int[np.ndarray, " m"]) -> Float[np.ndarray, "m k"]:
        return np.asarray(read(scores_of(whole, pictures, chosen, setup.device)))

    return Fitted(whole, answer, start.rows, {"training pictures": len(start.rows)})


def _noise(method: settings.Noise, setup: Setup, start: Fitted) -> Fitted:
    spread = float(
        _output(start.network, method.module, setup.bench.data.pictures, setup.bench.check).std(axis=0).mean()
    )
    size = method.levels[0] * spread

    def answer(pictures: Pixels, _: Regions | None, chosen: Int[np.ndarray, " m"]) -> Float[np.ndarray, "m k"]:
        def noisy(output: Tensor, rows: Int[np.ndarray, " b"]) -> Tensor:
            count = output[0].numel()
            drawn = [chance(setup.seed, int(row), _NOISE_STREAM).normal(size=count) for row in rows]
            noise: Tensor = torch.from_numpy(np.stack(drawn)).to(output).reshape(output.shape)
            noisy_output: Tensor = output + size * noise
            return noisy_output

        return _with_change(start.network, method.module, noisy, pictures, chosen, setup.device)

    return Fitted(start.network, answer, start.rows, {"standard deviation": size})


def _erasure(method: settings.Erasure, setup: Setup, start: Fitted) -> Fitted:
    data, rows = setup.bench.data, start.rows
    eraser = closed_forms.fit_eraser(_output(start.network, method.module, data.pictures, rows), data.protected[rows])

    def answer(pictures: Pixels, _: Regions | None, chosen: Int[np.ndarray, " m"]) -> Float[np.ndarray, "m k"]:
        def erased(output: Tensor, _rows: Int[np.ndarray, " b"]) -> Tensor:
            flat = output.flatten(1).double().cpu().numpy()
            return torch.from_numpy(eraser(flat)).to(output).reshape(output.shape)

        return _with_change(start.network, method.module, erased, pictures, chosen, setup.device)

    return Fitted(start.network, answer, rows, {"directions erased": eraser.rank})


def _thresholds(method: settings.Thresholds, setup: Setup, start: Fitted) -> Fitted:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    data, check = setup.bench.data, setup.bench.check
    infer = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000, class_weight="balanced"))
    infer.fit(_output(start.network, method.module, data.pictures, start.rows), data.protected[start.rows])
    inferred = infer.predict(_output(start.network, method.module, data.pictures, check))
    scores = scores_of(start.network, data.pictures, check, setup.device)
    table = np.zeros((len(data.names), data.classes))
    left = 0
    for label in range(len(data.names)):
        try:
            thresholds = closed_forms.fit_thresholds(scores[:, label], data.labels[check, label], inferred, method.goal)
        except BadInput:  # a group without items that count: the common threshold stays
            left += 1
            continue
        for group, value in thresholds.items():
            table[label, group] = value

    def answer(pictures: Pixels, _: Regions | None, chosen: Int[np.ndarray, " m"]) -> Float[np.ndarray, "m k"]:
        groups = infer.predict(_output(start.network, method.module, pictures, chosen))
        return np.asarray(scores_of(start.network, pictures, chosen, setup.device) - table.T[groups])

    right = float(100 * (inferred == data.protected[check]).mean())
    return Fitted(
        start.network, answer, start.rows, {"group inferred rightly, %": right, "labels left as they were": left}
    )


def _rba(method: settings.Rba, setup: Setup, start: Fitted) -> Fitted:
    data, rows = setup.bench.data, start.rows
    shares = closed_forms.class_shares(data.labels[rows], data.protected[rows], data.classes)
    check = setup.bench.check
    energies = _energies(start.network, scores_of(start.network, data.pictures, check, setup.device))
    solution = closed_forms.constrained(energies, shares, method.margin)
    shift = solution.energies.pairs - energies.pairs

    def answer(pictures: Pixels, _: Regions | None, chosen: Int[np.ndarray, " m"]) -> Float[np.ndarray, "m k"]:
        plain = _energies(start.network, scores_of(start.network, pictures, chosen, setup.device))
        shifted = closed_forms.Energies(plain.labels, plain.classes, plain.pairs + shift)
        odds, most_likely = closed_forms.marginal_logits(shifted), closed_forms.best(shifted)[0]
        return np.asarray(np.where(most_likely, np.maximum(odds, 0.0), np.minimum(odds, -np.finfo(np.float64).tiny)))

    notes = {"farthest share outside its margin": solution.worst, "steps": solution.steps}
    return Fitted(start.network, answer, rows, notes)


def _required(start: Fitted | None) -> Fitted:
    if start is None:
        raise BadInput("start: no fitted model to start from; fit it first")
    return start


def _new(method: settings.Mitigation, setup: Setup) -> nn.Module:
    data, chosen = setup.bench.data, setup.network
    k = data.labels.shape[1]
    outputs = k + (data.classes if method.kind == "crf" else 0)
    network: nn.Module
    if chosen.backbone is None:
        network = new_network(outputs, chosen.widths, setup.seed)
    else:
        network = new_backbone(chosen.backbone, outputs, setup.seed, chosen.pretrained is not False, chosen.weights)
    return (star(network, k, data.classes) if method.kind == "crf" else network).to(setup.device)


def _loss(method: settings.Mitigation, data: TaskData, rows: Int[np.ndarray, " a"], network: nn.Module) -> Loss | None:
    if method.kind == "reweighed":
        return reweighed_loss(data, rows)
    if method.kind == "group_dro":
        return worst_group_loss(data, method.rate)
    pairs = pairs_of(network)
    return None if pairs is None else star_loss(data, pairs)


def _reader(network: nn.Module) -> Read:
    """The logits; for a star the log odds of the marginals."""
    return (
        np.asarray
        if pairs_of(network) is None
        else lambda logits: closed_forms.marginal_logits(_energies(network, logits))
    )


def _energies(network: nn.Module, outputs: Float[np.ndarray, "m o"]) -> closed_forms.Energies:
    parameters = pairs_of(network)
    if parameters is None:
        raise BadInput(f"expected a joint network of labels and class, got {type(network).__name__}; start from crf")
    pairs = parameters.detach().double().cpu().numpy()
    return closed_forms.Energies(outputs[:, : len(pairs)], outputs[:, len(pairs) :], pairs)


def _settings(setup: Setup, method: settings.Adversarial | None = None) -> Settings:
    shared = partial(Settings, seed=setup.seed, device=setup.device, batch=setup.training.batch)
    if method is None:
        training, head = setup.training, setup.training.head or ""
        return shared("embedding", rate=training.rate, epochs=training.epochs, patience=training.patience, head=head)
    return shared(
        method.module,
        critic=method.critic,
        critic_width=method.critic_width,
        weight=method.weight,
        reconstruction=method.reconstruction,
        reverse=method.reverse,
        joint_rate=method.rate,
        critic_rate=method.critic_rate,
        critic_epochs=method.critic_epochs,
        joint_epochs=method.epochs,
    )


def _with_change(
    network: nn.Module,
    module: str,
    change: Callable[[Tensor, Int[np.ndarray, " b"]], Tensor],
    pictures: Pixels,
    rows: Int[np.ndarray, " m"],
    device: str,
) -> Float[np.ndarray, "m k"]:
    parts = []
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]

        def now(output: Tensor, asked: Int[np.ndarray, " b"] = some) -> Tensor:
            return change(output, asked)

        with changed(network, module, now):
            parts.append(scores_of(network, pictures, some, device))
    return np.concatenate(parts)


def _output(network: nn.Module, module: str, pictures: Pixels, rows: Int[np.ndarray, " m"]) -> Float[np.ndarray, "m d"]:
    """A module's output for those rows, flattened."""
    device = str(next(network.parameters()).device)
    network.eval()
    parts = []
    with torch.no_grad(), Tap(network, module) as tap:
        for start in range(0, len(rows), _AT_ONCE):
            network(images_of(pictures, rows[start : start + _AT_ONCE], device))
            parts.append(tap.output.flatten(1).double().cpu().numpy())
    return np.concatenate(parts)
