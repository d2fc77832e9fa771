"""Which images pass raters' validation, and which are left out by rules on what raters saw?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.effects.equal_quality import MARGIN, SCALE, QualityDifference, quality_differences
from transect.effects.intervals import share_by_subject
from transect.effects.samples import Columns, read_columns
from transect.errors import BadInput, UnknownName
from transect.options import Option
from transect.runs.wording import counted

SOURCE: Final = "McDuff et al. 2019, Characterizing bias in classifiers using generative models, arXiv:1906.11891"
_ROUNDING: Final = 1e-9


@final
@dataclass(frozen=True, slots=True)
class Group:
    """Images of one level of one attribute: those judged, those seen as a different condition, and quality.

    unidentifiable: of the rated ones, those of which most raters say that no face is identifiable; between: rated ones
    whose intended condition is unknown, of which only quality is judged. independent: images that those judged, and
    those rated, are at least worth, since images of a subject resemble each other: subjects, where each has as many.
    failures: gates that this level does not meet, as "gate: what was found"; those of all images are in
    `Validation.failures`.
    """

    attribute: str
    level: float
    judged: int
    differing: int
    share: float
    low: float
    high: float
    quality: float
    spread: float
    rated: int
    unidentifiable: int = 0
    between: int = 0
    independent: float = 0.0
    failures: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Gates:
    """What a generator must reach, and each level of an attribute alone, to which the gate of equal quality does not
    apply.

    differing: most images seen as a different condition (share); quality: least mean; unidentifiable: most images, as a
    share of those rated, of which most raters say that no face is identifiable; quality_margin: largest difference of
    mean quality between two levels, within which the 90 % interval of every pair has to lie; a margin as wide as the
    scale asks nothing. images: least number of independent images that were judged, and that were rated, where images
    of a subject count once, since none of a few seen as different says little: of 20 it leaves shares up to 16 % open
    (Wilson, 95 %), of 50 up to 7 %.
    """

    differing: Annotated[
        float, Option("Gate: maximum share of images seen as a different condition.", names=("--max-differing",))
    ] = 0.05
    quality: Annotated[float, Option("Gate: minimum mean quality.", names=("--min-quality",))] = 2.5
    unidentifiable: Annotated[
        float,
        Option(
            "Gate: maximum share of images in which most raters say that no face is identifiable.",
            names=("--max-unidentifiable",),
        ),
    ] = 0.0
    quality_margin: Annotated[
        float,
        Option("Gate: maximum difference in mean quality between two levels (90 % interval), in the question's units."),
    ] = MARGIN
    images: Annotated[
        int,
        Option("Gate: minimum rated images, overall and per level; one per subject.", names=("--min-images",)),
    ] = 20

    def __post_init__(self) -> None:
        for name in ("differing", "unidentifiable"):
            if not 0 <= getattr(self, name) <= 1:
                raise BadInput(f"gate {name}: expected a share from 0 to 1, got {getattr(self, name)}")
        if self.images < 1:
            raise BadInput(f"gate images: expected at least 1, got {self.images}")
        if not np.isfinite(self.quality):
            raise BadInput(f"gate quality: expected a finite number, got {self.quality}")
        if not 0 < self.quality_margin < np.inf:
            raise BadInput(f"gate quality_margin: expected a finite number above 0, got {self.quality_margin}")


@final
@dataclass(frozen=True, slots=True)
class Validation:
    """groups: all images first. equal: every pair of levels. failures: gate -> what was found, of the gates that
    are not met; nothing: all are met.

    undecided: images on which raters were evenly split; unrated: images without an answer, of a sample also those that
    nobody rated; between: images whose intended condition is unknown, as halfway between two answers. gates:
    what was required.
    """

    groups: tuple[Group, ...]
    equal: tuple[QualityDifference, ...]
    unidentifiable: int
    undecided: int
    unrated: int
    failures: Mapping[str, str] = field(default_factory=dict)
    gates: Gates = field(default_factory=Gates)
    between: int = 0

    @property
    def passed(self) -> bool:
        """Whether every gate is met."""
        return not self.failures


def validate(
    intended: Float[np.ndarray, " n"],
    seen: Float[np.ndarray, " n"],
    quality: Float[np.ndarray, " n"],
    groups: Mapping[str, Float[np.ndarray, " n"]],
    subjects: Int[np.ndarray, " n"],
    *,
    answered: np.ndarray | None = None,
    worst: np.ndarray | None = None,
    gates: Gates | None = None,
    scale: tuple[float, float] = SCALE,
) -> Validation:
    """Compare the intended condition with what most raters saw, image by image."""
    judged = np.isfinite(seen) & np.isfinite(intended)
    if not judged.any():
        raise BadInput("validation: no images whose condition raters agree on; have them rated")
    has_answers = np.isfinite(seen) if answered is None else answered
    columns = {"": np.zeros(len(seen)), **groups}
    required, bad = gates or Gates(), np.zeros(len(seen), dtype=np.bool_) if worst is None else worst
    rows_without_gates = [
        _group(
            name,
            level,
            column == level,
            (judged, ~np.isfinite(intended) & np.isfinite(quality), bad),
            seen != intended,
            quality,
            subjects,
        )
        for name, column in columns.items()
        for level in np.unique(column[np.isfinite(column)]).tolist()
    ]
    rows = tuple(
        replace(row, failures=tuple(f"{gate}: {text}" for gate, text in _failures(row, required).items()))
        for row in rows_without_gates
    )
    margin = required.quality_margin
    equal = quality_differences(quality, groups, subjects, margin=margin, scale=scale)
    undecided, unrated = int((has_answers & ~np.isfinite(seen)).sum()), int((~has_answers).sum())
    failures = {**_failures(rows[0], required), **_unequal(equal, margin)}
    return Validation(rows, equal, rows[0].unidentifiable, undecided, unrated, failures, required, rows[0].between)


def _group(
    name: str,
    level: float,
    mine: np.ndarray,
    kinds: tuple[np.ndarray, np.ndarray, np.ndarray],
    differs: np.ndarray,
    quality: Float[np.ndarray, " n"],
    subjects: Int[np.ndarray, " n"],
) -> Group:
    judged, between, worst = kinds
    rows, good = mine & judged, quality[mine & np.isfinite(quality)]
    n, wrong = int(rows.sum()), int((rows & differs).sum())
    share = share_by_subject(differs[rows].astype(np.float64), subjects[rows])
    mean = float(good.mean()) if len(good) else np.nan
    spread = float(good.std(ddof=1)) if len(good) > 1 else np.nan
    bad, unknown = int((mine & worst).sum()), int((mine & between).sum())
    worth = min(_independent(subjects[mine & part]) for part in (judged | between, np.isfinite(quality)))
    ends = share.estimate, share.low, share.high
    return Group(name, level, n, wrong, *ends, mean, spread, len(good), bad, unknown, worth)


def _independent(subjects: Int[np.ndarray, " n"]) -> float:
    """Independent images that images are worth where those of a subject agree, (sum of counts)² / sum of counts²."""
    counts = np.unique(subjects, return_counts=True)[1].astype(np.float64)
    return float(counts.sum() ** 2 / (counts**2).sum()) if len(counts) else 0.0


def _failures(group: Group, gates: Gates) -> dict[str, str]:
    """The gates that a group does not meet; what nobody rated meets none."""
    failures = {}
    if not group.judged and not group.between:
        failures["conditions"] = "no image was judged"
    judged = group.judged + group.between
    if judged and group.rated and group.independent < gates.images - _ROUNDING:
        telling = f", as telling as {group.independent:.3g} of different subjects"
        worth = "" if group.independent >= min(judged, group.rated) else telling
        failures["images"] = f"{judged} images were judged and {group.rated} rated{worth}, fewer than {gates.images}"
    if group.share > gates.differing:
        failures["conditions"] = f"{group.differing} of {group.judged} images are seen as a different condition"
    if not group.rated:
        failures["quality"] = "nobody rated the quality"
    elif group.quality < gates.quality:
        failures["quality"] = f"mean quality {group.quality:.2f} is below {gates.quality:g}"
    share = group.unidentifiable / group.rated if group.rated else 0.0
    if share > gates.unidentifiable:
        failures["identifiable"] = f"of {100 * share:.1f} % of the images most raters say that no face is identifiable"
    return failures


def _unequal(pairs: tuple[QualityDifference, ...], margin: float) -> dict[str, str]:
    """The pair of levels that is furthest from passing, and how many more do not pass."""
    missed = [pair for pair in pairs if pair.verdict != "passed"]
    if not missed:
        return {}
    worst = min(missed, key=lambda pair: (pair.verdict != "failed", -np.nan_to_num(abs(pair.estimate), nan=np.inf)))
    more = f"; {counted(len(missed) - 1, 'further pair')} did not pass" if len(missed) > 1 else ""
    return {"equal quality": f"{in_words(worst, margin)}{more}"}


def in_words(pair: QualityDifference, margin: float) -> str:
    """What is known of a pair of levels that did not pass."""
    levels = f"{pair.attribute} {pair.level:g} and {pair.other:g}"
    if not np.isfinite(pair.estimate):
        return f"equal quality is not shown of {levels}: {pair.reason}"
    size = f"{pair.estimate:.2f} (90 % interval {pair.low:.2f} to {pair.high:.2f}, margin {margin:g})"
    if pair.verdict == "failed":
        return f"quality differs between {levels}, by {size}"
    rated = f"{pair.subjects} and {pair.other_subjects} subjects were rated"
    enough = f", about {pair.enough:,} a level would probably be enough" if pair.enough else ""
    return f"equal quality is not shown of {levels}: they differ by {size}; {rated}{enough}"


PRUNING_SOURCE: Final = (
    "Balakrishnan et al. 2020, Towards causal benchmarking of bias in face analysis algorithms, arXiv:2007.06570"
)


@final
@dataclass(frozen=True, slots=True)
class Rule:
    """Leave out images whose `attribute` lies in [low, high]; high_open: [low, high) instead.

    step: rules of one step are applied together, as one row of the table.

    >>> Rule("fakeness", 0.75).text
    'fakeness >= 0.75'
    """

    attribute: str
    low: float = -np.inf
    high: float = np.inf
    high_open: bool = False
    step: str = ""

    def __post_init__(self) -> None:
        if not self.low <= self.high or (np.isinf(self.low) and np.isinf(self.high)):
            raise BadInput(f"{self.attribute}: expected a range to leave out, got {self.low:g} to {self.high:g}")

    @property
    def text(self) -> str:
        """As the report says it."""
        if np.isinf(self.high):
            return f"{self.attribute} >= {_exact(self.low)}"
        sign = "<" if self.high_open else "<="
        return (
            f"{self.attribute} {sign} {_exact(self.high)}"
            if np.isinf(self.low)
            else f"{_exact(self.low)} <= {self.attribute} {sign} {_exact(self.high)}"
        )

    def applies(self, values: Float[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Which images it leaves out; a missing value is not left out by it."""
        below = values < self.high if self.high_open else values <= self.high
        return np.asarray((values >= self.low) & below)


