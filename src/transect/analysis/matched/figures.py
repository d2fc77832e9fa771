"""The figures of a matching: the love plot, shares of groups and of combinations, histograms, pairs of pictures."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

import numpy as np
from jaxtyping import Float, Int
from markupsafe import Markup

from transect.analysis.matched.methods import Matched, sides
from transect.analysis.matched.outcomes import MatchNumbers
from transect.analysis.matched.sample import Prepared
from transect.datasets.parquet import PictureColumn
from transect.designs.matching import propensity
from transect.effects.matched_pairs import Balance, Cell, Side, joint
from transect.records import Estimate
from transect.reports.blocks import Axis, Block, DotPlot, Folded, Heading, Paragraph, Plot, Plots, Row, TextTable
from transect.reports.builder import data_address
from transect.reports.columns import Column, Table, decimals
from transect.reports.drawing import svg
from transect.reports.drawing.svg import Interval, Scale, Tick, covering, joined, tag, tick_text

MOST_PAIRS: Final = 60
MOST_REFUSED: Final = 30
LOVE_ROWS: Final = 10
"""Rows of the love plot that are not folded: the covariates that differed most."""
PANELS: Final = 6
"""Panels of shares that are not folded."""
_BINS: Final = 24
_SHARE_TICKS: Final = [Tick(at, f"{at:g}", at) for at in (0.0, 50.0, 100.0)]
_JOINT: Final = 3
"""Covariates whose combinations are shown."""
_WIDEST_OVERLAP: Final = 1024
"""Columns of features up to which the propensity is estimated for the page alone."""

Groups: TypeAlias = Mapping[str, tuple[Float[np.ndarray, " _"], Float[np.ndarray, " _"]]]
"""Values of the treated and of the control, by what they are of."""
Share: TypeAlias = tuple[str, Side | Cell, Side | Cell]
"""What a share is of, and the share in both groups before and after."""


def love_rows(balance: Sequence[Balance], gate: float) -> tuple[Scale, list[tuple[Balance, list[Interval]]]]:
    """The axis of |SMD|, and the marks of each covariate, the farthest before matching first (Ahmed et al. 2006).

    Hollow before matching, filled after; none where unknown.
    """
    values = [abs(side.smd) for row in balance for side in (row.before, row.after) if np.isfinite(side.smd)]
    scale = covering([*values, gate])
    order = sorted(balance, key=lambda row: -abs(np.nan_to_num(row.before.smd)))
    return scale, [(row, _love_marks(row, scale)) for row in order]


def _love_marks(row: Balance, scale: Scale) -> list[Interval]:
    before, after = (_at(scale, abs(side.smd)) for side in (row.before, row.after))
    low, high = (None, None) if before is None or after is None else sorted((before, after))
    marks = [] if after is None else [Interval(after, low, high)]
    return marks + ([] if before is None else [Interval(before, filled=False)])


def _at(scale: Scale, value: float) -> float | None:
    return 100 * scale.fraction(value) if np.isfinite(value) else None


def love_plot(balance: Sequence[Balance], gate: float) -> Iterator[Block]:
    """The covariates that differed most, then the others, folded."""
    scale, rows = love_rows(balance, gate)
    ticks = [Tick(100 * scale.fraction(tick), tick_text(scale, tick, False), tick) for tick in scale.ticks]
    line = 100 * scale.fraction(min(gate, scale.high))
    drawn = []
    for number, (row, marks) in enumerate(rows):
        used = Markup(' <span class="change">used</span>') if row.used else ""
        title, words = (
            f"{row.covariate}: absolute standardized mean difference",
            "Hollow before, filled after matching.",
        )
        track, beyond = svg.track(f"love-{number}", title, words, [(line, 0)], marks), not abs(row.after.smd) <= gate
        after = tag("b" if beyond else "span", decimals(row.after.smd))
        value = Markup("{} → {}").format(decimals(row.before.smd), after)
        drawn.append(Row(Markup("{}{}").format(row.covariate, used), track, value, beyond))
    caption = tag("strong", "Absolute standardized mean differences, before (hollow) and after (filled)")
    differences = [(row.covariate, str(row.before.smd), str(row.after.smd)) for row, _ in rows]
    saved = TextTable("Balance", ("covariate", "SMD before", "SMD after"), differences)
    yield DotPlot(caption, ticks, drawn[:LOVE_ROWS], "before → after", "love", saved)
    if rest := drawn[LOVE_ROWS:]:
        words = f"{len(rest)} more {'covariate' if len(rest) == 1 else 'covariates'}, with smaller differences before"
        yield Folded(words, (DotPlot(caption, ticks, rest, "before → after", "love", saved),))


def among(opening: str, treated: str, control: str, rest: str) -> Paragraph:
    """A sentence on shares in both groups, with the marks of the groups."""
    words = Markup("{} among {} {} and {} {}, before and after{}")
    return Paragraph(words.format(opening, treated, _key(0), control, _key(1), rest))


def _key(number: int) -> Markup:
    mark = tag("svg", svg.placed(number, "7", 7), width=14, height=14, aria_hidden="true", class_="inline-key")
    return tag("span", mark, class_=f"series s{number}")


def shares(name: str, title: str, found: Sequence[Share], treated: str, control: str) -> DotPlot:
    """Each share in both groups, before and after."""
    times = [(what, when, side) for what, *both in found for when, side in zip(("before", "after"), both, strict=True)]
    rows = [
        (what, when, *map(str, (side.treated, *side.treated_interval, side.control, *side.control_interval)))
        for what, when, side in times
    ]
    ends = [f"{group}{end}" for group in (treated, control) for end in ("", " low", " high")]
    drawn: list[Row | Heading | Axis] = []
    for number, (what, when, side) in enumerate(times):
        percent = [decimals(100 * part, 1) for part in (side.treated, side.control)]
        words = f"{what} {when}: {percent[0]} % of {treated}, {percent[1]} % of {control}"
        track = svg.track(
            f"{name}-{number}", words, "", [(tick.at, tick.value) for tick in _SHARE_TICKS], _share_marks(side)
        )
        drawn += [Heading(what, 4)] if when == "before" else []
        drawn.append(Row(when, track, ", ".join(percent)))
    return DotPlot(
        "", _SHARE_TICKS, drawn, f"%, {treated} and {control}", numbers=TextTable(title, (name, "images", *ends), rows)
    )


def _share_marks(side: Side | Cell) -> list[Interval]:
    """Both groups' shares on an axis from 0 to 100 %, the treated above."""
    pairs = ((side.treated, side.treated_interval), (side.control, side.control_interval))
    return [
        Interval(100 * share, 100 * low, 100 * high, series, down=30 + 40 * series)
        for series, (share, (low, high)) in enumerate(pairs)
        if np.isfinite(low)
    ]


