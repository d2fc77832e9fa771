"""How a report counts: settings that an audit and a later report share, and that the run folder keeps.

They lie in settings.json of a run or a folder of studies, as the user gave them, and change no image and no answer.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, TypeAlias, final

from transect.errors import BadInput, UnknownName
from transect.options import Option
from transect.records import Attribute
from transect.runs import working_folders
from transect.runs.folder import write_json
from transect.runs.layout import SETTINGS
from transect.runs.table_inputs import as_names
from transect.runs.wording import reason_of


@final
@dataclass(frozen=True, slots=True)
class ReportSettings:
    """How a report counts; an empty setting leaves the stored one, or the default.

    `by` and `bins` take what raters saw too, as "gender" or "perceived_gender".
    """

    PANEL: ClassVar = "Report"
    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid", "strict": True}

    title: Annotated[
        str | None,
        Option(
            'Title of the page, or "" for the default: the models, the images and how many; stored with the run.',
            rare=True,
        ),
    ] = None
    by: Annotated[
        Sequence[str],
        Option(
            "Count errors by an attribute or its ratings; repeat for combinations of up to five; stored with the run.",
        ),
    ] = ()
    bins: Annotated[
        Sequence[str],
        Option(
            "Cut points of an observed or rated attribute, such as age=30,50; repeatable; default: terciles; stored "
            "with the run.",
            rare=True,
        ),
    ] = ()
    boundary: Annotated[
        tuple[float, float] | None,
        Option(
            "With --steps: a subject is near the decision boundary if its own score lies in this band; default 0.3 "
            "0.7.",
            metavar="LOW HIGH",
            rare=True,
        ),
    ] = None
    covariates: Annotated[
        Sequence[str],
        Option(
            "Adjust errors for this rating or observed attribute; repeatable; default: all but fakeness and quality; "
            "stored with the run.",
            names=("--covariate",),
            rare=True,
        ),
    ] = ()
    margin: Annotated[
        float | str | Sequence[str],
        Option(
            "Largest difference that does not matter: 0.02 (for rates; default) or score=0.1 (for one outcome); "
            "repeatable; stored with the run.",
        ),
    ] = ()
    at_thresholds: Annotated[
        Sequence[float],
        Option(
            "Count errors by group at this threshold of the score too; repeatable; default: the one with the fewest "
            "errors; stored with the run.",
            names=("--at-threshold",),
            rare=True,
        ),
    ] = ()


@final
@dataclass(frozen=True, slots=True)
class Counting:
    """What the settings say of finished runs: attributes by name, cut points and margins as numbers."""

    by: tuple[str, ...] = ()
    bins: Bins = dataclasses.field(default_factory=dict)
    boundary: tuple[float, float] | None = None
    covariates: tuple[str, ...] = ()
    margins: Mapping[str, float] = dataclasses.field(default_factory=dict)
    at_thresholds: tuple[float, ...] = ()


UNSET: Final = Counting()
_MOST_BYTES: Final = 1 << 20
"""Of settings.json: more is no file of ours."""


def read(folder: Path) -> ReportSettings:
    """The settings stored in a run folder, the defaults where there are none. Raises BadInput for a damaged file."""
    path = folder / SETTINGS
    if not path.exists():
        return ReportSettings()
    try:
        if path.is_symlink() or not path.is_file():
            raise ValueError("no file of this folder")
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise ValueError(f"over {_MOST_BYTES:,} bytes")
        settings: ReportSettings = _reader().validate_json(content)
        check_boundary(settings.boundary)
        check_thresholds(settings.at_thresholds)
    except (OSError, ValueError, BadInput) as error:
        raise BadInput(
            f"{path}: cannot be read as a report's settings ({reason_of(error)}); delete it, and give them again"
        ) from None
    return settings


@cache
def _reader() -> Any:
    from pydantic import TypeAdapter  # takes time that `transect --help` does without

    return TypeAdapter(ReportSettings)


def write(folder: Path, settings: ReportSettings) -> None:
    """Store the settings in a run folder; without any there is no file."""
    if settings == ReportSettings():
        working_folders.discard(folder / SETTINGS)
    else:
        write_json(folder / SETTINGS, settings)


def over(stored: ReportSettings, given: ReportSettings) -> ReportSettings:
    """The stored settings, with those that are given in their place."""
    stated = {each.name: getattr(given, each.name) for each in dataclasses.fields(given)}
    stated |= {
        "by": as_names(given.by),
        "bins": as_names(given.bins),
        "boundary": check_boundary(given.boundary),
        "covariates": as_names(given.covariates),
        "margin": listed_margins(given.margin),
        "at_thresholds": check_thresholds(given.at_thresholds),
    }
    given_title = {} if given.title is None else {"title": given.title or None}
    return dataclasses.replace(stored, **{name: value for name, value in stated.items() if value} | given_title)


Bins: TypeAlias = Mapping[str, tuple[float, ...]]
"""Cut points by attribute, rising; each is the low end of the range above it."""


def parse_bins(texts: Sequence[str], observed: Mapping[str, Attribute]) -> dict[str, tuple[float, ...]]:
    """Cut points by attribute from texts such as "age=30,50". observed: attributes of images that set no level."""
    bins: dict[str, tuple[float, ...]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        if name in bins:
            raise BadInput(f"--bins {name}: given twice; write, for example, age=30,50")
        if name not in observed:
            raise UnknownName("attribute", name, observed, hint="--bins takes observed attributes, not set levels")
        bins[name] = _checked_points(observed[name], _points_of(text, values))
    return bins


def _points_of(text: str, values: str) -> tuple[float, ...]:
    try:
        return tuple(float(value) for value in values.split(","))
    except ValueError:
        raise BadInput(f"--bins {text!r}: expected NAME=A,B,… with numbers; write for example age=30,50") from None


def _checked_points(attribute: Attribute, points: tuple[float, ...]) -> tuple[float, ...]:
    if attribute.discrete:
        raise BadInput(f"--bins {attribute.name}: expected an attribute with a range, got levels; leave it out")
    low, high = attribute.bounds
    inside = all(math.isfinite(point) and low < point <= high for point in points)
    if not inside or any(after <= before for before, after in itertools.pairwise(points)):
        listed = ",".join(f"{point:g}" for point in points)
        raise BadInput(
            f"--bins {attribute.name}={listed}: expected increasing numbers above {low:g} and up to {high:g}"
        )
    return points


def check_boundary(band: tuple[float, float] | None) -> tuple[float, float] | None:
    """The band as it is. Raises BadInput unless its ends are finite and rise."""
    if band is None or (all(map(math.isfinite, band)) and band[0] < band[1]):
        return band
    raise BadInput(
        f"--boundary {band[0]:g} {band[1]:g}: expected LOW below HIGH, two scores around the threshold; write for "
        "example --boundary 0.3 0.7"
    )


def check_boundary_has_steps(stepped: bool) -> None:
    """Raises BadInput where nothing moves in steps λ, which alone start at a subject's own image."""
    if not stepped:
        raise BadInput("--boundary applies to attributes moved in steps; audit with --steps, or leave it out")


