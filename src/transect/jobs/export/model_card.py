"""A section of a model card: metadata in the form of Hugging Face's model-index, and what it means in words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from transect.jobs.export.words import (
    cell,
    effect_cells,
    effect_headings,
    effect_name,
    level,
    outcome,
    rate_numbers,
    tasks,
    tests,
)
from transect.runs.folder import write_atomically

_TASKS: Final = {
    "binary": "image-classification",
    "multiclass": "image-classification",
    "multilabel": "image-classification",
    "detection": "object-detection",
    "regression": "other",
    "embedding": "image-feature-extraction",
}
"""The names of tasks on the Hugging Face Hub; "other" where it has none."""
_OTHER_KEYS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Words that YAML reads as something else unless they are quoted."""
_MARKDOWN: Final = re.compile(r"([\\`*_\[\]<>|#])")


def metadata(results: Mapping[str, Any], model: str) -> dict[str, Any]:
    """The model-index: a result per target and study, with a metric for each overall rate and each effect.

    args of a metric: the ends of its interval, p adjusted, the numbers of subjects and images, and the unit.
    """
    entries = []
    for study in results["studies"]:
        for target in study["targets"]:
            metrics = _metrics(results, study["name"], target["name"])
            if metrics:
                entries.append(
                    {
                        "task": {"type": _TASKS.get(target["task"], "other"), "name": target["task"]},
                        "dataset": {"name": f"{results['world']['name']}, {study['name']}", "type": "transect-audit"},
                        "metrics": metrics,
                    }
                )
    return {"model-index": [{"name": model, "results": entries}]}


def _metrics(results: Mapping[str, Any], study: str, target: str) -> list[dict[str, Any]]:
    """Overall rates, then effects; what is not estimable has no value and is named in the text."""

    def mine(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [row for row in rows if (row["study"], row["target"]) == (study, target)]

    overall = [
        _metric(_kind(row), f"{outcome(row, results)}, {cell(row, results)}", row["rate"], row)
        for row in mine(results["rates"])
        if row["order"] == 0 and row["rate"] is not None
    ]
    changes = [
        _metric(f"{row['outcome']}_change", f"{outcome(row, results)}, {effect_name(row)}", row["estimate"], row)
        for row in mine(results["effects"])
        if row["estimate"] is not None
    ]
    return overall + changes


def _kind(row: Mapping[str, Any]) -> str:
    return f"{row['outcome']}_rate" if row["unit"] == "proportion" else f"mean_{row['outcome']}"


def _metric(kind: str, name: str, value: float, row: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("low", "high", "p_adjusted", "n_subjects", "n_images", "unit")
    return {"type": kind, "name": name, "value": value, "args": {key: row.get(key) for key in kept}}


def yaml(value: object, indent: int = 0) -> str:
    """Mappings, lists and scalars as YAML in block style; texts are quoted as in JSON, which YAML reads alike.

    >>> print(yaml({"name": "a: b", "list": [{"x": 1}]}))
    name: "a: b"
    list:
      - x: 1
    """
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
    r"""A text of others in a cell of a Markdown table: one line in which nothing is markup.

    >>> plain_text("a|b <img>")
    'a\\|b \\<img\\>'
    """
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [list(headings), ["---"] * len(headings), *([plain_text(text) for text in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def _basis(results: Mapping[str, Any]) -> str:
    if all(study["basis"] == "experimental" for study in results["studies"]):
        return "set by experiment on rendered or generated images"
    return "observed, so that differences are associations"


def section(results: Mapping[str, Any], model: str) -> str:
    """The card: front matter, then the section "Bias evaluation" with effects, overall rates and limits."""
    effects = [effect_cells(row, results) for row in results["effects"]]
    rates = [
        [row["target"], outcome(row, results), *rate_numbers(row), f"{row['n_images']:,}"]
        for row in results["rates"]
        if row["order"] == 0
    ]
    targets = ", ".join(dict.fromkeys(plain_text(name) for _, name in tasks(results)))
    lines = [
        "---",
        yaml(metadata(results, model)),
        "---",
        "",
        "## Bias evaluation",
        "",
        plain_text(results["question"]),
    ]
    lines += ["", f"Attributes were {_basis(results)}. Targets: {targets}.", ""]
    lines += [*_table(effect_headings(results), effects), "", plain_text(tests(results)), ""]
    lines += _table(["Model", "Outcome", "Over all images", f"{level(results)} interval", "Images"], rates)
    lines += ["", "### What this cannot show", "", *(f"- {plain_text(limit)}" for limit in results["limits"]), ""]
    version = plain_text(results["transect_version"])
    return "\n".join([*lines, f"Measured with Transect {version}.", ""])


def write(results: Mapping[str, Any], model: str, out: Path) -> list[Path]:
    """Write model-card.md."""
    path = out / "model-card.md"
    write_atomically(path, section(results, model))
    return [path]
