"""From finished runs to their report: every section in its order, p corrected, results.json, effects.parquet,
report.html.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from transect import __version__
from transect.analysis import findings, finished_run
from transect.analysis.audit_result import AuditNumbers, AuditResult
from transect.analysis.findings import Findings, merge
from transect.analysis.replicated import replicating
from transect.analysis.secondary_results import Further, analyse_further, interactions_of, with_always_valid
from transect.analysis.sections import build as all_sections
from transect.analysis.sections import directions as fitted_directions
from transect.analysis.sections.places import RunFindings
from transect.analysis.verdicts import ALPHA, Estimates, conclude, failed_edits, warnings_of
from transect.effects.analysis import adjust, distinct_tests
from transect.effects.clusters import clusters_of
from transect.effects.intervals import SOURCES
from transect.effects.multiplicity import SELECTION_SOURCES as SOURCES_OF_SELECTION
from transect.effects.outcomes import FACE, span
from transect.effects.preferences import PREFERRED
from transect.effects.projection import PopulationShares, check_levels, read_shares
from transect.effects.samples import SAME_FOR_ALL
from transect.errors import BadInput
from transect.ratings.rating_tables import attach
from transect.records import Effect, Task
from transect.reports.entries import EffectEntry
from transect.reports.records import Section
from transect.reports.results import StudyEntry
from transect.reports.verdicts import subjects_words
from transect.reports.wording import is_plural, short_name
from transect.runs import folder as unfinished
from transect.runs import manifest, report_options, working_folders
from transect.runs.environment import one_algebra_thread
from transect.runs.folder import FinishedRun, parquet_of, write_atomically
from transect.runs.layout import SETTINGS, runs_of
from transect.runs.parts import stage
from transect.runs.report_options import ReportSettings
from transect.runs.spec import RunSpec
from transect.runs.table_inputs import TableLike
from transect.runs.wording import spaced
from transect.texts import one_line, say

TRANSECTS: Final = (
    "Balakrishnan et al. 2020, Towards causal benchmarking of bias in face analysis algorithms, arXiv:2007.06570"
)
COUNTERFACTUAL: Final = (
    "Denton et al. 2019, Detecting bias with generative counterfactual face attribute augmentation, arXiv:1906.06439"
)
CHECKS: Final = "checks.json"
"""The file of checked requirements, see `analysis.requirements.result`."""
HELD: Final = "Pearl 2001, Direct and indirect effects, arXiv:1301.2300"


def publish(
    folder: Path,
    studies: Sequence[Findings],
    controls: Sequence[Findings | None] = (),
    *,
    shares: Sequence[PopulationShares] = (),
    limits: Sequence[str] = (),
    sections: Sequence[Section] = (),
    margins: Mapping[str, float] | None = None,
    again: Estimates | None = None,
    cautions: Sequence[str] = (),
    title: str = "",
) -> AuditResult:
    """Write effects.parquet, results.json and report.html of one or several studies.

    All effects and interactions are one family: their p-values are adjusted together (Holm). controls: one a study, or
    None. sections: after the standard ones. cautions: what must be checked first, before what is found here. title: of
    the page; by default what was audited on what.
    """
    from transect.reports.page import publish as write_page

    effects, crossed = _adjusted(studies)
    tests = distinct_tests([*effects, *(effect for _, effect in crossed)])
    further = analyse_further(studies, controls or [None] * len(studies), shares, effects, crossed, ALPHA)
    names = [study.spec.name for study in studies for _ in study.effects]
    entries = [EffectEntry.of_effect(name, effect) for name, effect in zip(names, effects, strict=True)]
    worlds = replicating.replication_of(folder, studies, entries, margins or {})
    built = [*all_sections.build([answers for study in studies for answers in study.answers]), *sections]
    built = [*replicating.sections(worlds), *built]
    verdicts, picked = conclude(studies, effects, margins or {}, again, tests=tests)
    whole = {
        **_results(studies, effects, entries, further, built, tests, [*limits, *_left_out(effects)]),
        "title": title or _title(studies),
        "verdicts": verdicts,
        "replicated": [] if worlds is None else list(worlds.answer),
        "selection": picked,
        "warnings": [*cautions, *failed_edits(sections), *warnings_of(studies, verdicts)],
    }
    stage("page")
    working_folders.discard(folder / CHECKS)  # they are of the results of before
    results = write_page(whole, merge([study.gallery for study in studies]), folder)
    write_atomically(folder / "effects.parquet", _parquet(entries))
    return AuditResult(AuditNumbers(effects), folder, results)


def _adjusted(studies: Sequence[Findings]) -> tuple[tuple[Effect, ...], list[tuple[str, Effect]]]:
    """Effects, and interactions with the names of their studies, of all studies; p is corrected over both together."""
    effects, crossed = [effect for study in studies for effect in _extendable(study)], interactions_of(studies)
    made = adjust([*effects, *(effect for _, effect in crossed)])
    names = (name for name, _ in crossed)
    return made[: len(effects)], list(zip(names, made[len(effects) :], strict=True))


def _left_out(effects: Sequence[Effect]) -> list[str]:
    """A line for each target with outcomes that are not tested, since they are the same for every image."""
    of: dict[str, dict[str, None]] = {}
    for effect in effects:
        if effect.test_method == SAME_FOR_ALL:
            of.setdefault(effect.target, {})[effect.outcome] = None
    return [
        f"{short_name(target)}: {_listed(list(outcomes))} {'is' if len(outcomes) == 1 else 'are'} the same for every "
        "image, whatever its level, and so not tested: p could only be 1. Other tests are not corrected for "
        f"{'it' if len(outcomes) == 1 else 'them'}."
        for target, outcomes in of.items()
    ]


def _extendable(study: Findings) -> tuple[Effect, ...]:
    about_two = {(effect.target, effect.outcome): 1.0 for effect in study.effects if effect.outcome == PREFERRED}
    tasks = {target.name: target.task for target in study.spec.targets}
    spans = about_two | {
        (each.target, each.outcome): 1.0 if each.is_share else span(each.outcome, tasks[each.target])
        for each in (answered.measure for answered in study.answered)
    }
    repeat = any(clusters_of(answered.people) is not None for answered in study.answered)
    return with_always_valid(study.effects, study.differences, study.design, spans, people_repeat=repeat)


def _results(
    studies: Sequence[Findings],
    effects: Sequence[Effect],
    entries: Sequence[EffectEntry],
    further: Further,
    sections: Sequence[Section],
    tests: int,
    limits: Sequence[str],
) -> dict[str, object]:
    specs = [study.spec for study in studies]
    worlds = [{"name": spec.generator.name, **asdict(spec.world)} for spec in specs]
    rendered = [
        world for world, spec in zip(worlds, specs, strict=True) if not spec.generator.of_photographs
    ] or worlds[:1]
    return {
        "schema_version": 1,
        "transect_version": __version__,
        "question": _question(studies),
        "studies": [study.entry for study in studies],
        "effects": list(entries),
        "rates": [rate for study in studies for rate in study.rates],
        "family": {"size": tests, "method": "holm", "alpha": ALPHA},
        "world": {
            **rendered[0],
            "photographs": all(spec.generator.of_photographs for spec in specs),
            "readings": _readings(specs),
        },
        "limits": [
            *limits,
            *dict.fromkeys(
                world["statement"] if s.generator.of_photographs else f"{world['name']}: {world['statement']}"
                for world, s in zip(worlds, specs, strict=True)
                if world["statement"] != rendered[0]["statement"]  # the page states its own world's already
                and (s.generator.of_photographs or world["name"] != rendered[0]["name"])
            ),
        ],
        "citations": _citations(studies, effects, sections, further.sources),
        "sections": list(sections),
        **further.entries,
    }


def _readings(specs: Sequence[RunSpec]) -> list[dict[str, object]]:
    """How well each attribute of any study is read back from the world's pictures, once; nothing of photographs."""
    rendered = [spec for spec in specs if not spec.generator.of_photographs]
    rows = {row.attribute: row for spec in rendered for row in spec.readings}
    return [asdict(row) for row in rows.values()]