@final
@dataclass(frozen=True, slots=True)
class Joint:
    """The joint distribution of binary covariates in two groups, before and after matching: the same cells."""

    treated: str
    control: str
    before: Sequence[Cell]
    after: Sequence[Cell]

    def shares(self) -> list[Share]:
        """The share of each combination."""
        return [(levels(cell), cell, after) for cell, after in zip(self.before, self.after, strict=True)]

    def table(self) -> Table[tuple[str, Cell]]:
        """The same with intervals."""
        rows = [(when, cell) for when, cells in (("before", self.before), ("after", self.after)) for cell in cells]
        columns: list[Column[tuple[str, Cell]]] = [
            Column("combination", lambda row: levels(row[1])),
            Column("images", lambda row: row[0]),
            Column(f"{self.treated}, %", lambda row: _estimate(row[1].treated, row[1].treated_interval), _PERCENT),
            Column(f"{self.control}, %", lambda row: _estimate(row[1].control, row[1].control_interval), _PERCENT),
        ]
        return Table(f"Joint distribution, {self.treated} and {self.control}", rows, columns)


_PERCENT: Final = "percent interval"


def _estimate(share: float, ends: tuple[float, float]) -> Estimate:
    return Estimate(share, *ends)


def levels(cell: Cell) -> str:
    """The combination in words."""
    return ", ".join(name if level else f"not {name}" for name, level in cell.levels.items())


