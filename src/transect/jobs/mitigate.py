"""Train mitigations, measure their leakage with new attackers, and audit them by transects. Rerun it to resume.

Leakages and F1 are in percent; Δ = λ_M − λ_D and effects are in percentage points, with 95 % intervals over seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar, Final, final

from markupsafe import Markup

from transect.job import Content, Job, Option, Out, function
from transect.mitigation.measuring import by_direction
from transect.mitigation.numbers import Figure, MitigateNumbers, MitigationFigures
from transect.mitigation.running import run
from transect.mitigation.settings import Config, as_config
from transect.mitigation.testbed import FACELESS
from transect.reports.answer_picture import Judged, picture
from transect.reports.blocks import Block, Facts, Paragraph, Part, Plot, Plots, Secondary
from transect.reports.columns import Column, Form, Table, decimals, in_percent
from transect.reports.drawing import svg
from transect.reports.drawing.estimates import Mark
from transect.reports.drawing.svg import Scale, Tick, covering, tick_text
from transect.runs.parts import announcing_stages
from transect.runs.wording import counted
from transect.texts import say

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
HEIGHT: Final = 340
SIDE: Final = 150
_PERCEIVED: Final = "{} is an appearance as others perceive it, not an identity."
_RENDERED: Final = (
    "{} is a setting of the renderer. It stands for an appearance as others might perceive it; nobody was asked, and "
    "it is not an identity."
)
_NOISE: Final = (
    "Noise is added to what the model computes; its number is a multiple of the spread. It is a baseline that any "
    "other mitigation should beat."
)
_NO_AUDIT: Final = "no audit by transects: it needs a generator that sets appearance alone, such as FaceWorld"

_Rows = Sequence[MitigationFigures]


def _bare(figure: Figure | None) -> Figure | None:
    """A figure without the reason why it has no interval, which is the number of seeds, the same for all."""
    return figure if figure is None or figure.estimate is None else replace(figure, reason="")


def _figure(heading: str, name: str, form: Form = "tenths interval") -> Column[MitigationFigures]:
    return Column(heading, lambda row: _bare(getattr(row, name)), form, name)


FIGURES: Final[Sequence[Column[MitigationFigures]]] = (
    _figure("λ_M, %", "model_leakage"),
    _figure("λ_D, %", "dataset_leakage"),
    _figure("Δ", "amplification", "points interval"),
    _figure("Δ as published", "published_amplification", "points interval"),
    _figure("mAP, %", "mean_average_precision"),
    _figure("F₁, %", "f1"),
)
EFFECTS: Final[Sequence[Column[MitigationFigures]]] = (
    _figure("effect", "effect"),
    _figure("answers changed, %", "changed"),
)
NAME: Final[Column[MitigationFigures]] = Column("mitigation", "name", key="name")
ATTACKER: Final[Column[MitigationFigures]] = Column("attacker", "attacker")


@final
@dataclass(frozen=True)
class Mitigate(Job[MitigateNumbers]):
    """Train the plain model and each mitigation, attack their answers and audit them by transects.

    config: a `Config`, the same as nested mappings, or a TOML file. Finished parts of the folder are reused.

    The result has leakages and F1 in percent, Δ and effects in percentage points, with 95 % intervals over seeds (none
    with one seed); its table a row for each mitigation.

    Raises FolderInUse where another run uses the folder, BadInput for a configuration that cannot be used. Source: Wang
    et al. 2019, arXiv:1811.08489.
    """

    OUT: ClassVar[Out | None] = None
    RESUMES_FROM: ClassVar = "finished parts"

    config: Annotated[
        Config | Mapping[str, object] | str | Path,
        Option("TOML file of data, network, training, mitigations and audit.", Path, argument=True, opens="data"),
    ]
    out: Annotated[
        str | Path, Option("The folder of pictures, models, mitigate.json and mitigate.html.", Path, opens="write")
    ]
    device: Annotated[str, Option("Where models train: cpu, cuda or cuda:N.", opens="value")] = "cpu"

    def compute(self) -> MitigateNumbers:
        """Every model, its attacks and its audit."""

        def report(line: str) -> None:
            if not self.quiet:
                say(line, error=True)

        with announcing_stages(quiet=self.quiet):
            return run(as_config(self.config), Path(self.out), report, self.device)

    def content(self, numbers: MitigateNumbers) -> Content:
        """By how much each mitigation lowers Δ, at what cost, and whether less leakage means less effect."""
        rows, words = numbers.mitigations, numbers.protected_words
        trade, causal = plane(rows, "f1", "amplification"), plane(rows, "amplification", "changed")
        perceived = _RENDERED if Config.model_validate(dict(numbers.config)).data.source == "faceworld" else _PERCEIVED
        columns = [NAME, *FIGURES, *(EFFECTS if numbers.protocol is not None else ())]
        answer = _answer(numbers)
        return Content(
            title=numbers.title,
            question=f"What reduces leakage of {words} from the model's answers, and what does it cost?",
            picture=_picture(numbers),
            answer=answer,
            remarks=_remarks(numbers),
            warnings=[] if numbers.finished else ["Some mitigations are not finished: rerun the command to resume."],
            notes=[numbers.caveat, perceived.format(words)],
            parts=(
                Part("table", "Leakage and performance", tuple(_tables(numbers)), "Table"),
                Part("trade", "Trade-off", (_trade(rows, trade),)),
                Part("labels", "F₁ by label, before and after", tuple(_by_label(numbers)), "Labels"),
                Part("audit", "Does less leakage mean less effect?", tuple(_audit(numbers, causal)), "Audit"),
                Part("methods", "Methods", (Facts(_methods(numbers), methods=True),)),
            ),
            sources=numbers.works,
            rows=Table("Mitigations", rows, [NAME, Column("kind", "kind"), ATTACKER, *FIGURES, *EFFECTS]),
            terminal=[answer[0], Table("Mitigations", rows, columns), *_lines(numbers), numbers.caveat],
        )


mitigate = function(Mitigate)


def _picture(numbers: MitigateNumbers) -> list[Block]:
    """By how much each mitigation changes Δ, those that lower it first."""
    found = {1: "better", -1: "worse", 0: "cannot tell"}
    rows = []
    for sign, places in by_direction(numbers.mitigations).items():
        for row in (numbers.mitigations[place] for place in places):
            change = _negative(row.amplification_lost) or Figure(None, None, None)
            value, low, high = (end and end / 100 for end in (change.estimate, change.low, change.high))
            detail = f"change of Δ, at a cost of {_text(row.f1_lost)} points of F₁"
            mark = Mark(x=0.0, value=value, low=low, high=high)
            rows.append(Judged(verdict=found[sign], about=row.name, detail=detail, mark=mark))
    meanings = {"better": "lowers Δ", "worse": "raises Δ", "cannot tell": "not decided"}
    return picture(rows, meanings, f"Change of Δ with its {numbers.confidence} % interval")


def _lines(numbers: MitigateNumbers) -> Iterator[str]:
    """Which pictures were used, and what was left out."""
    if numbers.split:
        yield f"split: {numbers.split}"
    if any(numbers.left_out.values()):
        yield f"left out: {_left_out(numbers)}"
    if numbers.protocol is None:
        yield _NO_AUDIT


def _left_out(numbers: MitigateNumbers) -> str:
    return "; ".join(f"{count:,} {reason}" for reason, count in numbers.left_out.items() if count)


def _answer(numbers: MitigateNumbers) -> list[str]:
    """Which mitigation lowers Δ the most, where the model starts, and what to do next."""
    plain = numbers.mitigations[0]
    start = (
        "Without mitigation, an attacker that sees the answers guesses the class with a balanced accuracy of "
        f"{_text(plain.model_leakage)} %. Δ is {_text(plain.amplification, '+')} points, at a "
        f"macro F₁ (the mean over labels) of {_text(plain.f1)} %."
    )
    return [_best(numbers), start, *_next(numbers)]


def _best(numbers: MitigateNumbers) -> str:
    """The mitigation that is shown to lower Δ the most; the picture has the others."""
    rows, places = numbers.mitigations, by_direction(numbers.mitigations)[1]
    delta = (
        f"Δ is how much better an attacker guesses the class ({numbers.protected_words}) from the answers than from "
        "labels with as many random errors."
    )
    if places:
        best = rows[places[0]]
        lost = f"{_text(best.amplification_lost)} points at a cost of {_text(best.f1_lost)} points of F₁"
        return f"{best.name} lowers Δ by {lost}. {delta}"
    none = "No mitigation is shown to lower Δ." if len(rows) > 1 else "No mitigation was tried."
    return f"{none} {delta}"


def _text(figure: Figure | None, sign: str = "") -> str:
    found = _bare(figure)
    return "not estimable" if found is None else in_percent(found, sign=sign)


def _negative(figure: Figure | None) -> Figure | None:
    """The same change counted the other way."""
    if figure is None or figure.estimate is None or figure.low is None or figure.high is None:
        return figure
    return replace(figure, estimate=-figure.estimate, low=-figure.high, high=-figure.low)


def _next(numbers: MitigateNumbers) -> Iterator[str]:
    """What would decide what is open."""
    if not by_direction(numbers.mitigations)[0]:
        return
    seeds = len(numbers.mitigations[0].seeds)
    if seeds < 2:
        yield f"Next: one seed gives no interval: give at least three seeds (had {seeds})."
        return
    more = f"Next: give more seeds (had {seeds}), which narrows the intervals."
    yield f"{more} Until then, do not adopt one that is inconclusive."


def _remarks(numbers: MitigateNumbers) -> list[str]:
    """Which are shown to be a good trade, and of which this is not decided; how the differences were made."""
    others, seeds = numbers.mitigations[1:], len(numbers.mitigations[0].seeds)
    good, undecided = (", ".join(row.name for row in others if row.good_trade is verdict) for verdict in (True, None))
    remarks = [f"Shown to halve Δ at a cost of at most three points of F₁: {good or 'none'}."]
    if undecided:
        remarks.append(f"Not decided whether it is halved at that cost: {undecided}.")
    remarks.append(
        f"Differences are means over {counted(seeds, 'seed')}, each with the plain model of the same seed. In "
        f"brackets: {numbers.confidence} % intervals (Student's t), each for its mitigation alone: the best of several "
        "looks better than it is."
    )
    return [*remarks, _NOISE] if any(row.kind == "noise" for row in others) else remarks


def _lettered(rows: _Rows) -> Column[MitigationFigures]:
    """The name of each mitigation behind the letter of its marks."""
    letters = {row.name: LETTERS[place % len(LETTERS)] for place, row in enumerate(rows)}
    return Column("Mitigation", lambda row: f"{letters[row.name]} {row.name}")


def _tables(numbers: MitigateNumbers) -> Iterator[Block]:
    rows = numbers.mitigations
    caption = (
        f"Means over seeds with {numbers.confidence} % intervals where there are several. λ in percent, Δ in points; "
        "λ_D and Δ in the same format, and Δ against flipped bits as published"
    )
    yield Table("Leakage and performance", rows, [_lettered(rows), *FIGURES, ATTACKER], caption)
    columns = [_lettered(rows), *(column for name in sorted(rows[0].attackers) for column in _of_attacker(name))]
    words = "λ_M and Δ by new attackers of increasing capacity"
    yield Secondary((Table("Every attacker", rows, columns, words),))


def _of_attacker(name: str) -> Iterator[Column[MitigationFigures]]:
    yield Column(f"{name}: λ_M", lambda row: _bare(row.attackers[name].model_leakage), "tenths interval")
    yield Column(f"{name}: Δ", lambda row: _bare(row.attackers[name].amplification), "points interval")


def _trade(rows: _Rows, trade: Plane | None) -> Block:
    if trade is None:
        return Paragraph("A plot needs at least two mitigations.")
    caption = Markup(
        '<strong>Amplification by F₁</strong> <span class="fine">low and right is good; the dashed line is increasing '
        "noise, which any mitigation should beat; letters as in the table</span>"
    )
    drawing = draw(trade, "trade-plot", "Amplification by F₁", noise=True)
    across = f"Across: macro F₁, %. Up: Δ in the same format, points, with its interval. {_named(rows, trade)}"
    return Plot(caption, drawing, across, _plane_numbers(rows, trade, "f1", "amplification"))


def _named(rows: _Rows, shown: Plane) -> str:
    """The letters of a plane and what they stand for."""
    return ", ".join(f"{point.letter} {rows[point.index].name}" for point in shown.points) + "."


def _plane_numbers(rows: _Rows, shown: Plane, across: str, up: str) -> Table[MitigationFigures]:
    """Both figures of each mitigation with their intervals."""
    known = {column.key: column for column in (*FIGURES, *EFFECTS)}
    return Table("Plane", [rows[point.index] for point in shown.points], [NAME, known[across], known[up]])


def _by_label(numbers: MitigateNumbers) -> Iterator[Block]:
    rows, names = numbers.mitigations, [label.name for label in numbers.labels]
    others = [row for row in rows[1:] if row.kind != "noise"]
    if not others:
        return
    plots = [Plot(row.name, draw_labels(rows[0], row, f"labels-{number}")) for number, row in enumerate(others)]
    columns = [Column("Label", lambda place: names[place]), *map(_f1_of_label, rows)]
    table = Table("F1 by label", range(len(names)), columns, "F₁ of each label, %")
    yield Plots(plots, "small-multiples", table)
    yield Paragraph(
        "Across: F₁ of the model without mitigation; up: with it, in per cent. On the dashed line nothing changes.",
        "fine",
    )
    yield table


def _f1_of_label(row: MitigationFigures) -> Column[int]:
    return Column(row.name, lambda place: row.label_f1[place].estimate, "tenths")


def _audit(numbers: MitigateNumbers, causal: Plane | None) -> Iterator[Block]:
    protocol, found, rows = numbers.protocol, numbers.leakage_and_effect, numbers.mitigations
    if causal is None or protocol is None:
        return
    ranks = ""
    if found is not None and found.changed is not None:
        ranks = (
            " Over the mitigations, Δ and the share of changed answers have a rank correlation of "
            f"{decimals(found.changed, 2, '+')}."
        )
    yield Paragraph(
        f"The audit shows the models the same {protocol['subjects']} subjects, none of them in training data, at "
        f"{protocol['attribute']} {protocol['low']} and {protocol['high']} with everything else held. How many answers "
        f"change?{ranks}"
    )
    yield Plot(
        Markup("<strong>Answers that change with the appearance alone, by amplification</strong>"),
        draw(causal, "causal-plot", "Answers that change, by amplification"),
        f"Across: Δ in the same format, points. Up: answers that change, %. {_named(rows, causal)}",
        _plane_numbers(rows, causal, "amplification", "changed"),
    )
    caption = (
        "Effects of the appearance on answers, over seeds. Effect: the mean over labels of the effect's size, in "
        "points; chance alone makes it positive"
    )
    yield Table("Effects", rows, [_lettered(rows), *EFFECTS], caption)


def _methods(numbers: MitigateNumbers) -> list[tuple[str, str]]:
    used, config = numbers.pictures, Config.model_validate(dict(numbers.config))
    facts = {
        "Pictures": f"{used.train:,} to learn from, {used.check:,} to stop by, {used.test:,} to measure on, from "
        f"{config.data.source}",
        "Split": numbers.split,
        "Left out": _left_out(numbers),
        **{f"{FACELESS}, {name}": f"{count:,}" for name, count in _faceless(numbers.mitigations)},
        "Audit by transects": "" if numbers.protocol else _NO_AUDIT.partition(": ")[2],
        "Seeds": ", ".join(map(str, config.seeds)),
        "Attackers": f"new, cross-fitted on the evaluation images: {', '.join(config.attackers)}",
    }
    return [(name, text) for name, text in facts.items() if text]


def _faceless(rows: _Rows) -> Iterator[tuple[str, int | float]]:
    """Mitigations that hide faces by a detector, and in how many pictures it finds none."""
    for row in rows:
        if row.seeds and FACELESS in row.seeds[0].notes:
            yield row.name, row.seeds[0].notes[FACELESS]


@final
@dataclass(frozen=True)
class Point:
    """A mitigation on a plane: per cent across and down, its letter and kind. low, high: ends of the interval down."""

    index: int
    letter: str
    kind: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None


@final
@dataclass(frozen=True)
class Plane:
    """Points with their axes; curve: a polyline through the noise."""

    points: tuple[Point, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    curve: str


def plane(rows: _Rows, across: str, up: str) -> Plane | None:
    """The mitigations on the plane of two figures; None where fewer than two have both."""
    known = [(i, row) for i, row in enumerate(rows) if _value(row, across) is not None and _value(row, up) is not None]
    if len(known) < 2:
        return None
    x = covering_tightly(_value(row, across) for _, row in known)
    y = covering([end for _, row in known for end in (_value(row, up), *_interval(row, up)) if end is not None])
    points = tuple(
        Point(
            index,
            LETTERS[index % len(LETTERS)],
            row.kind,
            round(100 * x.fraction(_value(row, across) or 0.0), 2),
            round(100 - 100 * y.fraction(_value(row, up) or 0.0), 2),
            *(None if end is None else round(100 - 100 * y.fraction(end), 2) for end in _interval(row, up)),
        )
        for index, row in known
    )
    curve = sorted((p.x, p.y) for p in points if p.kind in ("plain", "noise"))
    return Plane(
        points,
        tuple(Tick(100 * x.fraction(tick), tick_text(x, tick, False), tick) for tick in x.ticks),
        tuple(Tick(HEIGHT * (1 - y.fraction(tick)), tick_text(y, tick, False), tick) for tick in y.ticks),
        " ".join(f"{a:g},{b:g}" for a, b in curve) if len(curve) > 1 else "",
    )


def _value(row: MitigationFigures, name: str) -> float | None:
    figure: Figure | None = getattr(row, name)
    return None if figure is None else figure.estimate


def _interval(row: MitigationFigures, name: str) -> tuple[float | None, float | None]:
    """The ends of a figure's interval; None where it has none."""
    figure: Figure = getattr(row, name)
    return (None, None) if figure.low is None or figure.high is None else (figure.low, figure.high)


