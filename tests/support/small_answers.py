"""Small tables of answers for the tests of the sections, whose numbers can be worked out by hand."""

from dataclasses import fields

import numpy as np
from pydantic import TypeAdapter

from transect.analysis.sections.answers import Answers
from transect.records import Attribute, Design, Task
from transect.reports.records import Section
from transect.runs.json_records import plain
from transect.runs.spec import StepSize

AGE = Attribute("age", "continuous", "apparent age", unit="years", low=20, high=80)
TONE = Attribute("skin_tone", "continuous", "tone of the skin", unit="Monk", low=1, high=10)
GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
SMILE = Attribute("smile", "binary", "smiles", levels=("no", "yes"))
HAIR = Attribute("hair", "categorical", "hair style", levels=("bald", "bun", "long"))
LAMBDA = Attribute("age", "continuous", "apparent age; steps of 30 years", unit="λ", low=-1, high=1)
KNOWN = {one.name: one for one in (AGE, TONE, GLASSES, SMILE, HAIR)}
ARRAYS = ("scores", "answers", "truth", "errors")


def answers(design, *, scores=None, answers=None, truth=None, values=None, perceived=None, subjects=None, **more):
    """Answers of a design; what follows from the rest (answers, errors, values of an experiment) is filled in."""
    n = design.n_images
    column = {"scores": scores, "answers": answers, "truth": truth}
    column = {name: np.full(n, np.nan) if x is None else np.array(x, dtype=float).reshape(n) for name, x in column.items()}  # fmt: skip
    task = more.pop("task", Task.BINARY)
    threshold = more.pop("threshold", 0.5)
    if answers is None and task is not Task.REGRESSION:
        column["answers"] = np.where(np.isfinite(column["scores"]), column["scores"] >= threshold, np.nan)
    wrong = np.abs(column["answers" if task is not Task.REGRESSION else "scores"] - column["truth"])
    values = {name: np.array(x, dtype=float) for name, x in (values or settings(design)).items()}
    known = {**KNOWN, **more.pop("attributes", {})}
    return Answers(
        study=more.pop("study", "experiment" if design.levels else "observation"),
        target="small",
        task=task,
        design=design,
        attributes={name: known[name] for name in values},
        subjects=np.repeat(np.arange(design.subjects), design.n_cells) if subjects is None else np.array(subjects),
        cells=np.tile(np.arange(design.n_cells), design.subjects),
        errors=more.pop("errors", wrong),
        threshold=threshold,
        truth_attribute=more.pop("truth_attribute", ""),
        values=values,
        perceived={name: np.array(x, dtype=float) for name, x in (perceived or {}).items()},
        **column,
        **more,
    )


def settings(design):
    """The values that an experiment set, image by image."""
    grid = np.array([list(cell.values()) for cell in design.cells()])
    return {name: np.tile(grid[:, place], design.subjects) for place, name in enumerate(design.levels)}


def stepped(steps, **more):
    """A walk in steps λ of age."""
    scores = more.get("scores", more.get("answers"))
    design = Design({"age": tuple(steps)}, subjects=len(scores))
    values = {"age": np.tile(np.array(steps), len(scores))}
    size = StepSize("age", 30.0, "years", more.pop("moved_by", "half-range"))
    return answers(design, values=values, attributes={"age": LAMBDA}, steps=size, study="steps-age", **more)


def checked(section):
    """The section as JSON values, which read back as the same section."""
    content = plain(section)
    assert plain(TypeAdapter(Section).validate_python(content)) == content
    return content


def rows(section, title):
    """Rows of the table whose title begins so, each by column."""
    (table,) = [one for one in plain(section)["tables"] if one["title"].startswith(title)]
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def points(figure, panel, series):
    """Points of a panel's series by names: (x or label) -> value."""
    (found,) = [one for one in plain(figure)["panels"] if one["heading"].startswith(panel)]
    (line,) = [one for one in found["series"] if one["name"] == series]
    return {one["label"] if one.get("x") is None else one["x"]: one["value"] for one in line["points"]}


assert set(ARRAYS) < {one.name for one in fields(Answers)}