def check_covariates(names: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """The names, once each. Raises UnknownName for a name that no study adjusts for.

    >>> check_covariates(["age", "age"], ["age", "smile"])
    ('age',)
    """
    for name in names:
        if name not in known:
            hint = "--covariate takes ratings, and attributes of observed images"
            raise UnknownName("attribute", name, known, hint=hint)
    return tuple(dict.fromkeys(names))


MOST_CONDITIONS: Final = 5
"""Attributes whose combinations are counted: more leave too few images in each."""


def check_error_conditions(names: Sequence[str], known: Sequence[Collection[str]]) -> tuple[str, ...]:
    """The names, once each. known: attributes of each study whose errors are counted by condition.

    Raises UnknownName for a name that no study has, BadInput for more than five or where no study has all of them.

    >>> check_error_conditions(["age", "age"], [{"age", "smile"}])
    ('age',)
    """
    chosen = tuple(dict.fromkeys(names))
    for name in chosen:
        if not any(name in attributes for attributes in known):
            everything = dict.fromkeys(attribute for attributes in known for attribute in sorted(attributes))
            raise UnknownName(
                "attribute", name, everything, hint="--by takes attributes that images are compared by, and ratings"
            )
    if len(chosen) > MOST_CONDITIONS:
        raise BadInput(
            f"--by: expected at most {MOST_CONDITIONS} attributes, got {len(chosen)}, too many for the images"
        )
    if chosen and not any(set(chosen) <= set(attributes) for attributes in known):
        raise BadInput(f"--by: expected one study that has all of {', '.join(chosen)}, got none; use fewer")
    return chosen


def listed_margins(margin: float | str | Sequence[str]) -> tuple[str, ...]:
    """The texts of a setting that is one number, one text or several texts.

    >>> listed_margins(0.02), listed_margins("miss=0.01"), listed_margins(())
    (('0.02',), ('miss=0.01',), ())
    """
    if isinstance(margin, str):
        return (margin,)
    return (repr(margin),) if isinstance(margin, int | float) else tuple(margin)


def check_thresholds(stated: Sequence[float]) -> tuple[float, ...]:
    """The thresholds, once each. Raises BadInput for one that is not finite."""
    thresholds = tuple(dict.fromkeys(map(float, stated)))
    if not all(map(math.isfinite, thresholds)):
        raise BadInput(f"--at-threshold: expected scores as numbers, got {', '.join(map(str, thresholds))}")
    return thresholds
