"""The content of `results.json`: every figure of every mitigation, over seeds, and what they say side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from scipy.stats import spearmanr

from transect import __version__
from transect.mitigation.measuring import number, over_seeds
from transect.mitigation.settings import Config
from transect.mitigation.testbed import Bench

WORKS: Final = {
    "plain": "Wang et al. 2019, Balanced datasets are not enough, arXiv:1811.08489",
    "reweighed": "Kamiran and Calders 2012, Data preprocessing techniques, doi:10.1007/s10115-011-0463-8",
    "group_dro": "Sagawa et al. 2020, Distributionally robust neural networks for group shifts, arXiv:1911.08731",
    "thresholds": "Hardt et al. 2016, Equality of opportunity in supervised learning, arXiv:1610.02413",
    "erasure": "Belrose et al. 2023, LEACE: Perfect linear concept erasure in closed form, arXiv:2306.03819",
    "crf": "Zhao et al. 2017, Men also like shopping, arXiv:1707.09457",
    "rba": "Zhao et al. 2017, Men also like shopping, arXiv:1707.09457",
}
LEAKAGES: Final = (
    "model_leakage",
    "dataset_leakage",
    "amplification",
    "published_dataset_leakage",
    "published_amplification",
)
HALF: Final = 0.5
POINTS: Final = 3.0
"""What a mitigation may cost in F1, and by what share it shall lower Δ, to be called a good trade."""

CAVEAT: Final = (
    "Leakage is a lower bound: a stronger attacker may find more. The attacker shown is, for each mitigation, the one "
    "that finds most over the seeds, on the same items, so that its figure errs upwards. Intervals over seeds say how "
    "far another training would land on these pictures, not other pictures."
)


def summary(
    config: Config,
    bench: Bench,
    leak: Mapping[str, Any],
    found: Mapping[str, Sequence[Mapping[str, Any]]],
    protocol: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The results of the mitigations that are finished, in the order of the file; the first is the plain model."""
    methods = {one.name: one for one in config.mitigations}
    rows = [_row(methods[name], seeds) for name, seeds in found.items()]
    return {
        "title": "Mitigation",
        "transect_version": __version__,
        "config": config.model_dump(mode="json"),
        "finished": len(rows) == len(methods),
        "confidence": 95,
        "protected": bench.protected,
        "classes": list(bench.classes),
        "pictures": {"train": len(bench.train), "check": len(bench.check), "test": len(bench.test)},
        "left_out": dict(bench.left_out),
        "labels": _labels(bench),
        "dataset_leakage": dict(leak),
        "mitigations": [{**row, **_beside(row, rows)} for row in rows],
        "protocol": None if protocol is None else dict(protocol),
        "leakage_and_effect": _together(rows),
        "caveat": CAVEAT,
        "works": sorted({WORKS[one.kind] for one in config.mitigations if one.kind in WORKS}),
    }


def _row(method: Any, seeds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    attackers = {
        name: {what: over_seeds([seed["attackers"][name][what]["estimate"] for seed in seeds]) for what in LEAKAGES}
        for name in seeds[0]["attackers"]
    }
    strongest = max(attackers, key=lambda name: attackers[name]["model_leakage"]["estimate"] or 0.0)
    has_effects = all("effects" in seed for seed in seeds)
    return {
        "name": method.name,
        "kind": method.kind,
        "start": method.start,
        "settings": method.model_dump(mode="json", exclude={"name", "kind", "start"}),
        "mean_average_precision": over_seeds([seed["mean_average_precision"] for seed in seeds]),
        "f1": over_seeds([seed["f1"] for seed in seeds]),
        "label_f1": [over_seeds(list(values)) for values in zip(*(seed["label_f1"] for seed in seeds), strict=True)],
        "attacker": strongest,
        **attackers[strongest],
        "attackers": attackers,
        "effect": over_seeds([seed["effects"]["mean_size"] for seed in seeds]) if has_effects else None,
        "changed": over_seeds([seed["effects"]["changed"] for seed in seeds]) if has_effects else None,
        "seeds": [dict(seed) for seed in seeds],
    }


def _beside(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Against the plain model: F1 lost, the share of Δ that is gone; and against noise of the same F1."""
    plain = rows[0]
    lost = _minus(plain["f1"]["estimate"], row["f1"]["estimate"])
    delta, before = row["amplification"]["estimate"], plain["amplification"]["estimate"]
    lowered = number(1 - delta / before) if delta is not None and before is not None and before > 0 else None
    curve = noise_curve(rows, row["f1"]["estimate"])
    good = lost is not None and lowered is not None and lost <= POINTS and lowered >= HALF
    return {
        "f1_lost": lost,
        "amplification_lowered": lowered,
        "noise_amplification": curve,
        "beats_noise": None if curve is None or delta is None or row["kind"] == "noise" else bool(delta < curve),
        "good_trade": bool(good),
    }


def noise_curve(rows: Sequence[Mapping[str, Any]], f1: float | None) -> float | None:
    """Δ that noise leaves at this F1, by interpolation between the plain model and its noisy copies; None outside.

    >>> at = lambda kind, f1, delta: {"kind": kind, "f1": {"estimate": f1}, "amplification": {"estimate": delta}}
    >>> noise_curve([at("plain", 80.0, 20.0), at("noise", 60.0, 10.0)], 70.0)
    15.0
    """
    points = sorted(
        (row["f1"]["estimate"], row["amplification"]["estimate"]) for row in rows if row["kind"] in ("plain", "noise")
    )
    if f1 is None or len(points) < 2 or not points[0][0] <= f1 <= points[-1][0]:
        return None
    return number(float(np.interp(f1, [x for x, _ in points], [y for _, y in points])))


def _together(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Does less leakage mean less effect? Spearman's correlation of Δ with both measures, over the mitigations."""
    known = [row for row in rows if row["effect"] is not None and row["effect"]["estimate"] is not None]
    if len(known) < 3:
        return None
    deltas = [row["amplification"]["estimate"] for row in known]
    made: dict[str, Any] = {"n": len(known)}
    for name in ("effect", "changed"):
        values = [row[name]["estimate"] for row in known]
        varied = len(set(values)) > 1 and len(set(deltas)) > 1
        made[name] = number(float(spearmanr(deltas, values).statistic)) if varied else None
    return made


def _labels(bench: Bench) -> list[dict[str, Any]]:
    """How often each label is yes in each protected class, in percent, over all rows."""
    data = bench.data
    shares = [100 * data.labels[data.protected == one].mean(axis=0) for one in range(data.classes)]
    return [
        {"name": name, "share": [number(float(share[place])) for share in shares]}
        for place, name in enumerate(data.names)
    ]


def _minus(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else number(one - other)