def _title(studies: Sequence[Findings]) -> str:
    """The models, the images and how many there are."""
    names, on = list(_models(studies)), dict.fromkeys(subjects_words(StudyEntry.made_of(**s.entry)) for s in studies)
    return f"{_listed(names, 3)} on {_listed(list(on))}"


def _models(studies: Sequence[Findings]) -> dict[str, None]:
    """The names of the models, each once; one that answers in words is several targets, `model/question`."""
    entries = {target.name: target for study in studies for target in study.spec.targets}.values()
    of_words = (entry.description.question is not None for entry in entries)
    names = (short_name(entry.name) for entry in entries)
    return {name.rpartition("/")[0] if words else name: None for name, words in zip(names, of_words, strict=True)}


def _question(studies: Sequence[Findings]) -> str:
    parts = []
    for study in studies:
        names = _listed([spaced(name) for name in study.attributes])
        targets = " and ".join(target.name for target in study.spec.targets)
        if study.design.basis == "observational":
            parts.append(
                f"How do the answers of {targets} vary with {names} in the population {study.design.population}?"
            )
            continue
        does = "do" if len(study.attributes) > 1 or all(map(is_plural, study.attributes)) else "does"
        held = _listed([spaced(name) for name in study.design.hold])
        kind = f"direct effects, with {held} held" if held else "total effects"
        parts.append(f"How {does} {names} change the answers of {targets} ({kind})?")
    return " ".join(dict.fromkeys(parts))


