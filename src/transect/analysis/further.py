"""From outcomes of experiments to what stands beside the effects: interactions, variance, projections, controls, plans.

Entries as `results.json` has them. Interactions and negative controls are families of tests of their own, since they
answer other questions than the effects do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from transect.analysis.findings import Findings, TransectOutcome
from transect.analysis.pilots import PilotContrast, pilot_contrasts, smallest_found
from transect.effects.analysis import adjust
from transect.effects.interactions import factorial_effects
from transect.effects.planning import SOURCES as PLANNING
from transect.effects.planning import plan_from_pilot
from transect.effects.projection import Projected, project
from transect.effects.shares import PopulationShares
from transect.effects.sobol_indices import SOURCES as VARIANCE
from transect.effects.sobol_indices import Shares, SobolIndices, sobol
from transect.errors import BadInput
from transect.records import Effect

POWER: Final = 0.9
WANTED: Final = 0.05
"""The difference of rates that a plan's hint is about: five points."""
LARGEST_SPLIT: Final = 400_000_000
"""Subjects x cells x sets of attributes beyond which the report leaves out the shares of variance, and says so."""
NEGATIVE_CONTROL: Final = (
    "Lipsitch, Tchetgen Tchetgen and Cohen 2010, Negative controls: a tool for detecting confounding and bias in "
    "observational studies, doi:10.1097/EDE.0b013e3181d61eeb",
)
TOO_LARGE: Final = "the design is too large for the report's shares of variance; use transect.effects.sobol"


@final
@dataclass(frozen=True, slots=True)
class Further:
    """Entries of results.json by key, and the works that describe how they were made."""

    entries: Mapping[str, list[dict[str, Any]]]
    sources: tuple[str, ...]


def analyse_further(
    found: Sequence[Findings],
    controls: Sequence[Findings | None],
    shares: Sequence[PopulationShares],
    effects: Sequence[Effect],
    alpha: float,
    method: str = "holm",
) -> Further:
    """Everything beside the effects of some studies. controls: the negative control of each study, or None.

    shares: populations to project to; every experiment that varies their attributes is. effects: the studies' own, with
    adjusted p. Raises BadInput where no study varies the attributes of a population.
    """
    pairs = [(one, _interactions(one)) for one in found]
    matters = [(one, _controlled(control)) for one, control in zip(found, controls, strict=True)]
    crossed = _entries(pairs, "holm")
    controlled = _entries(matters, "holm")
    variance = [entry for one in found for entry in _variance(one)]
    projections = [entry for population in shares for entry in _projections(found, population)]
    plans = [entry for one in found for entry in _plans(one, sum(effect.p == effect.p for effect in effects), alpha)]
    studies = [one.entry["name"] for one in found for _ in one.effects]
    families = [
        _family("effects", method, alpha, [_row(study, e) for study, e in zip(studies, effects, strict=True)]),
        _family("interactions", "holm", alpha, crossed),
        _family("negative controls", "holm", alpha, controlled),
    ]
    cited = (*(PLANNING[:1] if plans else ()), *(NEGATIVE_CONTROL if controlled else ()))
    sources = [source for entry in (*crossed, *controlled, *projections, *variance) for source in entry["sources"]]
    return Further(
        {
            "interactions": crossed,
            "variance_shares": variance,
            "projections": projections,
            "negative_controls": controlled,
            "plans": plans,
            "families": [family for family in families if family["size"]],
        },
        tuple(dict.fromkeys([*sources, *cited])),
    )


def matter(controls: Sequence[Mapping[str, Any]], alpha: float) -> list[int]:
    """Which negative controls show an effect after adjustment, by index."""
    return [i for i, row in enumerate(controls) if row["p_adjusted"] is not None and row["p_adjusted"] <= alpha]


def _interactions(one: Findings) -> list[Effect]:
    return [
        effect
        for answered in one.answered
        for effect in factorial_effects(
            answered.values,
            answered.reasons,
            one.design,
            one.attributes,
            answered.measure,
            orders=(2, 3),
            seed=one.design.seed,
        )
    ]


def _controlled(control: Findings | None) -> list[Effect]:
    """The control's effects on the targets and outcomes of the study that it goes with."""
    if control is None:
        return []
    return [
        effect
        for answered in control.answered
        for effect in factorial_effects(
            answered.values,
            answered.reasons,
            control.design,
            control.attributes,
            answered.measure,
            orders=(1,),
            seed=control.design.seed,
        )
    ]


def _entries(pairs: Sequence[tuple[Findings, Sequence[Effect]]], method: str) -> list[dict[str, Any]]:
    adjusted = adjust([effect for _, effects in pairs for effect in effects], method)
    studies = [one.entry["name"] for one, effects in pairs for _ in effects]
    return [_compared(study, effect) for study, effect in zip(studies, adjusted, strict=True)]


def _compared(study: str, effect: Effect) -> dict[str, Any]:
    spec = dict(effect.spec)
    return {
        "study": study,
        "target": effect.target,
        "outcome": effect.outcome,
        "name": effect.name,
        "attributes": list(spec.pop("attributes")),
        "from": list(spec.pop("from")),
        "to": list(spec.pop("to")),
        "order": spec.pop("order"),
        **{key: _finite(getattr(effect, key)) for key in ("estimate", "low", "high", "p", "p_adjusted")},
        "unit": effect.unit,
        "n_subjects": effect.n_subjects,
        "n_images": effect.n_images,
        "excluded": dict(effect.excluded),
        "reason": effect.reason,
        "interval_method": effect.interval_method,
        "test_method": effect.test_method,
        "sources": list(effect.sources),
        "spec": spec,
    }