def joints(prepared: Prepared, matched: Matched, names: Sequence[str]) -> list[Joint]:
    """The joint distributions of each two groups that were matched; of more than two the base with each other one."""
    if matched.pairs is not None:
        control, treated = names
        cells = _joint(prepared, matched.balance, sides(prepared.sample), (matched.pairs.a, matched.pairs.b))
        return [Joint(treated, control, *cells)] if cells else []
    if matched.sets is None or prepared.labels is None:
        return []
    labels, each = np.array(prepared.labels), len(prepared.covariates)
    rows = [np.flatnonzero(labels == group) for group in matched.sets.groups]
    found = []
    for place, name in enumerate(names[1:], start=1):
        pairs = matched.sets.rows[:, 0], matched.sets.rows[:, place]
        measured = matched.balance[(place - 1) * each : place * each]
        cells = _joint(prepared, measured, (rows[0], rows[place]), pairs)
        found += [Joint(names[0], name, *cells)] if cells else []
    return found


_Rows: TypeAlias = tuple[Int[np.ndarray, " _"], Int[np.ndarray, " _"]]


def _joint(
    prepared: Prepared, measured: Sequence[Balance], before: _Rows, after: _Rows
) -> tuple[list[Cell], list[Cell]] | None:
    """The cells before and after of the binary covariates that differed most before; None where fewer than two are."""

    def binary(balance: Balance) -> bool:
        before = balance.before
        return bool(np.isfinite(before.treated_interval[0])) and 0 < before.treated + before.control < 2

    named = [pair for pair in zip(prepared.covariates, measured, strict=True) if binary(pair[1])]
    ranked = sorted(named, key=lambda pair: -abs(np.nan_to_num(pair[1].before.smd)))[:_JOINT]
    if len(ranked) < 2:
        return None
    columns = {name: prepared.covariates[name] for name, _ in ranked}
    return joint(columns, *before), joint(columns, *after, paired=True)


@final
@dataclass(frozen=True, slots=True)
class Histogram:
    """Shares of two groups in equal bins, as heights per cent of the highest bar of the figure."""

    title: str
    treated: tuple[float, ...]
    control: tuple[float, ...]


def overlap(numbers: MatchNumbers) -> Groups:
    """Log odds of both groups before and after; estimated here where the method did not, for narrow features."""
    sample, pairs = numbers.prepared.sample, numbers.matched.pairs
    if pairs is None or sample.dose_gap or not numbers.request.blocks:
        return {}
    log_odds = numbers.matched.log_odds
    if log_odds is None:
        if sample.features.shape[1] > _WIDEST_OVERLAP:
            return {}
        log_odds = propensity.scores(sample).log_odds
    return {
        "before": (log_odds[sample.rows], log_odds[sample.columns]),
        "after": (log_odds[np.unique(pairs.a)], log_odds[np.unique(pairs.b)]),
    }


def binned(groups: Groups) -> tuple[tuple[float, float], list[Histogram]]:
    """The range of the values and, for each title, both groups' shares in equal bins."""
    known = {name: [group[np.isfinite(group)] for group in both] for name, both in groups.items()}
    every = np.concatenate([np.zeros(0), *(group for both in known.values() for group in both)])
    if not len(every):
        return (0.0, 0.0), []
    low, high = float(every.min()), float(every.max())
    edges = np.linspace(low, high if high > low else low + 1, _BINS + 1)
    parts = {
        name: [np.histogram(group, edges)[0] / max(len(group), 1) for group in both] for name, both in known.items()
    }
    top = max(float(part.max()) for both in parts.values() for part in both) or 1.0
    heights = {name: [tuple((100 * part / top).round(2).tolist()) for part in both] for name, both in parts.items()}
    return (low, high), [Histogram(name, *both) for name, both in heights.items()]


def histograms(name: str, words: str, groups: Groups, digits: int) -> tuple[list[str], Plots]:
    """The ends of the axis in words, and the plots."""
    edges, drawn = binned(groups)
    ends = [decimals(edge, digits) for edge in edges]
    bins = list(itertools.pairwise(np.linspace(*edges, _BINS + 1).tolist()))
    rows = [
        (panel.title, f"{low:.6g}", f"{high:.6g}", f"{treated:g}", f"{control:g}")
        for panel in drawn
        for (low, high), treated, control in zip(bins, panel.treated, panel.control, strict=True)
    ]
    headings = ("images", "from", "to", "treated, % of the highest bar", "control, % of the highest bar")
    foot = f"{ends[0]} to {ends[1]}"
    plots = []
    for number, panel in enumerate(drawn):
        drawing = svg.histograms(f"{name}-{number}", f"{words}, {panel.title}", panel.treated, panel.control)
        plots.append(Plot(tag("strong", panel.title.capitalize()), drawing, foot))
    return ends, Plots(plots, numbers=TextTable("Histograms", headings, rows))


