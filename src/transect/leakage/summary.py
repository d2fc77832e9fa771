"""Everything that the report of a leakage analysis shows, as one JSON value; every number of the page stands in it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

import numpy as np
from jaxtyping import Float

from transect import __version__
from transect.leakage.analysis import Analysis
from transect.leakage.overview import Overview
from transect.leakage.results import as_json, number

WORKS: Final = {
    "leakage": "Wang, Zhao, Yatskar, Chang and Ordonez 2019, Balanced datasets are not enough: estimating and "
    "mitigating gender bias in deep image representations, arXiv:1811.08489",
    "intervals": "Zou and Donner 2008, Construction of confidence limits about effect measures, doi:10.1002/sim.3095",
    "folds": "Nadeau and Bengio 2003, Inference for the generalization error, doi:10.1023/A:1024068626366",
    "bias_amp": "Zhao et al. 2017, Men also like shopping, arXiv:1707.09457",
    "directional": "Wang and Russakovsky 2021, Directional bias amplification, arXiv:2102.12594",
    "multi_attribute": "Zhao, Andrews and Xiang 2023, Men also do laundry: multi-attribute bias amplification, "
    "arXiv:2210.11924",
}
MOST_LABELS: Final = 400
MOST_CONTRIBUTIONS: Final = 12


def summary(analysis: Analysis, found: Overview, source: str) -> dict[str, Any]:
    """The contract's keys, then `overview`, `contributions`, `counted`, `works` and where the labels came from."""
    return {
        **as_json(analysis),
        "title": f"Leakage of {analysis.data.attribute} from {source}",
        "source": source,
        "transect_version": __version__,
        "confidence": 95,
        "overview": overview_json(found),
        "contributions": [] if analysis.contributions is None else _largest(analysis, analysis.contributions),
        "counted_contributions": {name: _largest(analysis, found) for name, found in analysis.counted_by.items()},
        "works": _works(analysis),
    }


def overview_json(found: Overview) -> dict[str, Any]:
    """Labels from the most to the least leaning, the first 400 of them, and what balancing keeps."""
    spread = np.nan_to_num(found.share.max(axis=1) - found.share.min(axis=1), nan=-1.0)
    order = np.lexsort((np.arange(len(spread)), -spread))[:MOST_LABELS]
    return {
        "labels": [_label(found, int(row)) for row in order],
        "labels_in_all": len(found.names),
        "worst_ratio": number(found.worst),
        "costs": [asdict(cost) for cost in found.costs],
    }


def _label(found: Overview, row: int) -> dict[str, Any]:
    return {
        "name": found.names[row],
        "counts": [int(count) for count in found.counts[row]],
        "share": [number(100 * value) for value in found.share[row]],
    }


def _largest(analysis: Analysis, contributions: Float[np.ndarray, "k c"]) -> list[dict[str, Any]]:
    """The labels and classes that add or take away most."""
    flat, c = contributions.ravel(), contributions.shape[1]
    order = np.lexsort((np.arange(len(flat)), -np.abs(flat)))[:MOST_CONTRIBUTIONS]
    names, classes = analysis.data.labels.names, analysis.data.classes
    return [
        {"label": names[i // c], "class": classes[i % c], "points": float(flat[i])}
        for i in order.tolist()
        if flat[i] != 0
    ]


def _works(analysis: Analysis) -> list[str]:
    used = ["leakage", "intervals"]
    used += [] if analysis.data.split is not None else ["folds"]
    return [WORKS[name] for name in [*used, *analysis.counted]]