def _listed(names: Sequence[str], most: int = 6) -> str:
    """Up to six names in a sentence."""
    shown = list(names[:most]) + ([f"{len(names) - most} more"] if len(names) > most else [])
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _citations(
    studies: Sequence[Findings], effects: Sequence[Effect], sections: Sequence[Section], further: Sequence[str]
) -> list[dict[str, str]]:
    experimental = any(study.design.basis == "experimental" for study in studies)
    texts = [TRANSECTS, COUNTERFACTUAL] if experimental else [TRANSECTS]
    texts += [HELD] if any(study.design.hold for study in studies) else []
    texts += [source for effect in effects for source in effect.citation()]
    texts += [source for section in sections for source in section.sources]
    texts += SOURCES_OF_SELECTION if len(effects) > 1 else ()
    methods = [str(rate["method"]) for study in studies for rate in study.rates]
    texts += [SOURCES[method] for method in methods if method in SOURCES]
    return [citation(text) for text in dict.fromkeys([*texts, *further])]


def citation(text: str) -> dict[str, str]:
    """Key, text and address of a source written as "Author year, title, doi:… or arXiv:…"."""
    doi, arxiv = re.search(r"doi:(\S+)", text), re.search(r"arXiv:([\w.]+)", text)
    url = f"https://doi.org/{doi[1]}" if doi else f"https://arxiv.org/abs/{arxiv[1]}" if arxiv else ""
    return {"key": text.split(",", maxsplit=1)[0], "text": text, "url": url}


def _parquet(entries: Sequence[EffectEntry]) -> bytes:
    rows = [entry.model_dump(mode="json", by_alias=True) for entry in entries]
    flat = [{**row, **{name: json.dumps(row[name], sort_keys=True) for name in ("excluded", "spec")}} for row in rows]
    return parquet_of(pa.Table.from_pylist(flat, schema=EFFECTS), compression="zstd")


_ARROW: Final = {
    "string": pa.string(),
    "number": pa.float64(),
    "integer": pa.int64(),
    "array": pa.list_(pa.string()),
    "object": pa.string(),
}
"""Columns of effects.parquet by JSON type; objects are JSON text."""


def _column(schema: Mapping[str, Any]) -> pa.DataType:
    """The Arrow type of a property of a JSON Schema, null or not."""
    first, *_ = schema.get("anyOf", [schema])
    return _ARROW[first["type"]]