@final
@dataclass(frozen=True, slots=True)
class Card:
    """A pair, or a refused one: rows, distance, reason (empty for a pair), pictures as PNG or JPEG bytes (or none)."""

    a: int
    b: int | None
    distance: float
    reason: str = ""
    pictures: tuple[bytes | None, bytes | None] = field(default=(None, None), repr=False)

    @property
    def words(self) -> str:
        """The rows and their distance, and why they are no pair."""
        with_ = "" if self.b is None else f" with {self.b}, distance {decimals(self.distance)}"
        return f"{self.a}{with_}{f': {self.reason}' if self.reason else ''}"

    def figure(self, css: str) -> Markup:
        """Both pictures with the words below."""
        named = zip(self.pictures, (self.a, self.b), strict=True)
        images = [tag("img", src=data_address(png), alt=f"image {row}") for png, row in named if png]
        return tag("figure", Markup(" ").join(images) + tag("figcaption", self.words), class_=f"card {css}")


def _pictures(numbers: MatchNumbers) -> PictureColumn | None:
    """The column of pictures. Raises BadInput for a cell that is not a picture."""
    request = numbers.request
    column = request.options.pictures
    return None if column is None else PictureColumn(request.table, column, request.root)


def _card(shown: PictureColumn | None, a: int, b: int | None, distance: float, reason: str = "") -> Card:
    both = (None, None) if shown is None else (shown.of(a), None if b is None else shown.of(b))
    return Card(a, b, distance, reason, both)


def pairs_shown(numbers: MatchNumbers) -> list[Card]:
    """Pairs by distance; of more than 60, that many in equal steps from the nearest to the farthest."""
    table, shown = numbers.matched.rows, _pictures(numbers)
    if "a" not in table.column_names:
        return []
    order = np.argsort(table["distance"].to_numpy(), kind="stable")
    steps = np.linspace(0, len(order) - 1, min(MOST_PAIRS, len(order))).round().astype(np.int64)
    return [_card(shown, row["a"], row["b"], row["distance"]) for row in table.take(order[steps]).to_pylist()]


def refused_shown(numbers: MatchNumbers) -> list[Card]:
    """Of each reason in turn the nearest refused pair; images without any control come last."""
    matching, shown = numbers.matched.pairs or numbers.matched.sets, _pictures(numbers)
    if matching is None:
        return []
    near, refused = matching.near, matching.refused
    order = sorted(refused, key=lambda row: (near.get(row, (None, np.inf))[1], row))
    turns = _turns([refused[row] for row in order])
    chosen = sorted(sorted(range(len(order)), key=turns.__getitem__)[:MOST_REFUSED])
    cards = []
    for row in (order[place] for place in chosen):
        other, distance = near.get(row, (None, np.nan))
        cards.append(_card(shown, row, other, distance, refused[row]))
    return cards


def _turns(reasons: Sequence[str]) -> list[int]:
    """How many of the same reason stand before each.

    >>> _turns(["caliper", "taken", "caliper"])
    [0, 0, 1]
    """
    seen: Counter[str] = Counter()
    turns = []
    for reason in reasons:
        turns.append(seen[reason])
        seen[reason] += 1
    return turns


def filters(group: str, kinds: Mapping[str, str]) -> Markup:
    """Buttons that choose which cards are shown; the style sheet hides the others."""
    buttons = []
    for kind, words in kinds.items():
        name, first = f"{group}-{kind}", "checked" if kind == "all" else None
        button = tag("input", class_="filter", type="radio", name=group, id=name, checked=first)
        buttons.append(button + tag("label", words, **{"for": name}))
    return joined(buttons)


def quarters(cards: Sequence[Card]) -> list[Markup]:
    """The cards of pairs, which can be chosen by quarters of their distances."""
    low, high = np.quantile([card.distance for card in cards], [0.25, 0.75])
    kinds = ["nearest" if c.distance <= low else "farthest" if c.distance >= high else "middle" for c in cards]
    return [card.figure(kind) for card, kind in zip(cards, kinds, strict=True)]