def _exact(value: float) -> str:
    """The shortest text that is read as the same number: texts of rules are kept and read again."""
    return repr(float(value)).removesuffix(".0")


AS_PUBLISHED: Final = (
    Rule("fakeness", low=0.75, step="fake or ambiguous"),
    Rule("skin_color", low=0.4, high=0.6, step="fake or ambiguous"),
    Rule("gender", low=0.4, high=0.6, step="fake or ambiguous"),
    Rule("hair_length", low=0.3, high=0.5, step="fake or ambiguous"),
    Rule("age", high=0.4, high_open=True, step="children and teenagers"),
)
"""Sections 5.2.1 and 5.4 of the paper, on mean ratings scaled to [0, 1]."""


@final
@dataclass(frozen=True, slots=True)
class PruningStep:
    """removed: images that this step left out first; left: images after it; matched: rule -> images that match it."""

    name: str
    removed: int
    left: int
    matched: Mapping[str, int]


@final
@dataclass(frozen=True, slots=True)
class Pruning:
    """remaining: bool [n], images that no rule leaves out; after [steps, n]: those that remain after each step."""

    remaining: Bool[np.ndarray, " n"]
    after: Bool[np.ndarray, "s n"]
    steps: tuple[PruningStep, ...]
    missing: Mapping[str, int]

    def counts(self) -> list[int]:
        """Images before the first step and after each."""
        return [len(self.remaining), *(step.left for step in self.steps)]


