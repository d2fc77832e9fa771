"""Numbers, texts and tables of an audit that several formats share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from transect.errors import BadInput
from transect.reports import wording
from transect.reports.document import rounded
from transect.reports.entries import EffectEntry, EstimatedEntry, JsonObject
from transect.reports.results import RateEntry, Results, read
from transect.runs.folder import slug
from transect.runs.json_records import loads
from transect.runs.wording import spaced

Document = Callable[[Results, str], str]
"""The text about a model: of its results and its name."""
SHARES: Final = "Shares are in per cent."
"""What a reader of `rate_numbers` must know."""
_MINUS: Final = re.compile(r"(?<!\S)-(?=[\d.])")


def tasks(results: Results) -> dict[tuple[str, str], str]:
    """The task of each target, by study and name."""
    return {(s.name, t.name): t.task for s in results.studies for t in s.targets}


def models(results: Results) -> dict[str, Results]:
    """The results of each model alone by its name; a model in words is several targets, `model/question`."""
    targets: dict[str, set[str]] = {}
    for study in results.studies:
        for target in study.targets:
            name = target.name
            model = name.rpartition("/")[0] if target.description.get("kind") == "words" else ""
            targets.setdefault(model or name, set()).add(name)
    known = set().union(*targets.values())
    for row in (*results.effects, *results.verdicts):
        if row.target not in known:  # a question about two images
            name = row.target
            targets.setdefault(name.rpartition("/")[0] or name, set()).add(name)
    return {model: _of_targets(results, names) for model, names in targets.items()}


def _of_targets(results: Results, names: Collection[str]) -> Results:
    studies = [
        study.model_copy(update={"targets": own})
        for study in results.studies
        if (own := [target for target in study.targets if target.name in names])
    ]
    of_rows = {key: [row for row in getattr(results, key) if row.target in names] for key in (*LISTS, "verdicts")}
    return results.model_copy(update={**of_rows, "studies": studies})


def texts_of_models(results: Results, name: str, stem: str, text: Document) -> dict[str, str]:
    """The text of each model by its file, STEM.md of a run with one and STEM-MODEL.md of one with several.

    name: what the model is called in the text, with its own name behind it where there are several.
    """
    found, texts = models(results), dict[str, str]()
    for model, own in found.items():
        called = name if name and len(found) == 1 else f"{name} ({model})" if name else model
        file = stem if len(found) == 1 else f"{stem}-{slug(model)}"
        if f"{file}.md" in texts:  # names that differ in their signs alone
            file = f"{file}-{len(texts) + 1}"
        texts[f"{file}.md"] = text(own, called)
    return texts


def target_rows(results: Results) -> list[list[str]]:
    """A row of texts for each target of each study: name, task and study."""
    return [[t.name, t.task, s.name] for s in results.studies for t in s.targets]


def setting_rows(results: Results) -> list[list[str]]:
    """A row of texts for each setting with which a target was asked: the target, the setting and its value."""
    targets = {t.name: t for s in results.studies for t in s.targets}.values()
    return [[t.name, words, value] for t in targets for words, value, _ in wording.settings_of(t.description)]


def attribute_rows(results: Results, *counts: str) -> list[list[str]]:
    """A row of texts for each attribute: study, name, meaning, levels, source, and counts of the study."""
    return [
        [study.name, spaced(entry.name), entry.meaning, ", ".join(entry.labels), entry.source or "–"]
        + [f"{getattr(study, key):,}" for key in counts]
        for study in results.studies
        for entry in study.attributes
    ]


def outcome(row: EstimatedEntry | RateEntry, results: Results) -> str:
    """What was counted, as "miss rate"."""
    return wording.outcome_words(row.outcome, row.unit.partition(" per ")[0], _task(row, results))


def meanings(rows: Iterable[RateEntry], results: Results) -> list[str]:
    """What each outcome of some rates counts, a sentence each."""
    found = {outcome(row, results): wording.outcome_meaning(row.outcome, _task(row, results)) for row in rows}
    return [f"{name.capitalize()}: {meaning or 'an outcome of the user'}." for name, meaning in found.items()]


def _task(row: EstimatedEntry | RateEntry, results: Results) -> str:
    return tasks(results).get((row.study, row.target), "")  # none of a question about two images


def level(results: Results) -> str:
    """The level of the intervals, as "95 %"."""
    return f"{100 * results.family.confidence:.3g} %"


def effect_headings(results: Results) -> list[str]:
    """Headings of `effect_cells`."""
    return ["Change", "Model", "Outcome", "Effect", f"{level(results)} interval", "Unit", "p (adjusted)", "Subjects"]


def effect_cells(row: EffectEntry, results: Results) -> list[str]:
    """An effect as a row of texts."""
    estimate, ends, p = wording.effect_numbers(row)
    named = [spaced(row.name), row.target, outcome(row, results)]
    return [*named, estimate, ends, wording.unit_words(row.unit), p, f"{row.n_subjects:,}"]


def tests(results: Results) -> str:
    """How p was adjusted, and over how many tests."""
    family = results.family
    return f"p is adjusted by {wording.correction_name(family.method)} over {family.size:,} tests."


def rate_numbers(row: RateEntry) -> tuple[str, str]:
    """A rate and its interval as texts; shares in per cent."""
    style = wording.rate_style(row.unit)
    if row.rate is None:
        return "not estimable", "–"
    ends = "no interval"
    if row.low is not None and row.high is not None:
        ends = f"{rounded(row.low, style)} to {rounded(row.high, style)}"
    return rounded(row.rate, style), ends


def rate_cells(row: RateEntry, results: Results) -> list[str]:
    """A rate as a row of texts: model, outcome, rate, interval, images."""
    return [row.target, outcome(row, results), *rate_numbers(row), f"{row.n_images:,}"]


def cell(row: RateEntry, results: Results) -> str:
    """The levels that a rate is at, as people read them: "glasses on", "light level −4"; "all images" for none."""
    attributes = next(study.attributes for study in results.studies if study.name == row.study)
    labels = {each.name: dict(zip(each.levels, each.labels, strict=True)) for each in attributes}
    levels = {name: labels.get(name, {}).get(value, f"{value:g}") for name, value in row.cell.items()}
    return ", ".join(f"{spaced(name)} {_MINUS.sub('−', level)}" for name, level in levels.items()) or "all images"


_OTHER_KEYS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Words that YAML reads as something else unless they are quoted."""
_MARKUP: Final = re.compile(r"([\\`*_\[\]<>|#])")


