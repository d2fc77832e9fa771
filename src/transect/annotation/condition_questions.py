"""Questions about the conditions that a run set, whose names are its generator's own (McDuff et al. 2019)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from transect.annotation.questions import SHIPPED, parse
from transect.errors import BadInput
from transect.records import Attribute
from transect.runs import toml_files
from transect.runs.folder import FinishedRun, write_atomically
from transect.runs.spec import RunSpec
from transect.runs.wording import spaced

_YES_OR_NO: Final = ("no", "yes")
_HELP: Final = "Your impression of the picture. This is about how it looks, not about who a person is."
_QUESTION: Final = "[[question]]"


def questions_of(spec: RunSpec) -> str:
    """The TOML of the questions: the picture's quality, then one about each attribute that the run varied."""
    levels = spec.design.levels
    varied = [attribute for attribute in spec.attributes if attribute.name in levels]
    if not varied:
        raise BadInput(
            f"{spec.name}: expected a run that sets attributes; make one with transect render --data-set --vary NAME"
        )
    shipped, _ = toml_files.shipped_or_file("quality", SHIPPED, "questions", "shipped", __package__ or "")
    quality = shipped.rpartition(_QUESTION)[0]  # without its question about one condition
    text = "\n".join([quality.rstrip(), *(_question(each, levels[each.name]) for each in varied)]) + "\n"
    parse(text, "questions of the run's conditions")  # as raters are asked
    return text


def _question(attribute: Attribute, values: Sequence[float]) -> str:
    """One question; the reader may reword all but the attribute and the values."""
    name = spaced(attribute.name)
    names = [attribute.label(value) for value in values]
    asks = f"Does this picture show {name}?" if tuple(names) == _YES_OR_NO else f"Which {name} does the face show?"
    lines = [
        f"  {{ name = {_text(each)}, value = {value} }}," for each, value in zip(names, map(float, values), strict=True)
    ]
    given = {"name": question_name(attribute.name), "text": asks, "help": _HELP, "scale": "nominal"}
    given["attribute"] = attribute.name
    return "\n".join(
        ["", _QUESTION, *(f"{key} = {_text(each)}" for key, each in given.items()), "levels = [", *lines, "]"]
    )


def question_name(attribute: str) -> str:
    """An attribute's name as that of a question.

    >>> question_name("skin_tone"), question_name("5 o'clock")
    ('skin_tone', '_5_o_clock')
    """
    name = re.sub(r"\W", "_", attribute, flags=re.ASCII)[:60]
    return name if re.match("[A-Za-z_]", name) else f"_{name}"


def _text(text: str) -> str:
    """A text as TOML writes it."""
    return json.dumps(text, ensure_ascii=False)


def write_questions(run: str | Path, out: str | Path) -> list[str]:
    """Write a TOML file of questions about the conditions that a run set, and return the questions' names.

    Raises BadInput where the run set nothing, or the file cannot be written.
    """
    if Path(out).exists():
        raise BadInput(f"{out} exists, and its wording would be lost; choose another OUT")
    text = questions_of(FinishedRun(Path(run)).spec)
    write_atomically(Path(out), text.encode())
    return [question.name for question in parse(text, str(out)).question]
