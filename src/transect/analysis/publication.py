"""Publishes findings: p corrected, results.json, effects.parquet, report.html."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from transect import __version__
from transect.analysis import families, selection
from transect.analysis.audit_result import AuditNumbers, AuditResult
from transect.analysis.extending import with_always_valid
from transect.analysis.findings import Findings
from transect.analysis.further import Further, analyse_further
from transect.analysis.galleries import merge
from transect.analysis.replicated import in_one_report
from transect.analysis.sections import build as build_sections
from transect.analysis.verdicts import ALPHA, Again, AttributeVerdict, judge_all, leads
from transect.analysis.warnings import failed_edits, warnings_of
from transect.effects.analysis import CORRECTIONS, MAX_T, adjust, adjust_together, distinct_tests
from transect.effects.intervals import SOURCES
from transect.effects.preferences import PREFERRED
from transect.effects.repeated import clusters_of
from transect.effects.samples import SAME_FOR_ALL
from transect.effects.selection import SOURCES as SOURCES_OF_SELECTION
from transect.effects.shares import PopulationShares
from transect.records import Effect
from transect.reports.entries import EffectEntry
from transect.reports.records import Section
from transect.reports.wording import short_name
from transect.runs import mounts
from transect.runs.folder import write_atomically
from transect.runs.inputs import choice
from transect.runs.plain_json import plain
from transect.runs.progress import stage
from transect.runs.spec import RunSpec
from transect.runs.wording import spaced

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
    correction: str = "holm",
    models: Sequence[str] = (),
    limits: Sequence[str] = (),
    sections: Sequence[Section] = (),
    margins: Mapping[str, float] | None = None,
    again: Again | None = None,
    cautions: Sequence[str] = (),
) -> AuditResult:
    """Write effects.parquet, results.json and report.html of one or several studies.

    All effects are one family: their p-values are adjusted together, by "holm", "benjamini-hochberg" or "max-t". Where
    an experiment was made in several worlds, the effects of each study are a family (`families`).
    controls: the negative control of each study, or None. shares: populations to project to. models: regression
    models to adjust errors by (`sections.models`). limits: further limits that the page states. sections:
    further sections, after the standard ones. margins: of equivalence, by outcome. again: estimates an effect with an
    interval of another level, for verdicts. cautions: what must be checked first, before what is found here.

    Raises UnknownName for another correction or model.
    """
    from transect.reports.page import publish as write_page

    effects = _adjusted(studies, correction)
    further = analyse_further(studies, controls or [None] * len(studies), shares, effects, ALPHA, correction)
    names = [study.spec.name for study in studies for _ in study.effects]
    entries = [_effect_entry(name, effect) for name, effect in zip(names, effects, strict=True)]
    worlds = in_one_report.of(folder, studies, entries, margins or {})
    built = [*build_sections([answers for study in studies for answers in study.answers], models), *sections]
    built = [*in_one_report.sections(worlds), *built]
    judged = _in_order(judge_all(studies, effects, margins or {}, again), effects)
    picked = selection.select(studies, effects, leads(judged), again)
    verdicts = selection.with_sizes(judged, effects, picked)
    whole = {
        **_results(studies, effects, entries, further, built, correction, [*limits, *_left_out(effects)]),
        "verdicts": plain(verdicts),
        "replicated": [] if worlds is None else list(worlds.answer),
        "selection": plain(picked),
        "warnings": [*cautions, *failed_edits(sections), *warnings_of(studies, verdicts)],
    }
    stage("page")
    mounts.discard(folder / CHECKS)  # they are of the results of before
    results = write_page(whole, merge([study.gallery for study in studies]), folder)
    write_atomically(folder / "effects.parquet", _parquet(entries))
    return AuditResult(AuditNumbers(effects), folder, results)


def _adjusted(studies: Sequence[Findings], correction: str) -> tuple[Effect, ...]:
    effects = [effect for study in studies for effect in _extendable(study)]
    columns = [column for study in studies for column in study.differences]
    together = choice("correction", correction, CORRECTIONS) == MAX_T

    def correct(part: slice) -> Sequence[Effect]:
        return adjust_together(effects[part], columns[part]) if together else adjust(effects[part], correction)

    return families.corrected(effects, families.of_effects(studies), correct)


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


def _in_order(verdicts: Sequence[AttributeVerdict], effects: Sequence[Effect]) -> list[AttributeVerdict]:
    """As the page lists them: found, not judged, cannot tell, no difference; rates first, then by size; checks last."""
    ranks = ("found", "not judged", "cannot tell", "no difference", "not estimable")

    def key(verdict: AttributeVerdict) -> tuple[bool, int, bool, float]:
        effect = None if verdict.effect is None else effects[verdict.effect]
        other = effect is None or not effect.unit.startswith("proportion")
        return (
            verdict.check and verdict.verdict == "found",
            ranks.index(verdict.verdict),
            other,
            0.0 if effect is None else -abs(effect.estimate),
        )

    return sorted(verdicts, key=key)


def _extendable(study: Findings) -> tuple[Effect, ...]:
    about_two = {(effect.target, effect.outcome): True for effect in study.effects if effect.outcome == PREFERRED}
    binary = about_two | {
        (each.target, each.outcome): each.is_binary for each in (answered.measure for answered in study.answered)
    }
    repeat = any(clusters_of(answered.people) is not None for answered in study.answered)
    return with_always_valid(study.effects, study.differences, study.design, binary, people_repeat=repeat)


def _results(
    studies: Sequence[Findings],
    effects: Sequence[Effect],
    entries: Sequence[Mapping[str, object]],
    further: Further,
    sections: Sequence[Section],
    correction: str,
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
        "title": _title(studies),
        "question": _question(studies),
        "studies": [study.entry for study in studies],
        "effects": list(entries),
        "rates": [rate for study in studies for rate in study.rates],
        "family": {
            "size": distinct_tests(effects),
            "method": correction,
            "alpha": ALPHA,
            "by_study": families.in_several_worlds(studies),
        },
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
                if s.generator.of_photographs or world["name"] != rendered[0]["name"]
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


def _targets(studies: Sequence[Findings]) -> list[str]:
    return list(dict.fromkeys(target.name for study in studies for target in study.spec.targets))


def _title(studies: Sequence[Findings]) -> str:
    names = list(_models(studies))
    return f"Audit of {', '.join(names[:3])}" + (f" and {len(names) - 3} more" if len(names) > 3 else "")


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
        does = "does" if len(study.attributes) == 1 else "do"
        held = _listed([spaced(name) for name in study.design.hold])
        kind = f"direct effects, with {held} held" if held else "total effects"
        parts.append(f"How {does} {names} change the answers of {targets} ({kind})?")
    return " ".join(dict.fromkeys(parts))


def _listed(names: Sequence[str]) -> str:
    """Up to six names in a sentence."""
    shown = list(names[:6]) + ([f"{len(names) - 6} more"] if len(names) > 6 else [])
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _citations(
    studies: Sequence[Findings],
    effects: Sequence[Effect],
    sections: Sequence[Section],
    further: Sequence[str],
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


def _effect_entry(study: str, effect: Effect) -> dict[str, object]:
    """The effect under the names of `EffectEntry`, whose test keeps it in step with `Effect`."""
    values = plain(effect)
    return {"study": study, "from": values.pop("origin"), **values}


def _parquet(entries: Sequence[Mapping[str, object]]) -> bytes:
    flat = [
        {**entry, **{name: json.dumps(entry[name], sort_keys=True) for name in ("excluded", "spec")}}
        for entry in entries
    ]
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(flat, schema=EFFECTS), sink, compression="zstd")
    return sink.getvalue()


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
