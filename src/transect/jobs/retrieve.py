"""Search the images of a run by text: which levels of an attribute rank first, with intervals by subject."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Final, final

import numpy as np
from jaxtyping import Float
from markupsafe import Markup

from transect.analysis.finished_run import Run, runs_in
from transect.effects.contrasts import by_level
from transect.effects.multiplicity import holm
from transect.effects.retrieval import FIRST, SOURCES, FirstImages, RetrievalSkew, retrieval_skew
from transect.errors import BadInput
from transect.job import Content, Job, Option, Out, function
from transect.reports.blocks import Block, Dots, Heading, Paragraph, Part
from transect.reports.columns import Column, Table, in_percent, shown
from transect.runs import tables as columns
from transect.runs.parts import Progress
from transect.runs.table_inputs import as_names
from transect.runs.wording import counted, spaced
from transect.runs.working_folders import display_name
from transect.targets.hf.loading import Options
from transect.targets.hf.opening import TextImages, open_text_images
from transect.texts import words_of

SURE: Final = 0.05
MOST: Final = 6
"""Sentences on the first screen; the table has all."""
_BATCH: Final = 16
_NO_LEVELS: Final = "nothing was varied, so that subjects are not shown equally often at every level"
_READ: Final = (
    "Each subject is shown equally often at every level, so that a search which looks at nothing but the person finds "
    "every level equally often. A higher share is due to the attribute alone. MaxSkew@K is "
    "the logarithm of the largest share over the equal one, NDKL sums such differences over the whole ranking, 0 where "
    "there are none; both are above 0 by chance too, and stand beside what chance gives."
)
_LIMITS: Final = (
    "Nobody on these images has the occupation or the trait that a query names: there is no right answer, and a "
    "difference says what this model puts near the words, not what people are like. It holds for these wordings and "
    "these images. Attributes are appearances as onlookers see them."
)


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

    @property
    def top(self) -> FirstImages | None:
        """The first K that can be told."""
        return next((top for top in self.skew.first if not top.reason), None)


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


@final
@dataclass(frozen=True)
class Retrieve(Job[RetrieveNumbers]):
    """Shares of levels among the images that lie nearest to a text, MaxSkew@K and NDKL, by subject.

    The result's table has a row per query, attribute, K and level, with the share, its interval and p (Holm over
    levels). Images that a rule of the run leaves out have no similarity; their subjects are left out.

    Raises BadInput for a folder that is no finished run or has no transects, for no query, and for a model that has no
    texts.
    """

    OUT: ClassVar = Out(default="retrieve")

    run: Annotated[
        str | Path,
        Option("The run folder of an audit that varies attributes.", Path, metavar="RUN", argument=True, opens="data"),
    ]
    model: Annotated[str, Option("An image-text network: hf:FOLDER or hf:ID of a CLIP or SigLIP.", opens="model")]
    queries: Annotated[
        str | Path | Sequence[str],
        Option("A text file with one query per line, such as: a photo of a doctor.", Path, opens="data"),
    ]
    _: KW_ONLY
    first: Annotated[
        int | Sequence[int],
        Option("Look at the first K images; repeatable. Default 10, 50 and 100.", list[int], least=1),
    ] = FIRST
    seed: Annotated[int, Option("Seed of the permutations that give the chance level.", least=0)] = 0
    dtype: Annotated[
        str, Option("Number format of the network: float32, float16 or bfloat16.", panel="Model", opens="value")
    ] = "float32"
    model_device: Annotated[
        str, Option("Where the network runs: cpu, cuda, cuda:1, …", panel="Model", opens="value")
    ] = "cpu"
    allow_download: Annotated[
        bool,
        Option(
            "Download the model of hf:ID if it is not in the local cache.",
            names=("--allow-download/--no-download",),
            panel="Model",
        ),
    ] = False

    def compute(self) -> RetrieveNumbers:
        """The ranking of every query over the levels of every attribute."""
        started = time.perf_counter()
        asked = texts_of(self.queries)
        first = tuple(sorted({self.first} if isinstance(self.first, int) else set(self.first)))
        studies = runs_in(self.run)
        notes = [f"{study.spec.name}: {_NO_LEVELS}" for study in studies if not study.design.levels]
        studies = [study for study in studies if study.design.levels]
        if not studies:
            raise BadInput(f"{self.run}: no --vary or --steps in this run: {_NO_LEVELS}")
        options = Options(device=self.model_device, dtype=self.dtype, allow_download=self.allow_download)
        network = open_text_images(self.model, options)
        found = [each for study in studies for each in self._of_study(study, network, asked, first)]
        adjusted = holm(np.array([each.skew.p for each in found], dtype=np.float64)).tolist()
        return RetrieveNumbers(
            run=display_name(self.run),
            model=network.name,
            images=sum(study.design.n_images for study in studies),
            pruned=sum(int((study.seen.reasons != "").sum()) for study in studies),
            first=first,
            queries=tuple(replace(each, p_adjusted=p) for each, p in zip(found, adjusted, strict=True)),
            notes=tuple(notes),
            sources=SOURCES,
            seconds=round(time.perf_counter() - started, 3),
        )

    def _of_study(
        self, study: Run, network: TextImages, texts: Sequence[str], first: Sequence[int]
    ) -> Iterator[QuerySkew]:
        """The figures of each query and attribute; p is corrected later."""
        similarities = _similarities(study, network, texts, self.quiet)
        similarities[study.seen.reasons != ""] = np.nan
        who = study.people[:: study.design.n_cells]
        for number, text in enumerate(texts):
            values = similarities[:, number].reshape(study.design.subjects, *study.design.shape)
            for axis, (name, levels) in enumerate(study.design.levels.items()):
                skew = retrieval_skew(by_level(values, axis), first, people=who, seed=self.seed)
                names = tuple(study.attributes[name].label(level) for level in levels)
                yield QuerySkew(text, study.spec.name, name, names, skew, skew.p)

    def content(self, numbers: RetrieveNumbers) -> Content:
        """What is shown of the rankings."""
        pruned = f"{numbers.pruned:,} images, and all others of their subjects, are left out by a rule of the run."
        return Content(
            title=f"Retrieval by words: {numbers.model}",
            question="Whose images does a search find first?",
            answer=(_headline(numbers), *_sentences(numbers)),
            remarks=(_READ,),
            notes=(_LIMITS, *numbers.notes, *([pruned] if numbers.pruned else [])),
            table=Table("All rankings", numbers.queries, RANKINGS),
            rows=Table("Levels", list(_levels(numbers)), LEVELS),
            parts=list(_parts(numbers)),
            sources=numbers.sources,
        )


retrieve = function(Retrieve)


def texts_of(queries: str | Path | Sequence[str]) -> tuple[str, ...]:
    """The texts themselves, or those in the lines of a file. Raises BadInput for none, and for one twice.

    >>> texts_of(["a doctor", "a nurse"])
    ('a doctor', 'a nurse')
    """
    texts = as_names(queries) if not isinstance(queries, Path) else _lines(queries)
    if twice := sorted({text for text in texts if texts.count(text) > 1}):
        raise BadInput(f"queries: {twice[0]!r} is given twice; leave one out")
    if not texts or not all(text.strip() for text in texts):
        raise BadInput("queries: no texts to search by; write one in each line")
    return texts


def _lines(file: Path) -> tuple[str, ...]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"queries {file}: expected a text file, got {words_of(error)}; check the path") from None
    stripped = [line.strip() for line in lines]
    return tuple(line for line in stripped if line and not line.startswith("#"))


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


def _headline(numbers: RetrieveNumbers) -> str:
    """For how many of the queries the levels are ranked unequally."""
    sure = sum(one.p_adjusted < SURE for one in numbers.queries)
    known = sum(math.isfinite(one.p_adjusted) for one in numbers.queries)
    return (
        f"{numbers.model} ranks {numbers.images:,} images of {numbers.run}: in {sure} of "
        f"{counted(known, 'ranking')} (a query and an attribute) the levels lie further apart than chance would put "
        "them (NDKL, p below 0.05, corrected over all)."
    )


def _sentences(numbers: RetrieveNumbers) -> Iterator[Markup]:
    """The rankings that are unequal by more than chance, the least probable first."""
    sure = sorted((one for one in numbers.queries if one.p_adjusted < SURE), key=lambda one: one.p_adjusted)
    for one in sure[:MOST]:
        if (top := one.top) is not None:
            level = _largest(top)
            share, name = in_percent(top.shares[level], 100), one.levels[level]
            yield Markup("<b>{}</b>: {} % of the first {} images show {} {}, by equal shares {:.3g} %.").format(
                one.query, share, top.k, spaced(one.attribute), name, 100 / len(one.levels)
            )
    if len(sure) > MOST:
        yield Markup("{} more in the table.").format(len(sure) - MOST)


def _largest(top: FirstImages) -> int:
    """The place of the level with the largest share."""
    return max(range(len(top.shares)), key=lambda level: top.shares[level].estimate)


def _largest_share(one: QuerySkew) -> str:
    if one.top is None:
        return one.skew.first[0].reason if one.skew.first else ""
    level = _largest(one.top)
    return f"{one.levels[level]}: {shown(one.top.shares[level], 'percent interval')} %"


RANKINGS: Final[Sequence[Column[QuerySkew]]] = (
    Column("query", "query"),
    Column("attribute", lambda one: spaced(one.attribute)),
    Column("NDKL", lambda one: one.skew.ndkl.estimate, "number"),
    Column("by chance", lambda one: one.skew.ndkl_by_chance, "number"),
    Column("p, corrected", lambda one: one.skew.reason if math.isnan(one.p_adjusted) else one.p_adjusted, "p"),
    Column("K", lambda one: one.top and one.top.k),
    Column("largest share", _largest_share),
    Column("MaxSkew@K", lambda one: one.top and one.top.max_skew, "interval"),
    Column("by chance", lambda one: one.top and one.top.max_skew_by_chance, "number"),
)

_Level = tuple[QuerySkew, FirstImages, int]
LEVELS: Final[Sequence[Column[_Level]]] = (
    Column("query", lambda at: at[0].query),
    Column("study", lambda at: at[0].study),
    Column("attribute", lambda at: at[0].attribute),
    Column("k", lambda at: at[1].k),
    Column("level", lambda at: at[0].levels[at[2]]),
    Column("share", lambda at: at[1].shares[at[2]].estimate, "number"),
    Column("low", lambda at: at[1].shares[at[2]].low, "number"),
    Column("high", lambda at: at[1].shares[at[2]].high, "number"),
    Column("p", lambda at: at[1].p[at[2]], "p"),
    Column("max_skew", lambda at: at[1].max_skew.estimate, "number"),
    Column("reason", lambda at: at[1].reason),
)


def _levels(numbers: RetrieveNumbers) -> Iterator[_Level]:
    for one in numbers.queries:
        for top in one.skew.first:
            yield from ((one, top, level) for level in range(len(one.levels)))


def _parts(numbers: RetrieveNumbers) -> Iterator[Part]:
    """A part of the page for each attribute of each study."""
    places = dict.fromkeys((one.study, one.attribute) for one in numbers.queries)
    several = len({study for study, _ in places}) > 1
    for number, (study, attribute) in enumerate(places):
        mine = [one for one in numbers.queries if (one.study, one.attribute) == (study, attribute)]
        title = f"{spaced(attribute)}, {study}" if several else spaced(attribute)
        yield Part(f"attribute-{number}", title, tuple(_attribute(mine, number)))


def _attribute(queries: Sequence[QuerySkew], place: int) -> Iterator[Block]:
    for number, top in enumerate(queries[0].skew.first):
        yield Heading(f"Among the first {top.k}")
        if top.reason:
            yield Paragraph(top.reason, "note")
            continue
        yield _shares(queries, number, f"share-{place}-{number}")
        first = [(one, one.skew.first[number]) for one in queries]
        yield Table(f"The first {top.k}", first, [QUERY, *map(_share, enumerate(queries[0].levels)), *SKEWS])


def _shares(queries: Sequence[QuerySkew], number: int, name: str) -> Dots[tuple[QuerySkew, int]]:
    """A row per query and level, the share with its interval."""
    equal = 100 / len(queries[0].levels)
    return Dots(
        f"Share of each level, %; equal shares are {equal:.3g} %",
        name,
        [(one, level) for one in queries for level in range(len(one.levels))],
        lambda at: f"{at[0].query}: {at[0].levels[at[1]]}",
        lambda at: at[0].skew.first[number].shares[at[1]],
    )


_First = tuple[QuerySkew, FirstImages]
QUERY: Final[Column[_First]] = Column("query", lambda of: of[0].query)
SKEWS: Final[Sequence[Column[_First]]] = (
    Column("MaxSkew", lambda of: of[1].max_skew, "interval"),
    Column("by chance", lambda of: of[1].max_skew_by_chance, "number"),
    Column("p", lambda of: of[1].max_skew_p, "p"),
    Column("tied", lambda of: of[1].tied),
)


def _share(level: tuple[int, str]) -> Column[_First]:
    return Column(f"{level[1]}, %", lambda of: of[1].shares[level[0]], "percent interval")
