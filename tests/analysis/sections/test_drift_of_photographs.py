"""The table of effects adjusted for drift: images of one photograph are compared, not photographs of one person."""

from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pytest

from transect.analysis.finished_run import Run
from transect.analysis.sections import edits as drift
from transect.records import Attribute, Design, Effect
from transect.runs.spec import TargetEntry

GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))


def test_photographs_of_one_person_are_not_compared(monkeypatch):
    """Of 20 people two photographs each; the light moves reading and answer, and nothing drifts: the effect is .2."""
    table = table_of(monkeypatch)
    (row,) = table.rows
    assert dict(zip(table.columns, row, strict=True))["adjusted"] == pytest.approx(0.2, abs=0.02)


def test_the_raw_effect_of_other_images_says_of_which_and_has_no_interval(monkeypatch):
    """Two images without a reading, of two photographs: 38 pairs are left, by hand."""
    table = table_of(monkeypatch, unread=(0, 5))
    row = dict(zip(table.columns, table.rows[0], strict=True))
    differences = np.diff(answers_of().reshape(40, 2), axis=1).ravel()
    assert row["raw"] == pytest.approx(np.delete(differences, [0, 2]).mean())
    assert (row["raw: low"], row["raw: high"]) == (None, None)
    assert row["note"] == "raw: of the 78 of 80 images with every reading"
    assert row["images"] == 78


def planted():
    draws = np.random.default_rng(0)
    picture, on = np.repeat(np.arange(40), 2), np.tile([0.0, 1.0], 40)
    light = draws.normal(size=40)[picture]
    age = -light + 0.01 * draws.normal(size=80)
    return picture, on, age, 0.2 * on + 2 * light + 0.01 * draws.normal(size=80)


def answers_of():
    return planted()[3]


def table_of(monkeypatch, unread=()):
    picture, on, age, values = planted()
    age[list(unread)] = np.nan
    images = pa.table({"subject": picture, "intended.glasses": on})
    edits = pa.table({"subject": picture, "reading.age": age})
    target = Mock(TargetEntry)
    target.name = "m"
    run = Mock(Run)
    run.configure_mock(
        design=Design({"glasses": (0.0, 1.0)}, subjects=40), images=images, people=picture // 2,
        attributes={"glasses": GLASSES}, spec=SimpleNamespace(targets=[target]), outcomes=lambda _: ("score",),
    )  # fmt: skip
    answers = SimpleNamespace(values=values, unit="logit")
    monkeypatch.setattr(drift, "TargetOutcomes", lambda *_: SimpleNamespace(outcome=lambda _: answers))
    reported = Effect(
        7.0, 6.0, 9.0, name="glasses: off to on", attribute="glasses", target="m", outcome="score", p=0.5,
        unit="logit", n_subjects=20, n_images=80, origin=0.0, to=1.0,
    )  # fmt: skip
    return drift.adjusted_table(run, edits, np.arange(80), [reported])