def prune(columns: Columns, rules: Sequence[Rule] = AS_PUBLISHED) -> Pruning:
    """Apply the rules in order; neighbours of one `step` together.

    columns: ratings by attribute, one row per image. missing: attribute -> images without a value, which its rules
    cannot judge and keep.
    """
    if not rules:
        raise BadInput("no rules; say what to leave out")
    names, values = read_columns(columns)
    table = dict(zip(names, values.T, strict=True))
    for rule in rules:
        if rule.attribute not in table:
            raise UnknownName("column", rule.attribute, names, hint="rules use columns of the ratings")
    remaining, after, steps = np.ones(len(values), dtype=bool), [], []
    for name, together in _by_step(rules):
        matches = {rule.text: rule.applies(table[rule.attribute]) for rule in together}
        still_in = remaining & ~np.any(list(matches.values()), axis=0)
        matched = {text: int(rows.sum()) for text, rows in matches.items()}
        steps.append(PruningStep(name, int(remaining.sum() - still_in.sum()), int(still_in.sum()), matched))
        remaining = still_in
        after.append(still_in)
    judged = dict.fromkeys(rule.attribute for rule in rules)
    missing = {name: int(np.isnan(table[name]).sum()) for name in judged if np.isnan(table[name]).any()}
    return Pruning(remaining, np.stack(after), tuple(steps), missing)


def _by_step(rules: Sequence[Rule]) -> list[tuple[str, list[Rule]]]:
    groups: list[tuple[str, list[Rule]]] = []
    for rule in rules:
        if rule.step and groups and groups[-1][0] == rule.step:
            groups[-1][1].append(rule)
        else:
            groups.append((rule.step or rule.text, [rule]))
    return groups