EFFECTS: Final = pa.schema(
    [(name, _column(schema)) for name, schema in EffectEntry.model_json_schema(by_alias=True)["properties"].items()]
)


def rate(
    folder: Path, perceived: TableLike | None = None, prune: Sequence[str] = (), ratings: TableLike | None = None
) -> None:
    """Store ratings of a finished run's images in its folder, and the rules by which images are left out."""
    for line in attach(folder, perceived, prune, ratings):
        say(line, error=True)


def report(folder: Path, *, shares: Sequence[TableLike] = (), settings: ReportSettings | None = None) -> AuditResult:
    """Analyse a finished run folder, or every study under it, and write its effects, results and page again."""
    with one_algebra_thread():
        result = _report(folder, shares, settings or ReportSettings())
    if differing := manifest.write(folder):
        more = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
        say(
            f"{folder}: {differing[0]}{more}: not as in manifest.json, whose SHA-256 was kept; see: transect verify "
            f"run {folder}",
            error=True,
        )
    return result


def _report(folder: Path, shares: Sequence[TableLike], given: ReportSettings) -> AuditResult:
    stored = report_options.read(folder)
    settings = report_options.over(stored, given)
    paths = runs_of(folder)
    folders = [FinishedRun(path, finished_run.MEMORY) for path in paths]
    specs_of = [each.spec for each in folders]  # refuses what is no audit before tables are read
    runs = [finished_run.opened(each) for each in folders]
    try:
        counting = finished_run.counting(runs, settings)
    except BadInput as error:
        if stored == ReportSettings():
            raise
        raise BadInput(f"{error}; {folder / SETTINGS} keeps the options of earlier reports") from None
    studies = [findings.analyse(run, counting) for run in runs]
    if given.boundary is not None:
        report_options.check_boundary_has_steps(any(study.in_steps for study in studies))
    if settings != stored:
        report_options.write(folder, settings)
    # An experiment comes first: shares are of its levels, and not of steps λ or of what other studies observed.
    order = sorted(studies, key=lambda study: study.in_steps or not study.design.levels)
    attributes = {name: attribute for study in reversed(order) for name, attribute in study.attributes.items()}
    populations = [read_shares(source, attributes, f"shares {n}") for n, source in enumerate(shares, start=1)]
    for population in populations:
        check_levels(population, _shown_levels(studies), attributes)
    controls = [findings.read(path) for path in paths]
    notes = [note for _, unfinished in controls for note in unfinished]
    found = [RunFindings(run, study, counting.bins) for run, study in zip(runs, studies, strict=True)]
    notes += dict.fromkeys(note for spec in specs_of for note in truth_notes(spec))
    specs = {json.dumps(study.spec.generator.directions): study.spec for study in studies}
    notes += [note for spec in specs.values() for note in fitted_directions.limits(spec)]
    return publish(
        folder,
        studies,
        [control for control, _ in controls],
        shares=populations,
        limits=notes,
        sections=all_sections.of_runs(folder, found),
        margins=counting.margins,
        again=Estimates({each.run.spec.name: each for each in found}),
        title=one_line(settings.title or ""),
        cautions=list(unfinished.unfinished_sentences(folder)),
    )


def _shown_levels(studies: Sequence[findings.Findings]) -> dict[str, set[float]]:
    """Every level at which an experiment showed an attribute."""
    shown: dict[str, set[float]] = {}
    for study in studies:
        for name, levels in {} if study.in_steps else study.design.levels.items():
            shown.setdefault(name, set()).update(levels)
    return shown


def truth_notes(spec: RunSpec) -> list[str]:
    """What the truth of a detector means where it is not that each image shows a face."""
    return [
        f"The truth of {target.name} is {target.truth.text}. An error is a detection when the truth is no, or no "
        f"detection when it is yes. This evaluates the target as a detector of {target.truth.attribute}; for a face "
        f"detector give --truth '{target.name}=face'."
        for target in spec.targets
        if target.task is Task.DETECTION and target.truth is not None and target.truth.attribute != FACE
    ]
