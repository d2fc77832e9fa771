"""What counts as correct where no physical truth exists: the mean or majority of the ratings.

DIR/reference.json   {"truth": TEXT}, in a run's folder; changes no image, no answer and no rating
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Float

from transect.effects.truth import Truth
from transect.errors import BadInput
from transect.records import Attribute, Task
from transect.runs.folder import write_json
from transect.runs.plain_json import loads

FILE: Final = "reference.json"


def store(folder: Path, truth: Truth) -> None:
    """Store the reference in a run's folder, so that a later report uses it too."""
    write_json(folder / FILE, {"truth": truth.text}, indent=None)


def stored(folder: Path, known: Mapping[str, Attribute]) -> Truth | None:
    """The reference in a run's folder; None where there is none. Raises BadInput for a file that holds none."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        text = str(loads(path.read_text(encoding="utf-8"))["truth"])
    except (ValueError, TypeError, KeyError):
        raise BadInput(f"{path}: expected a reference; delete it, or give --reference again") from None
    return parse(text, known)


def parse(text: str, known: Mapping[str, Attribute]) -> Truth:
    """The reference that a text states, as `--truth` is written; of an attribute of the run, or of any rating.

    Raises BadInput for another syntax, or a level that the attribute has not.

    >>> parse("gender >= 0.5", {}).attribute
    'gender'
    """
    name = _name(text)
    return Truth.parse(text, {name: known[name]} if name in known else None)


def _name(text: str) -> str:
    """The attribute of a text whose value may be a level's name."""
    match = re.match(r"\s*([A-Za-z_]\w*)", text)
    return match[1] if match else Truth.parse(text).attribute


def labels(
    truth: Truth, seen: Float[np.ndarray, " n"], task: Task, attribute: Attribute | None
) -> Float[np.ndarray, " n"]:
    """The reference answer of each image: raters' mean for a number, else the side of it or their majority, 0 or 1.

    seen: mean ratings (of levels in no order the most common ones); NaN: no answer, or a tie, and the image has no
    reference. Raises BadInput where a yes or no is wanted and the reference is a number.

    >>> labels(Truth.parse("gender>=0.5"), np.array([0.2, 0.7, np.nan]), Task.BINARY, None)
    array([ 0.,  1., nan])
    """
    if task is Task.REGRESSION and not truth.comparison:
        return seen
    answers, _ = truth.as_rated(seen, attribute)
    if len(answers) != len(seen):
        raise BadInput(
            f"--reference {truth.text}: expected a yes or no for a {task} target, got a number; compare it with a "
            f"value, for example '{truth.attribute}>=0.5'"
        )
    return answers