def draw(plane: Plane, name: str, title: str, *, noise: bool = False) -> Markup:
    """The plot of a plane, a lettered mark per mitigation. noise: whether to join those that add noise."""
    line = svg.course(plane.curve, "noise-curve", height=100) if noise and plane.curve else Markup()
    content = svg.joined([line, *map(_mark, plane.points)])
    lettered = partial(svg.plot, zero=True, css="lettered-plot", height=HEIGHT)
    return lettered(name, title, "Letters as in the table.", content, up=plane.y_ticks, across=plane.x_ticks)


def _mark(point: Point) -> Markup:
    x, y = f"{point.x}%", f"{point.y}%"
    bar = Markup()
    if point.low is not None and point.high is not None:
        bar = svg.tag("line", class_="whisker open", x1=x, x2=x, y1=f"{point.low}%", y2=f"{point.high}%")
    circle = svg.tag("circle", cx=x, cy=y, r=12)
    letter = svg.tag("text", point.letter, x=x, y=y, dy=".35em", text_anchor="middle")
    return svg.tag("g", bar + circle + letter, class_=f"lettered {point.kind}")


def draw_labels(before: MitigationFigures, after: MitigationFigures, name: str) -> Markup:
    """F1 of each label with the plain model (across) and with a mitigation (up), in a square."""
    pairs = [(a.estimate, b.estimate) for a, b in zip(before.label_f1, after.label_f1, strict=True)]
    dots = svg.joined(
        svg.tag("circle", class_="dot", cx=round(SIDE * x / 100, 2), cy=round(SIDE * (100 - y) / 100, 2), r=3.5)
        for x, y in pairs
        if x is not None and y is not None
    )
    words = "A dot per label: before, across, and after, up; on the line nothing changes."
    ticks = [Tick(SIDE * share, f"{100 * share:.0f}", share) for share in (0.0, 0.5, 1.0)]
    return svg.square(name, "F1 of each label before and after", words, dots, SIDE, ticks, "diagonal")


def covering_tightly(values: Iterable[float | None]) -> Scale:
    """As `covering`, from near the lowest value instead of from zero."""
    known = [value for value in values if value is not None]
    low, high = min(known), max(known)
    shifted = covering([high - low])
    step = shifted.ticks[1] - shifted.ticks[0]
    start = step * (low // step)
    count = int(-(-(high - start) // step)) or 1
    ticks = tuple(round(start + step * place, 12) for place in range(count + 1))
    return Scale(ticks[0], ticks[-1], ticks)
