"""How well a finder of marks does on pictures whose marks are known: the figures of `transect verify marks`.

The pictures are a data set's, with its own points and masks, or FaceWorld's own: the same subjects at each skin
tone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from transect.effects import clusters, intervals
from transect.errors import BadInput
from transect.marks import Finder, Marks, open_marks
from transect.marks.records import FIVE, GROUPS, errors, overlaps
from transect.options import Option
from transect.runs.parts import Progress

if TYPE_CHECKING:
    from transect.datasets import LabelledImages


FIRST_SEED: Final = 900_000_000
"""Subjects from here on are those that are measured."""
TONES: Final = (1.0, 4.0, 7.0, 10.0)
"""The skin tones at which each of FaceWorld's subjects is shown."""
LEFT_OUT: Final = "confidence below the threshold"
UNKNOWN: Final = "unknown"
MOST_LEVELS: Final = 12
"""Values of a label of numbers that count as groups."""
_AT_ONCE: Final = 32
_SIZE: Final = 128
_TONE: Final = "skin_tone"
_ALL: Final = "all pictures"
_FEWEST: Final = 2


@final
@dataclass(frozen=True, slots=True)
class MarksSettings:
    """What is measured.

    finder: as `open_marks` takes it. dataset: READER:PATH, None for FaceWorld. by: the data set's label whose levels
    are compared. subjects: of FaceWorld, each at four skin tones. image_size: pixels (128, or as the data set has it).
    threshold: of confidence, None for the finder's own. Raises BadInput for numbers out of range.
    """

    finder: Annotated[
        str,
        Option("For marks: the finder to measure: network, dlib:FILE, onnx:FILE or mediapipe:FILE.", opens="model"),
    ] = "network"
    dataset: str | None = None
    by: Annotated[str | None, Option("For marks: compare the levels of this label of the data set.")] = None
    subjects: Annotated[int, Option("For marks: subjects of FaceWorld, each shown at four skin tones.")] = 100
    image_size: Annotated[
        int | None, Option("For marks: width and height of the pictures, in pixels.", names=("--size",))
    ] = None
    threshold: Annotated[
        float | None,
        Option(
            "For marks: leave out pictures with a lower confidence, from 0 to 1; default: the finder's own.",
            names=("--confidence",),
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.subjects < _FEWEST:
            raise BadInput(f"subjects: expected at least {_FEWEST}, got {self.subjects}")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise BadInput(f"threshold: expected a confidence from 0 to 1, got {self.threshold:g}")


@final
@dataclass(frozen=True, slots=True)
class MarksGroup:
    """One group's pictures: how many are left out, and the mean figure of the others with 95 % intervals by person.

    What is None is not estimable; the reason is of value.
    """

    group: str
    level: str
    pictures: int
    people: int
    left_out: int
    share: float | None
    share_low: float | None
    share_high: float | None
    value: float | None
    low: float | None
    high: float | None
    reason: str


@final
@dataclass(frozen=True, slots=True)
class MarksPart:
    """The mean over kept pictures of one part.

    measure: error, in eye distances, or overlap, intersection over union.
    """

    part: str
    measure: str
    pictures: int
    value: float | None
    low: float | None
    high: float | None


@final
@dataclass(frozen=True, slots=True)
class ToneDifference:
    """What the darkest tone has more than the lightest, of the same subjects, with a 95 % interval.

    what: the measure, or left out.
    """

    what: str
    subjects: int
    value: float | None
    low: float | None
    high: float | None


@final
@dataclass(frozen=True, slots=True)
class MarksFigures:
    """The figures of one finder on one source of pictures.

    measure: of the groups. without_truth: pictures whose marks nobody knows, which do not count. reasons: why pictures
    are left out -> how many.
    """

    finder: str
    source: str
    threshold: float
    measure: str
    pictures: int
    without_truth: int
    reasons: Mapping[str, int]
    groups: tuple[MarksGroup, ...]
    parts: tuple[MarksPart, ...]
    differences: tuple[ToneDifference, ...] = ()

    def headline(self) -> str:
        """The error, and how many pictures are left out."""
        whole = self.groups[0]
        lost = f"{whole.left_out:,} of {whole.pictures:,} pictures are left out"
        if whole.value is None:
            return f"{self.finder}: {lost}; {whole.reason}"
        return f"{self.finder}: {self.measure} {whole.value:.3f} on the pictures that are kept; {lost}"


class _Batch(NamedTuple):
    pixels: UInt8[np.ndarray, "n h w 3"]
    truth: Marks
    found: Marks


class _Source(NamedTuple):
    """Where pictures come from. levels: of each picture, by name of the group; people: who is on it."""

    name: str
    batches: Iterator[_Batch]
    pictures: int
    levels: Mapping[str, tuple[str, ...]]
    people: Int[np.ndarray, " n"]


class _Seen(NamedTuple):
    """Per picture: the figures by name, whether it is kept, why not, and whether its marks are known."""

    errors: Mapping[str, Float[np.ndarray, " n"]]
    overlaps: Mapping[str, Float[np.ndarray, " n"]]
    kept: Bool[np.ndarray, " n"]
    reasons: tuple[str, ...]
    known: Bool[np.ndarray, " n"]


def measure_marks(settings: MarksSettings, *, quiet: bool = False) -> MarksFigures:
    """The finder's errors on those pictures. Raises as `open_marks`, `open_dataset` and `OwnMarks` do."""
    if settings.by is not None and settings.dataset is None:
        raise BadInput(f"by: FaceWorld is grouped by skin tone, got {settings.by!r}; leave it out")
    labelled = None if settings.dataset is None else _opened(settings)
    finder = open_marks(settings.finder, labelled)
    described = finder.describe()
    if any(each.get("name") == "dataset" for each in described.get("finders", [described])):
        raise BadInput("marks: expected a finder to measure, got the data set's own marks, which are the truth")
    threshold = finder.threshold if settings.threshold is None else settings.threshold
    source = _of_faceworld(settings, finder) if labelled is None else _of_dataset(settings, finder, labelled)
    seen = _seen(source, threshold, quiet=quiet)
    if not seen.known.any():
        raise BadInput(f"{source.name}: no pictures whose marks are known; choose another data set")
    measure, values = _main(seen)
    groups = [_group(_ALL, "", np.ones(len(seen.kept), np.bool_), seen, values, source.people)]
    for group, levels in source.levels.items():
        for level in dict.fromkeys(levels):
            rows = np.array([each == level for each in levels])
            groups.append(_group(group, level, rows, seen, values, source.people))
    lost = Counter(reason for reason, known in zip(seen.reasons, seen.known, strict=True) if reason and known)
    return MarksFigures(
        finder=finder.name,
        source=source.name,
        threshold=threshold,
        measure=measure,
        pictures=int(seen.known.sum()),
        without_truth=int((~seen.known).sum()),
        reasons=dict(lost.most_common()),
        groups=tuple(groups),
        parts=tuple(_parts(seen, source.people)),
        differences=tuple(_differences(seen, measure, values)) if labelled is None else (),
    )


def _opened(settings: MarksSettings) -> LabelledImages:
    from transect.datasets import open_dataset

    if ":" not in str(settings.dataset):
        raise BadInput(
            "verify marks: expected READER:PATH of photographs whose marks are known, got "
            f"{settings.dataset}; add the reader, as in folder:{settings.dataset}, or leave it out to measure "
            "FaceWorld's own faces"
        )
    return open_dataset(str(settings.dataset), image_size=settings.image_size, labelled=False, strict=False)


def _of_faceworld(settings: MarksSettings, finder: Finder) -> _Source:
    from transect.generators.faceworld.world import FaceWorld, own_marks

    world = FaceWorld(image_size=settings.image_size or _SIZE)
    subjects = np.arange(settings.subjects)

    def batches() -> Iterator[_Batch]:
        for start in range(0, settings.subjects, _AT_ONCE // len(TONES)):
            chosen = subjects[start : start + _AT_ONCE // len(TONES)]
            latents = world.sample(FIRST_SEED + np.repeat(chosen, len(TONES)))
            latents = world.set(latents, {_TONE: np.tile(TONES, len(chosen))})
            pixels = world.render(latents).pixels
            yield _Batch(pixels, own_marks(world, latents), finder.find(pixels))

    levels = tuple(f"{tone:g}" for tone in TONES) * settings.subjects
    people = np.repeat(subjects, len(TONES))
    return _Source("FaceWorld, held out", batches(), len(people), {_TONE: levels}, people)


def _of_dataset(settings: MarksSettings, finder: Finder, labelled: LabelledImages) -> _Source:
    from transect.marks.dataset_marks import OwnMarks

    try:
        own = OwnMarks(labelled)
    except BadInput:
        raise BadInput(
            "verify marks: expected photographs with landmarks or masks, which are the truth, got "
            f"{labelled.name} without; choose a data set with them (see: transect list datasets), or leave it "
            "out to measure FaceWorld's own faces"
        ) from None

    def batches() -> Iterator[_Batch]:
        for start in range(0, len(labelled), _AT_ONCE):
            rows = np.arange(start, min(start + _AT_ONCE, len(labelled)))
            pixels = labelled.pixels(rows)
            yield _Batch(pixels, own.find(pixels, rows), finder.find(pixels, rows))

    levels = {} if settings.by is None else {settings.by: _levels(labelled, settings.by)}
    people = np.array(labelled.subjects, dtype=np.int64)
    return _Source(labelled.name, batches(), len(labelled), levels, people)


def _levels(labelled: LabelledImages, by: str) -> tuple[str, ...]:
    """The level of each picture by name, or by its number where a label of numbers has few of them."""
    values = labelled.column(by)
    if next(attribute for attribute in labelled.attributes if attribute.name == by).discrete:
        return tuple(level or UNKNOWN for level in labelled.level_names(by).to_pylist())
    found = np.unique(values[np.isfinite(values)])
    if len(found) > MOST_LEVELS:
        raise BadInput(
            f"by {by}: expected at most {MOST_LEVELS} levels, got {len(found)} numbers; choose another label"
        )
    return tuple(f"{value:g}" if np.isfinite(value) else UNKNOWN for value in values)


def _seen(source: _Source, threshold: float, *, quiet: bool) -> _Seen:
    rows = []
    with Progress("pictures", source.pictures, quiet=quiet) as progress:
        for pixels, truth, found in source.batches:
            kept = found.kept(threshold)
            whys = tuple(why or ("" if k else LEFT_OUT) for why, k in zip(found.reasons, kept, strict=True))
            known = np.array([not why for why in truth.reasons], dtype=np.bool_)
            rows.append(_Seen(errors(found, truth), overlaps(found, truth), kept, whys, known))
            progress.advance(len(pixels))
    return _Seen(
        _joined([row.errors for row in rows]),
        _joined([row.overlaps for row in rows]),
        np.concatenate([row.kept for row in rows]),
        tuple(why for row in rows for why in row.reasons),
        np.concatenate([row.known for row in rows]),
    )


def _joined(parts: list[Mapping[str, Float[np.ndarray, " n"]]]) -> dict[str, Float[np.ndarray, " n"]]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _main(seen: _Seen) -> tuple[str, Float[np.ndarray, " n"]]:
    """The figure of groups: the error of as many points as both know, else the overlap of the face."""
    for name in (next(iter(GROUPS)), FIVE):
        if np.isfinite(seen.errors[name]).any():
            return f"error of {name}, in eye distances,", seen.errors[name]
    if "face" in seen.overlaps:
        return "overlap of the face", seen.overlaps["face"]
    return "error", seen.errors[FIVE]


def _group(
    group: str,
    level: str,
    rows: Bool[np.ndarray, " n"],
    seen: _Seen,
    values: Float[np.ndarray, " n"],
    people: Int[np.ndarray, " n"],
) -> MarksGroup:
    there = rows & seen.known
    lost = (there & ~seen.kept)[there].astype(np.float64)
    who = np.unique(people[there], return_inverse=True)[1].astype(np.int64)
    share_low, share_high = intervals.wilson_clustered(*clusters.by_person(lost[:, None], who))
    value, low, high, _ = _mean(values[there & seen.kept], people[there & seen.kept])
    reason = "" if value is not None else "no picture has points or masks that both know"
    if value is not None and low is None:
        reason = f"no interval of fewer than {FEWEST_PEOPLE} people"
    some = bool(len(lost))
    return MarksGroup(
        group=group,
        level=level,
        pictures=int(there.sum()),
        people=len(np.unique(who)),
        left_out=int(lost.sum()),
        share=float(lost.mean()) if some else None,
        share_low=float(share_low[0]) if some else None,
        share_high=float(share_high[0]) if some else None,
        value=value,
        low=low,
        high=high,
        reason=reason,
    )


FEWEST_PEOPLE: Final = 10
"""People below whom there is no interval of a mean error: Student's would reach beyond what an error can be."""


def _mean(
    values: Float[np.ndarray, " n"], people: Int[np.ndarray, " n"]
) -> tuple[float | None, float | None, float | None, int]:
    """The mean of finite values, its 95 % interval by person, and their number; None where not estimable."""
    known = np.isfinite(values)
    values, people = values[known], people[known]
    if not len(values):
        return None, None, None, 0
    who = clusters.clusters_of(people)
    column = values[:, None]
    found = intervals.mean_interval(*((column,) if who is None else clusters.by_person(column, who)))
    if len(np.unique(people)) < FEWEST_PEOPLE or not np.isfinite([found.low[0], found.high[0]]).all():
        return float(values.mean()), None, None, len(values)
    return float(values.mean()), float(found.low[0]), float(found.high[0]), len(values)


def _parts(seen: _Seen, people: Int[np.ndarray, " n"]) -> Iterator[MarksPart]:
    chosen = seen.kept & seen.known
    for measure, figures in (("error", seen.errors), ("overlap", seen.overlaps)):
        for name, values in figures.items():
            value, low, high, count = _mean(values[chosen], people[chosen])
            if count:
                yield MarksPart(name, measure, count, value, low, high)


def _differences(seen: _Seen, measure: str, values: Float[np.ndarray, " n"]) -> Iterator[ToneDifference]:
    """The darkest tone less the lightest: the figure where both are kept, and the share that is left out."""
    by_tone = np.where(seen.kept, values, np.nan).reshape(-1, len(TONES))
    change = by_tone[:, -1] - by_tone[:, 0]
    value, low, high, count = _mean(change, np.arange(len(change)))
    yield ToneDifference(measure, count, value, low, high)
    lost = (~seen.kept).astype(np.float64).reshape(-1, len(TONES))
    more = (lost[:, -1] - lost[:, 0])[:, None]
    ends = intervals.mean_difference_interval(more, binary=True)
    yield ToneDifference("left out", len(more), float(more.mean()), float(ends.low[0]), float(ends.high[0]))
