"""The result of an audit: its effects as records and as a table, results.json and the page."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import pyarrow as pa

from transect.records import Effect
from transect.reports import builder, verdicts
from transect.reports.builder import NUMBERS
from transect.reports.document import Document
from transect.reports.entries import MARKS, MOST, ComparedEntry, EffectEntry, VerdictEntry, kind_of
from transect.reports.results import read
from transect.reports.wording import effect_numbers, unit_words
from transect.runs import bounds
from transect.runs.json_records import plain
from transect.runs.locks import refuse_links
from transect.runs.result import JobResult, Result
from transect.runs.wording import counted

PAGE, RESULTS = "report.html", "results.json"
COPY = "audit.html"
"""The page outside its run folder, where pages of other jobs may lie beside it."""


def _numbers(page: str) -> str:
    """The name of the page of all numbers that belongs to a page."""
    return page.removesuffix(".html") + NUMBERS


HEADINGS = ("effect", "target", "outcome", "estimate", "95 % interval", "unit", "p (adjusted)")


@final
@dataclass(frozen=True, slots=True)
class AuditNumbers:
    """Effects, and the calls to metered targets with their cost; None where no target is metered."""

    effects: tuple[Effect, ...]
    calls: int | None = None
    cost: float | None = None


@final
@dataclass(frozen=True, slots=True)
class AuditJson:
    """What `--json` prints: where the run is, its files, the effects as in results.json, calls and their cost."""

    out: Path
    report: Path
    results: Path
    table: Path
    effects: tuple[EffectEntry, ...]
    calls: int | None = None
    cost: float | None = None


class FolderResult(Result):
    """What a finished run folder, or one of several studies, holds: the page, results.json and effects.parquet."""

    folder: Path
    results: Mapping[str, Any]

    @property
    def page(self) -> Path:
        """The page in the run folder."""
        return self.folder / PAGE

    @property
    def table(self) -> pa.Table:
        """The effects, a row each, with the columns of effects.parquet."""
        return bounds.read_parquet(self.folder / "effects.parquet")

    @property
    def verdicts(self) -> tuple[VerdictEntry, ...]:
        """What is concluded about each attribute, outcome and target, in the order of the page."""
        return tuple(VerdictEntry.model_validate(row) for row in self.results["verdicts"])

    @property
    def verdict(self) -> str:
        """The gravest verdict: "found", "not judged", "cannot tell", "no difference" or "not estimable", in this order.

        Attributes to which the target is meant to react do not count. "" where there is no verdict.
        """
        kinds = {kind_of(row.verdict, check=row.check) for row in self.verdicts if not row.check}
        return next((kind for kind in MARKS if kind in kinds), "")

    def figure(self) -> builder.Framed:
        """The picture of the answer, for a notebook: each effect with its interval, by verdict."""
        from transect.reports.summary import shown_answer

        return builder.framed(shown_answer(Document(read(self.results))))

    def _repr_html_(self) -> str:
        return self.figure().html + super()._repr_html_()

    def failures(self, target: str = "", outcome: str = "") -> pa.Table:
        """The images on which a target is wrong or has no answer, a row for each such image and target.

        target, outcome: only those of one target, or one of miss, false_alarm, non_match, error and failed; an error
        that is a miss or a false alarm is listed as that. Without a right answer (`truth`) only failed ones are known.

        Returns study, target, outcome, score (null for several), reason (of failed ones), id, subject, the level of
        each attribute that varies, and image, its PNG as in the run's tables. `to_pandas()` makes it a data frame.
        Without a failure it has no row.

        Raises UnknownName for a target or an outcome that there is not.
        """
        from transect.analysis.failed_images import failed_images

        return failed_images(self.folder, target, outcome)

    def report(self, path: str | Path) -> Path:
        """Copy both pages as audit.html and audit-numbers.html, and results.json, into the folder `path`.

        Returns the path of the first.
        """
        folder = Path(path)
        copies = {PAGE: folder / COPY, _numbers(PAGE): folder / _numbers(COPY)}
        for copy in copies.values():
            refuse_links(copy)
        folder.mkdir(parents=True, exist_ok=True)
        if folder.resolve() != self.folder.resolve():
            shutil.copyfile(self.folder / RESULTS, folder / RESULTS)
        for name, copy in copies.items():
            if not (self.folder / name).exists():
                continue
            text = (self.folder / name).read_text(encoding="utf-8")
            for page in (PAGE, _numbers(PAGE)):  # the pages link to each other
                text = text.replace(f'href="{page}', f'href="{copies[page].name}')
            copy.write_text(text, encoding="utf-8")
        return copies[PAGE]

    def headline(self) -> str:
        """How many effects there are, the largest, and a warning where a negative control shows an effect."""
        family, effects = self.results["family"], self._effects()
        count = f"{family['significant']} of {counted(family['size'], 'test')} significant after correction"
        picked = self.results["selection"]["effects"][:1]
        largest = [self._largest(effects[entry["effect"]]) for entry in picked]
        result = "; ".join([count, *largest])
        warnings = self.warning_lines()
        return ". ".join([result, *warnings]) if warnings else result

    def _effects(self) -> list[EffectEntry]:
        return [EffectEntry.model_validate(row) for row in self.results["effects"]]

    def _largest(self, effect: EffectEntry) -> str:
        """The largest effect, and of how many it was picked."""
        of = self.results.get("selection", {"of": 0})["of"]
        estimate, ends, _ = effect_numbers(effect)
        picked = f"the largest of {of}" if of > 1 else "the largest"
        return f"{picked}: {effect.name}, {estimate} {unit_words(effect.unit)} (95 % interval {ends})"

    def verdict_lines(self) -> list[str]:
        """The verdicts in words as the page lists them, at most ten, each after its sign, and how many more."""
        rows = verdicts.lines(self.results)
        more = [f"… and {len(rows) - MOST} more in the report"] if len(rows) > MOST else []
        return [*rows[:MOST], *more, *self.results.get("replicated", ())]

    def warning_lines(self) -> Sequence[str]:
        """What must be checked first, and a line where a negative control shows an effect, with each such effect."""
        checks = [f"Check first: {line}" for line in self.results["warnings"]]
        return (*checks, *self._alarm())

    def _alarm(self) -> Sequence[str]:
        alpha = self.results["family"]["alpha"]
        shown = ", ".join(
            f"{row.attributes[0]}, {row.outcome}: {effect_numbers(row)[0]} {unit_words(row.unit)}"
            for row in map(ComparedEntry.model_validate, self.results["negative_controls"])
            if row.p_adjusted is not None and row.p_adjusted <= alpha
        )
        if not shown:
            return ()
        warning = f"Warning: the negative control shows an effect ({shown})"
        return (f"{warning}. Read the report before you use these numbers.",)

    def blocks(self) -> list[str | tuple[Sequence[str], Sequence[Sequence[str]]]]:
        """What the terminal shows: the verdicts, then the table of effects."""
        return [*self.verdict_lines(), self.rows()]

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Headings, and a row per effect: study (of several), name, target, outcome, estimate, interval, p."""
        effects = self._effects()
        if len({effect.study for effect in effects}) < 2:
            return HEADINGS, [_row(effect) for effect in effects]
        return ("study", *HEADINGS), [[effect.study, *_row(effect)] for effect in effects]


@final
@dataclass(frozen=True, slots=True)
class AuditResult(JobResult[AuditNumbers], FolderResult):
    """A finished audit. folder: the run folder, or that of several studies; results: results.json as JSON values."""

    folder: Path
    results: Mapping[str, Any] = field(repr=False)

    @property
    def effects(self) -> tuple[Effect, ...]:
        """The effects as records, in the order of the table."""
        return self.numbers.effects

    def to_json(self) -> dict[str, object]:
        """What `--json` prints; effects have the keys of results.json. calls and cost: null where none is metered."""
        files = {"out": "", "report": PAGE, "results": RESULTS, "table": "effects.parquet"}
        paths = {name: str(self.folder / file) for name, file in files.items()}
        spent = {"calls": self.numbers.calls, "cost": self.numbers.cost}
        return {**paths, "effects": plain(self.results["effects"]), **spent}


def _row(effect: EffectEntry) -> list[str]:
    """As the page prints it."""
    estimate, ends, p = effect_numbers(effect)
    ends = effect.reason if effect.low is None else ends
    return [effect.name, effect.target, effect.outcome, estimate, ends, unit_words(effect.unit), p]