def _variance(one: Findings) -> list[dict[str, Any]]:
    """Shares of variance of every outcome of an experiment with at least two attributes."""
    if len(one.design.levels) < 2:
        return []
    return [_variance_entry(one, answered) for answered in one.answered]


def _variance_entry(one: Findings, answered: TransectOutcome) -> dict[str, Any]:
    names = list(one.design.levels)
    head = {"study": one.entry["name"], "target": answered.target, "outcome": answered.outcome}
    if answered.values.size * 2 ** len(names) > LARGEST_SPLIT or len(names) > 12:
        counts = {"n_subjects": one.design.subjects, "n_images": one.design.n_images, "n_missing": 0}
        return {**head, "variance": None, "indices": [], **counts, "method": "", "reason": TOO_LARGE, "sources": []}
    made = sobol(answered.values, attributes=names, seed=one.design.seed)
    return {
        **head,
        "variance": _finite(made.variance),
        "indices": [_index(made, place) for place in range(len(names))],
        "n_subjects": made.n_subjects,
        "n_images": made.n_images,
        "n_missing": made.n_missing,
        "method": made.method,
        "reason": made.reason,
        "sources": list(VARIANCE),
    }


def _index(made: SobolIndices, place: int) -> dict[str, Any]:
    entry: dict[str, Any] = {"attribute": made.attributes[place]}
    rows: dict[str, Shares] = {"first": made.first, "total": made.total, "shapley": made.shapley}
    for name, shares in rows.items():
        entry[name] = _finite(shares.estimate[place])
        entry[f"{name}_low"], entry[f"{name}_high"] = _finite(shares.low[place]), _finite(shares.high[place])
    return entry


def _projections(found: Sequence[Findings], population: PopulationShares) -> list[dict[str, Any]]:
    experiments = [one for one in found if one.answered and not one.in_steps]
    fitting = [one for one in experiments if set(population.attributes) <= set(one.design.levels)]
    if not fitting:
        varied = ", ".join(dict.fromkeys(name for one in experiments for name in one.design.levels)) or "nothing"
        raise BadInput(
            f"shares {population.name}: expected attributes that one study varies together ({varied}), got "
            f"{', '.join(population.attributes)}; leave the others out of the file"
        )
    return [_projection(one, answered, population) for one in fitting for answered in one.answered]


def _projection(one: Findings, answered: TransectOutcome, population: PopulationShares) -> dict[str, Any]:
    made = project(
        answered.values,
        one.design.levels,
        population,
        one.attributes,
        is_binary=answered.is_binary,
        seed=one.design.seed,
    )
    return {
        "study": one.entry["name"],
        "target": answered.target,
        "outcome": answered.outcome,
        "unit": answered.unit,
        "population": population.name,
        "source": population.source,
        "independent": population.independent,
        "equal": list(made.equal),
        "rows": [_projected(row) for row in made.rows],
        "sources": list(made.sources),
    }


def _projected(row: Projected) -> dict[str, Any]:
    return {
        "quantity": row.quantity,
        "attribute": row.attribute,
        "from": _finite(row.origin),
        "to": _finite(row.to),
        **{key: _finite(getattr(row, key)) for key in ("estimate", "low", "high")},
        **{key: getattr(row, key) for key in ("n_subjects", "n_images", "method", "reason")},
    }


def _plans(one: Findings, family: int, alpha: float) -> list[dict[str, Any]]:
    return [_plan(one, contrast, max(family, 1), alpha) for contrast in pilot_contrasts(one)]


def _plan(one: Findings, contrast: PilotContrast, family: int, alpha: float) -> dict[str, Any]:
    proportion = contrast.unit == "proportion"
    wanted = None
    if proportion:
        wanted = plan_from_pilot(
            WANTED,
            contrast.deviation,
            images_per_subject=contrast.images_per_subject,
            unpaired_deviation=contrast.unpaired_deviation,
            power=POWER,
            alpha=alpha,
            family=family,
            discordant=contrast.discordant,
        ).subjects
    found = smallest_found(contrast, family=family, power=POWER, alpha=alpha)
    return {
        "study": one.entry["name"],
        "target": contrast.target,
        "outcome": contrast.outcome,
        "name": contrast.name,
        "unit": contrast.unit,
        "n_subjects": contrast.n_subjects,
        "power": POWER,
        "found": _finite(found) if found != float("inf") else None,
        "wanted": WANTED if proportion else None,
        "subjects_wanted": wanted,
    }


def _row(study: str, effect: Effect) -> dict[str, Any]:
    keys = {"study": study, "name": effect.name, "outcome": effect.outcome, "target": effect.target}
    return {**keys, "p": _finite(effect.p), "p_adjusted": _finite(effect.p_adjusted)}


def _family(name: str, method: str, alpha: float, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How many tests and which; those without a p are none."""
    tested = [row for row in rows if row["p"] is not None]
    return {
        "name": name,
        "method": method,
        "alpha": alpha,
        "size": len(tested),
        "significant": len(matter(tested, alpha)),
        "members": [f"{row['study']}: {row['name']}, {row['outcome']} of {row['target']}" for row in tested],
    }


def _finite(value: float) -> float | None:
    return float(value) if value == value else None
