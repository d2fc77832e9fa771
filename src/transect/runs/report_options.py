"""How a report counts: settings that an audit and a later report share, and that the run folder keeps.

error_conditions.json   the attributes whose combinations errors are counted by
bins.json               cut points of observed attributes; without, ranges are cut at their terciles
covariates.json         what errors are adjusted for
margins.json            the margins of equivalence by outcome, "" for all rates
title.json              the title of the page
boundary.json           the near-boundary band: the scores between which a subject's own image must lie

They lie in a run or a folder of studies, and change no image and no answer.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Generic, TypeAlias, TypeVar, final

from transect.errors import BadInput, UnknownName
from transect.options import Option
from transect.records import Attribute
from transect.runs import working_folders
from transect.runs.folder import write_atomically, write_json
from transect.runs.json_records import read_json
from transect.texts import one_line

_PANEL: Final = "Report"


@final
@dataclass(frozen=True, slots=True)
class ReportSettings:
    """How a report counts; an empty setting leaves the stored one, or the default.

    `by` and `bins` take what raters saw too, as "gender" or "perceived_gender".
    """

    title: Annotated[
        str,
        Option(
            "Title of the page; default: the models, the images and how many; stored with the run.",
            panel=_PANEL,
            rare=True,
        ),
    ] = ""
    by: Annotated[
        Sequence[str],
        Option(
            "Count errors by this attribute, or as raters saw it; repeat for combinations, of up to five; stored with "
            "the run.",
            panel=_PANEL,
        ),
    ] = ()
    bins: Annotated[
        Sequence[str],
        Option(
            "Cut points of an observed or rated attribute, as age=30,50; repeatable; default: terciles; stored with "
            "the run.",
            panel=_PANEL,
            rare=True,
        ),
    ] = ()
    boundary: Annotated[
        tuple[float, float] | None,
        Option(
            "With --steps: a subject is near the decision boundary if its own score lies in this band; default 0.3 "
            "0.7.",
            metavar="LOW HIGH",
            panel=_PANEL,
            rare=True,
        ),
    ] = None
    covariates: Annotated[
        Sequence[str],
        Option(
            "Adjust errors for this rating or observed attribute; repeatable; default: all but fakeness and quality; "
            "stored with the run.",
            names=("--covariate",),
            panel=_PANEL,
            rare=True,
        ),
    ] = ()
    margin: Annotated[
        float | str | Sequence[str],
        Option(
            "Differences up to this count as none, as 0.02 (of rates; the default) or score=0.1 (of one outcome); "
            "repeatable; stored with the run.",
            panel=_PANEL,
        ),
    ] = ()
    at_thresholds: Annotated[
        Sequence[float],
        Option(
            "Count errors by group at this threshold of the score too; repeatable; default: the one with the fewest "
            "errors; stored with the run.",
            names=("--at-threshold",),
            panel=_PANEL,
            rare=True,
        ),
    ] = ()


T = TypeVar("T")


@final
@dataclass(frozen=True)
class SettingFile(Generic[T]):
    """One setting. name: of its file; holds: what is in it, in words; option: what sets it; none: where it is not set.

    read_as: the setting of the file's JSON; it raises ValueError, TypeError, AttributeError or BadInput for another.
    """

    name: str
    holds: str
    option: str
    none: T
    read_as: Callable[[Any], T]

    def write(self, folder: Path, value: T) -> None:
        """Store the setting in a run folder; none deletes the file."""
        if value:
            write_json(folder / self.name, value, indent=None)
        else:
            working_folders.discard(folder / self.name)

    def read(self, folder: Path) -> T:
        """The setting stored in a run folder. Raises BadInput for a file that holds none."""
        path, advice = folder / self.name, f"delete it, or give {self.option} again"
        if not path.exists():
            return self.none
        stored = read_json(path, self.holds, advice)
        try:
            return self.read_as(stored)
        except (ValueError, TypeError, AttributeError, BadInput):
            raise BadInput(f"{path}: expected {self.holds}, got another value; {advice}") from None


def _texts_of(stored: object) -> tuple[str, ...]:
    """The texts of a list of texts. Raises ValueError for another value."""
    if not isinstance(stored, list) or not all(isinstance(text, str) for text in stored):
        raise ValueError
    return tuple(stored)


Bins: TypeAlias = Mapping[str, tuple[float, ...]]
"""Cut points by attribute, rising; each is the low end of the range above it."""


def parse_bins(texts: Sequence[str], observed: Mapping[str, Attribute]) -> dict[str, tuple[float, ...]]:
    """Cut points by attribute from texts such as "age=30,50". observed: attributes of images that set no level."""
    bins: dict[str, tuple[float, ...]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        if name in bins:
            raise BadInput(f"--bins {name}: expected the attribute once, got it twice; write for example age=30,50")
        if name not in observed:
            raise UnknownName("attribute", name, observed, hint="--bins takes observed attributes; set levels stay")
        bins[name] = _checked_points(observed[name], _points_of(text, values))
    return bins


def _points_of(text: str, values: str) -> tuple[float, ...]:
    try:
        return tuple(float(value) for value in values.split(","))
    except ValueError:
        raise BadInput(f"--bins {text!r}: expected NAME=A,B,… with numbers; write for example age=30,50") from None


def _checked_points(attribute: Attribute, points: tuple[float, ...]) -> tuple[float, ...]:
    if attribute.discrete:
        raise BadInput(f"--bins {attribute.name}: expected an attribute with a range, got one of levels; leave it out")
    low, high = attribute.bounds
    inside = all(math.isfinite(point) and low < point <= high for point in points)
    if not inside or any(after <= before for before, after in itertools.pairwise(points)):
        listed = ",".join(f"{point:g}" for point in points)
        raise BadInput(
            f"--bins {attribute.name}={listed}: expected rising numbers above {low:g} and up to {high:g}; change them"
        )
    return points


BINS: Final = SettingFile[Bins](
    "bins.json", "cut points by attribute", "--bins", {},
    lambda stored: {str(name): tuple(map(float, points)) for name, points in stored.items()},
)  # fmt: skip


def write_bins(folder: Path, bins: Bins) -> None:
    """Store cut points without a line break at the end, as every version wrote the file."""
    write_atomically(folder / BINS.name, json.dumps({name: list(points) for name, points in bins.items()}))


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
        raise BadInput(
            "--boundary: expected attributes moved in steps, which begin at each subject's own image, got none; give "
            "--steps to the audit, or leave --boundary out"
        )


def _boundary_of(stored: Any) -> tuple[float, float] | None:
    low, high = stored
    return check_boundary((float(low), float(high)))


BOUNDARY: Final = SettingFile[tuple[float, float] | None](
    "boundary.json", "[low, high]", "--boundary", None, _boundary_of
)


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


COVARIATES: Final = SettingFile[tuple[str, ...]](
    "covariates.json", "a list of attributes", "--covariate", (), _texts_of
)


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
            f"--by: expected at most {MOST_CONDITIONS} attributes, got {len(chosen)}; their combinations hold too few"
        )
    if chosen and not any(set(chosen) <= set(attributes) for attributes in known):
        raise BadInput(f"--by: expected one study that has all of {', '.join(chosen)}, got none; name fewer")
    return chosen


ERROR_CONDITIONS: Final = SettingFile[tuple[str, ...]](
    "error_conditions.json", "a list of attributes", "--by", (), _texts_of
)


DEFAULT_MARGIN: Final = 0.02
"""The margin of a rate where the user states none: two percentage points."""
_RATES: Final = ""
_SHARE_OUTCOMES: Final = (
    *(_RATES, "answer", "miss", "false_alarm", "non_match"),
    *("refusal", "hedge", "unreadable", "likelihood"),
)
_SHARE_BEGINNINGS: Final = ("option:", "code:", "likelihood:", "list:")
"""What is a share whatever the target answers; beginnings of names of such outcomes."""
_MARGIN_EXAMPLE: Final = "write for example --margin 0.02, or --margin miss=0.01"


def parse_margins(texts: Sequence[str], outcomes: Collection[str]) -> dict[str, float]:
    """Margins by outcome from texts such as "0.02" (of all rates) and "score=0.1" (of one outcome, in its unit)."""
    margins: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        if name in margins:
            raise BadInput(f"--margin {text}: expected one margin for {name or 'all rates'}, got two; leave one out")
        if name and name not in outcomes:
            raise UnknownName("outcome", name, sorted(outcomes), hint="--margin takes outcomes that are counted")
        margins[name] = _margin_of_text(text, value)
        if (name in _SHARE_OUTCOMES or name.startswith(_SHARE_BEGINNINGS)) and margins[name] >= 1:
            raise BadInput(f"--margin {text}: expected a share below 1, got {margins[name]:g}; two points are 0.02")
    return margins


def _margin_of_text(text: str, value: str) -> float:
    try:
        margin = float(value)
    except ValueError:
        raise BadInput(f"--margin {text!r}: expected a number or OUTCOME=NUMBER; {_MARGIN_EXAMPLE}") from None
    if not (math.isfinite(margin) and margin > 0):
        raise BadInput(f"--margin {text}: expected a difference above 0, got {margin:g}; {_MARGIN_EXAMPLE}")
    return margin


def listed_margins(margin: float | str | Sequence[str]) -> tuple[str, ...]:
    """The texts of a setting that is one number, one text or several texts.

    >>> listed_margins(0.02), listed_margins("miss=0.01"), listed_margins(())
    (('0.02',), ('miss=0.01',), ())
    """
    if isinstance(margin, str):
        return (margin,)
    return (repr(margin),) if isinstance(margin, int | float) else tuple(margin)


def margin_of(margins: Mapping[str, float], outcome: str, unit: str) -> float:
    """The margin of an outcome: its own, else that of all rates; NaN for an outcome in another unit without its own."""
    if outcome in margins:
        return margins[outcome]
    return margins.get(_RATES, DEFAULT_MARGIN) if unit == "proportion" else math.nan


MARGINS: Final = SettingFile[Mapping[str, float]](
    "margins.json", "margins by outcome", "--margin", {},
    lambda stored: {str(name): _margin_of_text(str(value), str(value)) for name, value in dict(stored).items()},
)  # fmt: skip


def check_thresholds(stated: Sequence[float]) -> tuple[float, ...]:
    """The thresholds, once each. Raises BadInput for one that is not finite."""
    thresholds = tuple(dict.fromkeys(map(float, stated)))
    if not all(map(math.isfinite, thresholds)):
        raise BadInput(f"--at-threshold: expected scores as numbers, got {', '.join(map(str, thresholds))}; change it")
    return thresholds


THRESHOLDS: Final = SettingFile[tuple[float, ...]](
    "thresholds.json", "a list of thresholds", "--at-threshold", (), check_thresholds
)


def title_of(stored: str) -> str:
    """The title in one line. Raises BadInput for another value than a text."""
    if not isinstance(stored, str):
        raise BadInput(f"--title: expected a text, got {stored!r}; write for example --title 'Smile classifier v2'")
    return one_line(stored)


TITLE: Final = SettingFile[str]("title.json", "a title", "--title", "", title_of)

FILES: Final = tuple(
    setting.name for setting in (TITLE, ERROR_CONDITIONS, BINS, COVARIATES, MARGINS, BOUNDARY, THRESHOLDS)
)
"""The files of all settings."""
