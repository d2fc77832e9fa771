"""Images of a run searched by words: `transect.retrieve`, its numbers, and how the terminal shows them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from transect.analysis.finished_run import Run, read
from transect.effects.contrasts import by_level
from transect.effects.multiplicity import holm
from transect.effects.retrieval import FIRST, SOURCES, FirstImages, RetrievalSkew, retrieval_skew
from transect.errors import BadInput
from transect.records import Estimate
from transect.reports.builder import probability, significant
from transect.runs import tables as columns
from transect.runs.layout import runs_of
from transect.runs.parts import Progress
from transect.runs.result import JobResult
from transect.runs.table_inputs import as_names
from transect.runs.wording import counted, spaced
from transect.targets.hf.embedding import TextImages, open_text_images
from transect.targets.hf.loading import Options
from transect.texts import words_of


@final
@dataclass(frozen=True, slots=True)
class QuerySkew:
    """One query over the levels of one attribute of one study. p_adjusted: of `skew.p`, over all queries (Holm)."""

    query: str
    study: str
    attribute: str
    levels: tuple[str, ...]
    skew: RetrievalSkew
    p_adjusted: float


@final
@dataclass(frozen=True, slots=True)
class RetrieveNumbers:
    """Retrieval by queries over the images of a run.

    run: its folder's name. model: the network. images: that were ranked; pruned: of a run with rules, those left out.
    first: numbers of images K. notes: what was left out, and why.
    """

    run: str
    model: str
    images: int
    pruned: int
    first: tuple[int, ...]
    queries: tuple[QuerySkew, ...]
    notes: tuple[str, ...]
    sources: tuple[str, ...]
    seconds: float


SURE: Final = 0.05


def headline(numbers: RetrieveNumbers) -> str:
    """For how many of the queries the levels are ranked unequally."""
    sure = sum(one.p_adjusted < SURE for one in numbers.queries)
    known = sum(math.isfinite(one.p_adjusted) for one in numbers.queries)
    return (
        f"{numbers.model} ranks {numbers.images:,} images of {numbers.run}: in {sure} of "
        f"{counted(known, 'ranking')} (a query and an attribute) the levels lie further apart than chance would put "
        "them (NDKL, p below 0.05, corrected over all)"
    )


def headings(numbers: RetrieveNumbers) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Headings and a row per query and attribute, with the first K that can be told."""
    shown = ("query", "attribute", "NDKL", "by chance", "p, corrected", "K", "largest share", "MaxSkew@K", "by chance")
    return shown, [_row(one) for one in numbers.queries]


def table_rows(numbers: RetrieveNumbers) -> Iterator[dict[str, Any]]:
    """A row per query, attribute, K and level."""
    for one in numbers.queries:
        for top in one.skew.first:
            for level, share, p in zip(one.levels, top.shares, top.p, strict=True):
                yield {
                    "query": one.query, "study": one.study, "attribute": one.attribute, "k": top.k, "level": level,
                    "share": share.estimate, "low": share.low, "high": share.high, "p": p,
                    "max_skew": top.max_skew.estimate, "reason": top.reason,
                }  # fmt: skip


def largest(one: QuerySkew, top: FirstImages) -> tuple[str, Estimate] | None:
    """The level with the largest share among the first K, and the share; None where it cannot be told."""
    if top.reason:
        return None
    place = max(range(len(one.levels)), key=lambda level: top.shares[level].estimate)
    return one.levels[place], top.shares[place]


def with_interval(value: Estimate, scale: float = 1) -> str:
    """A number and its interval, or why there is none.

    >>> with_interval(Estimate(0.5, 0.25, 0.75), 100), with_interval(Estimate(reason="none"))
    ('50 (25 to 75)', 'none')
    """
    if math.isnan(value.estimate):
        return value.reason or "not estimable"
    shown = number(scale * value.estimate)
    if math.isnan(value.low):
        return f"{shown} ({value.reason})" if value.reason else shown
    return f"{shown} ({number(scale * value.low)} to {number(scale * value.high)})"


def number(value: float) -> str:
    """A number to three digits, as text.

    >>> number(-math.inf), number(math.nan)
    ('-∞', 'unknown')
    """
    if not math.isfinite(value):
        return "-∞" if value < 0 else "unknown"
    return str(significant(value))


def _row(one: QuerySkew) -> list[str]:
    top = next((top for top in one.skew.first if not top.reason), None)
    p = probability(one.p_adjusted) if math.isfinite(one.p_adjusted) else one.skew.reason
    ndkl = [number(one.skew.ndkl.estimate), number(one.skew.ndkl_by_chance)]
    start = [one.query, spaced(one.attribute), *ndkl, p]
    found = None if top is None else largest(one, top)
    if top is None or found is None:
        return [*start, "", one.skew.first[0].reason if one.skew.first else "", "", ""]
    level, share = found
    skew = with_interval(top.max_skew)
    return [*start, str(top.k), f"{level}: {with_interval(share, 100)} %", skew, number(top.max_skew_by_chance)]


_BATCH: Final = 16
_NO_LEVELS: Final = "nothing was varied, so that subjects are not shown equally often at every level"


