"""Requirements of a model: the records, and the TOML file that states them."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, final

from pydantic import TypeAdapter, ValidationError

from transect.analysis.margins import DEFAULT_MARGIN
from transect.effects.outcomes import WORSE_WHEN_LARGER
from transect.effects.verdicts import Status
from transect.errors import BadInput, UnknownName
from transect.experiment.audit_file import REQUIREMENTS as TABLE
from transect.runs import toml_files
from transect.runs.wording import expectation, in_words


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A requirement on a run: one table [[require]] of a file.

    Of an audit, one of: margin with attribute (no difference between levels larger than it), no_worse_than (a finished
    run on the same images: neither the difference, nor without an attribute the rate, exceeds its by more than the
    margin), max_rate (of every group of `by`). Of a recognition benchmark: max_fnmr_ratio (of every group's rate over
    the geometric mean of all). Of a leakage analysis: leakage_delta_max (amplification in percentage points).
    outcome, target, study: of an audit; by default the only ones. name: in outputs; by default its own words.
    """

    name: str = ""
    attribute: str = ""
    outcome: str = ""
    target: str = ""
    study: str = ""
    margin: float | None = None
    no_worse_than: Path | None = None
    max_rate: float | None = None
    by: Sequence[str] = ()
    max_fnmr_ratio: float | None = None
    leakage_delta_max: float | None = None

    @property
    def kind(self) -> str:
        """What it limits: "ratio", "leakage", "rate", "baseline" or "difference"."""
        limits = {
            "ratio": self.max_fnmr_ratio,
            "leakage": self.leakage_delta_max,
            "rate": self.max_rate,
            "baseline": self.no_worse_than,
        }
        return next((kind for kind, limit in limits.items() if limit is not None), "difference")


@final
@dataclass(frozen=True, slots=True)
class Checked:
    """One requirement and what a run says about it.

    name: of the requirement. target: the model. estimate: of the quantity that comes closest to the limit or goes
    beyond it; upper: it is below this with 95 % confidence, NaN where that is not known. n_subjects: behind it; images
    or items where no column says who repeats. subjects_needed: with which it would be shown to be met if the estimates
    stay; None where it is met or violated, or more subjects would not show it. text: the same in a sentence.
    """

    name: str
    target: str
    status: Status
    estimate: float
    upper: float
    limit: float
    n_subjects: int
    subjects_needed: int | None
    text: str


MOST_ATTRIBUTES: Final = 3
_LIMITS: Final = ("margin", "no_worse_than", "max_rate", "max_fnmr_ratio", "leakage_delta_max")
_EXAMPLE: Final = 'for example [[require]] attribute = "skin_tone" outcome = "miss" margin = 0.02'


def read(path: str | Path) -> tuple[Requirement, ...]:
    """The requirements in a TOML file; tables of a study's settings beside them are left alone."""
    place = Path(path)
    tables = toml_files.parse(toml_files.read_text(place), str(path)).get(TABLE)
    if not isinstance(tables, list) or not tables:
        raise BadInput(f"{path}: no table [[{TABLE}]]; add one, {_EXAMPLE}")
    return tuple(_requirement(table, f"{path}: {TABLE} {n}", place.parent) for n, table in enumerate(tables, start=1))


def checked(requirement: Requirement, place: str) -> Requirement:
    """The requirement with its defaults. place: what messages call it. Raises BadInput where it cannot be judged."""
    stated = [name for name in _LIMITS if getattr(requirement, name) is not None]
    if not stated:
        raise BadInput(f"{place}: no limit ({', '.join(_LIMITS)}); add one, {_EXAMPLE}")
    if len(stated) > 1 and set(stated) != {"margin", "no_worse_than"}:
        raise BadInput(f"{place}: expected one limit, got {' and '.join(stated)}; write a table for each")
    for name in stated:
        if name != "no_worse_than" and not (math.isfinite(value := getattr(requirement, name)) and value > 0):
            raise BadInput(f"{place}: {name}: expected a number above 0, got {value:g}")
    _check_fields(requirement, place)
    return requirement


