"""The correlations of the attributes of observed images, as a matrix: which ones will be hard to separate."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from transect.analysis.sections.answers import Answers, nominal, table, words
from transect.effects.perception import Correlations, correlations
from transect.effects.sensitivity import SOURCE
from transect.reports.records import Section, Table
from transect.runs.wording import counted

KEY: Final = "correlated"
_TEXT: Final = (
    "Pearson's correlation of every pair of attributes over the images that have both, {least:,} to {most:,} of them "
    "(Denton et al. 2019, Fig. 3). The shade is its size. Where two attributes come together, images at one level of "
    "the one are mostly at one level of the other: their effects, and their directions in a latent space, are hard to "
    "separate."
)
FEWEST: Final = 10
"""Images that have both attributes, below which a correlation is not shown: chance alone often makes it large."""
_FEW: Final = (
    "Blank where fewer than {fewest} images have both attributes, since chance alone often makes a large correlation "
    "of so few: {pairs}, of {least:,} to {most:,} images."
)
_LEFT_OUT: Final = "Left out, since they do not vary or their levels have no order: {names}."


def section(answers: Answers) -> Section | None:
    """The matrix of one study's observed images; None with fewer than two attributes that vary."""
    if answers.design.levels:
        return None
    varies = {name: values for name, values in answers.values.items() if _varies(answers, name)}
    if len(varies) < 2:
        return None
    matrix, few = enough(correlations(varies))
    pairs = matrix.rows[~np.eye(len(varies), dtype=bool)]
    lost = [words(name) for name in answers.values if name not in varies]
    text = [_TEXT.format(least=int(pairs.min()), most=int(pairs.max()))]
    return Section(
        key=KEY,
        study=answers.study,
        title=f"Correlations of attributes: {answers.study}",
        text=[*text, *few, *([_LEFT_OUT.format(names=", ".join(lost))] if lost else [])],
        tables=[matrix_table("Correlations of attributes", matrix.names, matrix.values)],
        sources=[SOURCE],
    )


def enough(matrix: Correlations) -> tuple[Correlations, list[str]]:
    """The correlations of pairs that at least `FEWEST` images have, the others NaN; and a sentence on those."""
    few = matrix.rows < FEWEST
    images = matrix.rows[np.triu(few, 1)]
    text = _FEW.format(
        fewest=FEWEST,
        pairs=counted(len(images), "pair"),
        least=int(images.min(initial=FEWEST)),
        most=int(images.max(initial=0)),
    )
    return replace(matrix, values=np.where(few, np.nan, matrix.values)), [text] if len(images) else []


def _varies(answers: Answers, name: str) -> bool:
    known = answers.values[name][np.isfinite(answers.values[name])]
    return len(known) > 0 and bool(np.ptp(known) > 0) and not nominal(answers.attributes.get(name))


def matrix_table(title: str, names: tuple[str, ...], values: np.ndarray) -> Table:
    """A shaded table of values from -1 to 1 [k, k]; columns are named by the numbers of the rows."""
    heads = [("attribute", "text"), *((str(place), "number") for place in range(1, len(names) + 1))]
    rows = [[f"{place} {words(name)}", *values[place - 1]] for place, name in enumerate(names, start=1)]
    return replace(table(title, heads, rows), shaded=True)