@final
@dataclass(frozen=True, slots=True)
class RetrieveResult(JobResult[RetrieveNumbers]):
    """Retrieval by queries. table: a row per query, attribute, K and level."""

    JOB: ClassVar[str] = "retrieve"

    @property
    def table(self) -> pa.Table:
        """query, study, attribute, k, level, share with its interval, p (Holm over levels), max_skew."""
        return pa.Table.from_pylist(list(table_rows(self.numbers)))

    def report(self, path: str | Path) -> Path:
        """Write retrieve.html and retrieve.json into the folder `path`; returns the page's path."""
        from transect.jobs.retrieve.page import write

        return write(self, Path(path))

    def headline(self) -> str:
        """For how many queries the levels are ranked unequally."""
        return headline(self.numbers)

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """A row per query and attribute."""
        return headings(self.numbers)


def retrieve(
    run: str | Path,
    model: str,
    queries: str | Path | Sequence[str],
    *,
    first: int | Sequence[int] = FIRST,
    seed: int = 0,
    device: str = "cpu",
    dtype: str = "float32",
    allow_download: bool = False,
    quiet: bool = False,
) -> RetrieveResult:
    """Shares of levels among the images that lie nearest to a text, MaxSkew@K and NDKL, by subject.

    run: the folder of an audit, whose transects show each subject equally often at every level. model: `hf:FOLDER` of
    a network of images and texts. queries: texts ("a photo of a doctor"), or a text file with one in each line; empty
    lines and those that begin with # are skipped. first: numbers of images K. seed: of the permutations by which
    chance is measured. device, dtype: as `hf:` has them. quiet: no progress on standard error.

    Returns RetrieveResult. Images that a rule of the run leaves out have no similarity; their subjects are left out.

    Raises BadInput for a folder that is no finished run or has no transects, for no query, and for a model that has no
    texts.
    """
    started = time.perf_counter()
    asked, wanted = texts_of(queries), tuple(sorted({first} if isinstance(first, int) else set(first)))
    folder = Path(run)
    studies = [read(place) for place in runs_of(folder)]
    notes = [f"{study.spec.name}: {_NO_LEVELS}" for study in studies if not study.design.levels]
    studies = [study for study in studies if study.design.levels]
    if not studies:
        raise BadInput(f"{folder}: expected a run with --vary or --steps, got none: {_NO_LEVELS}")
    options = Options(device=device, dtype=dtype, allow_download=allow_download)
    network = open_text_images(model, options)
    found = [each for study in studies for each in _of_study(study, network, asked, wanted, seed, quiet)]
    adjusted = holm(np.array([each.skew.p for each in found], dtype=np.float64)).tolist()
    numbers = RetrieveNumbers(
        run=folder.resolve().name,
        model=network.name,
        images=sum(study.design.n_images for study in studies),
        pruned=sum(int(_pruned(study).sum()) for study in studies),
        first=wanted,
        queries=tuple(replace(each, p_adjusted=p) for each, p in zip(found, adjusted, strict=True)),
        notes=tuple(notes),
        sources=SOURCES,
        seconds=round(time.perf_counter() - started, 3),
    )
    return RetrieveResult(numbers)


def texts_of(queries: str | Path | Sequence[str]) -> tuple[str, ...]:
    """The texts themselves, or those in the lines of a file. Raises BadInput for none, and for one twice.

    >>> texts_of(["a doctor", "a nurse"])
    ('a doctor', 'a nurse')
    """
    texts = as_names(queries) if not isinstance(queries, Path) else _lines(queries)
    if twice := sorted({text for text in texts if texts.count(text) > 1}):
        raise BadInput(f"queries: expected each once, got {twice[0]!r} twice; leave one out")
    if not texts or not all(text.strip() for text in texts):
        raise BadInput("queries: expected texts to search by, got none; write one in each line")
    return texts


def _lines(file: Path) -> tuple[str, ...]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"queries {file}: expected a text file, got {words_of(error)}; check the path") from None
    stripped = [line.strip() for line in lines]
    return tuple(line for line in stripped if line and not line.startswith("#"))


def _of_study(
    study: Run, network: TextImages, texts: Sequence[str], first: Sequence[int], seed: int, quiet: bool
) -> Iterator[QuerySkew]:
    """The figures of each query and attribute; p is corrected later."""
    similarities = _similarities(study, network, texts, quiet)
    similarities[_pruned(study)] = np.nan
    who = study.people[:: study.design.n_cells]
    for number, text in enumerate(texts):
        values = similarities[:, number].reshape(study.design.subjects, *study.design.shape)
        for axis, (name, levels) in enumerate(study.design.levels.items()):
            skew = retrieval_skew(by_level(values, axis), first, people=who, seed=seed)
            shown = tuple(study.attributes[name].label(level) for level in levels)
            yield QuerySkew(text, study.spec.name, name, shown, skew, skew.p)


def _similarities(study: Run, network: TextImages, texts: Sequence[str], quiet: bool) -> Float[np.ndarray, "n queries"]:
    """Cosine of the direction of each image and each text."""
    directions, found = network.texts(texts), []
    with Progress(f"{study.spec.name}: {network.name}", study.design.n_images, quiet=quiet) as progress:
        for part in range(study.parts):
            pixels = columns.images_of(study.folder.read_part("images", part)).pixels
            for start in range(0, len(pixels), _BATCH):
                found.append(network.images(pixels[start : start + _BATCH]) @ directions.T)
                progress.advance(len(found[-1]))
    return np.concatenate(found)


def _pruned(study: Run) -> np.ndarray:
    """Which images a rule of the run leaves out."""
    return np.asarray(study.seen.reasons != "", dtype=np.bool_)