def yaml(value: object, indent: int = 0) -> str:
    """Mappings, lists and scalars as YAML in block style; texts are quoted as in JSON, which YAML reads alike."""
    pad = " " * indent
    if isinstance(value, Mapping):
        return "\n".join(f"{pad}{_key(str(key))}:{_after(item, indent)}" for key, item in value.items())
    if isinstance(value, list):
        return "\n".join(f"{pad}- {yaml(item, indent + 2).lstrip()}" for item in value)
    return pad + json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    plain = re.fullmatch(r"[A-Za-z][\w-]*", name) and name.lower() not in _OTHER_KEYS
    return name if plain else json.dumps(name, ensure_ascii=False)


def _after(item: object, indent: int) -> str:
    if isinstance(item, Mapping | list) and item:
        return "\n" + yaml(item, indent + 2)
    return " " + json.dumps(item, ensure_ascii=False)


def plain_text(text: str) -> str:
    """A text of others in a line or in a cell of a table: one line in which nothing is markup."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], absent: str) -> list[str]:
    """The lines of a table between empty lines, or the sentence `absent` where there is no row."""
    if not rows:
        return ["", absent, ""]
    lines = [list(headings), ["---"] * len(headings), *([plain_text(text) for text in row] for row in rows)]
    return ["", *(f"| {' | '.join(line)} |" for line in lines), ""]


def bullets(items: Sequence[str]) -> list[str]:
    """The lines of a list between empty lines."""
    return ["", *(f"- {plain_text(item)}" for item in items), ""]


def to_state(*items: str) -> list[str]:
    """What a run cannot know, as places that the reader fills in.

    >>> to_state("who trained the model")
    ['', '- **To state:** who trained the model.', '']
    """
    return ["", *(f"- **To state:** {item}." for item in items), ""]


def document(lines: Sequence[str]) -> str:
    """The text of all lines, with one empty line where there are several."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


LISTS: Final = ("effects", "rates", "interactions", "negative_controls")
"""The lists of results.json that become tables; empty ones do not."""


def results_of(run: Path) -> Results:
    """The results of an audit. Raises BadInput where there are none to read."""
    return _read(run)[1]


def content_of(run: Path) -> JsonObject:
    """What results.json of an audit holds, checked. Raises BadInput where there is none to read."""
    return _read(run)[0]


def _read(run: Path) -> tuple[JsonObject, Results]:
    path = run / "results.json" if run.is_dir() else run
    try:
        content = loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise BadInput(
            f"{run}: expected the folder of a finished audit, with results.json; other jobs: --to figures"
        ) from None
    if not isinstance(content, dict):
        raise BadInput(f"{path}: expected the results of an audit as a JSON object, got {type(content).__name__}")
    try:
        return content, read(content)
    except BadInput as failure:
        again = f"of another version? write them again: transect report {path.parent}"
        raise BadInput(f"{path}: {failure}; {again}") from None


def tables_of(content: JsonObject) -> dict[str, pa.Table]:
    """Each table by name; settings and lists within a row are JSON texts. targets: a row per study and target."""
    rows: dict[str, Sequence[JsonObject]] = {name: content.get(name, []) for name in LISTS}
    rows["targets"] = [
        {"study": study["name"], "subjects": study["subjects"], "seed": study["seed"], **target}
        for study in content["studies"]
        for target in study["targets"]
    ]
    return {name: _table(each) for name, each in rows.items() if each}


def _table(rows: Sequence[JsonObject]) -> pa.Table:
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: [_cell(row.get(name)) for row in rows] for name in names})


def _cell(value: object) -> object:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    return value