def _check_fields(requirement: Requirement, place: str) -> None:
    if requirement.kind in ("ratio", "leakage"):
        unused = [each for each in ("attribute", "outcome", "target", "study", "by") if getattr(requirement, each)]
        if unused:
            raise BadInput(f"{place}: {unused[0]}: applies only to audits; the whole folder is checked, drop it")
    if requirement.max_rate is not None and requirement.max_rate >= 1:
        raise BadInput(f"{place}: max_rate: expected a share below 1, got {requirement.max_rate:g}; 5 % is 0.05")
    if requirement.kind == "difference" and not requirement.attribute:
        raise BadInput(f"{place}: margin: needs an attribute; add one, {_EXAMPLE}")
    if requirement.kind == "rate" and not 0 < len(requirement.by) <= MOST_ATTRIBUTES:
        raise BadInput(f"{place}: max_rate: expected by = one to three attributes, got {len(requirement.by)}")
    if requirement.kind == "rate" and requirement.attribute:
        raise BadInput(f'{place}: max_rate: expected the groups in by, got attribute; write by = ["…"]')
    if requirement.kind == "baseline" and not requirement.attribute and requirement.outcome not in WORSE_WHEN_LARGER:
        raise BadInput(
            f"{place}: no_worse_than: expected an attribute, or an outcome for which more is worse "
            f"({', '.join(WORSE_WHEN_LARGER)}), got {requirement.outcome or 'neither'}"
        )


def _requirement(table: object, place: str, folder: Path) -> Requirement:
    if not isinstance(table, Mapping):
        raise BadInput(f"{place}: expected a table [[{TABLE}]], got {in_words(table)}")
    known = [field.name for field in dataclasses.fields(Requirement)]
    for key in table:
        if key not in known:
            raise UnknownName(f"key in {place}:", str(key), known)
    values = dict(table)
    if isinstance(values.get("by"), str):
        values["by"] = [values["by"]]
    try:
        made = TypeAdapter(Requirement).validate_json(json.dumps(values, default=str), strict=True)
    except ValidationError as failure:
        first = failure.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"{place}: {key}: {expectation(first)}, got {in_words(first['input'])}") from None
    if made.no_worse_than is not None:
        made = replace(made, no_worse_than=folder / made.no_worse_than)
    return checked(made, place)


def check_attributes(requirements: Sequence[Requirement], known: Sequence[str]) -> None:
    """Raises UnknownName for a requirement of an attribute that is not among the known ones."""
    for name, requirement in named(requirements):
        for attribute in (*requirement.by, *([requirement.attribute] if requirement.attribute else [])):
            if attribute not in known:
                raise UnknownName(f"attribute in {name!r}:", attribute, known)


def named(requirements: Sequence[Requirement]) -> list[tuple[str, Requirement]]:
    """Each requirement with its defaults, after what outputs call it. Raises BadInput as `checked`."""
    sound = [checked(each, each.name or f"requirement {number}") for number, each in enumerate(requirements, start=1)]
    return list(zip(names(sound), sound, strict=True))


def names(requirements: Sequence[Requirement]) -> list[str]:
    """What outputs call each requirement: its name, or its own words."""
    return [requirement.name or _words(requirement) for requirement in requirements]


def _words(requirement: Requirement) -> str:
    outcome = f" in {requirement.outcome}" if requirement.outcome else ""
    of = f" of {requirement.outcome}" if requirement.outcome else ""
    match requirement.kind:
        case "difference":
            return f"{requirement.attribute}: no difference{outcome} above {requirement.margin:g}"
        case "baseline":
            what = f"{requirement.attribute}: difference{outcome}" if requirement.attribute else f"rate{of}"
            baseline = "" if requirement.no_worse_than is None else requirement.no_worse_than.name
            margin = DEFAULT_MARGIN if requirement.margin is None else requirement.margin
            return f"{what} no worse than in {baseline} by more than {margin:g}"
        case "rate":
            return f"rate{of} at most {requirement.max_rate:g} by {' × '.join(requirement.by)}"
        case "ratio":
            return f"FNMR ratio at most {requirement.max_fnmr_ratio:g}"
        case _:
            return f"leakage amplification at most {requirement.leakage_delta_max:g} points"
