"""The table of effects adjusted for drift: images of one photograph are compared, not photographs of one person."""

from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pytest

from transect.analysis.finished_run import Run
from transect.analysis.sections import drift
from transect.records import Attribute

GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))


def test_photographs_of_one_person_are_not_compared(monkeypatch):
    """Of 20 people two photographs each; the light moves reading and answer, and nothing drifts: the effect is .2."""
    draws = np.random.default_rng(0)
    picture, on = np.repeat(np.arange(40), 2), np.tile([0.0, 1.0], 40)
    light = draws.normal(size=40)[picture]
    images = pa.table({"subject": picture, "intended.glasses": on})
    edits = pa.table({"subject": picture, "reading.age": -light + 0.01 * draws.normal(size=80)})
    target = SimpleNamespace(name="m")
    run = Mock(Run)
    run.configure_mock(
        design=SimpleNamespace(levels={"glasses": (0.0, 1.0)}), images=images, people=picture // 2,
        attributes={"glasses": GLASSES}, spec=SimpleNamespace(targets=[target]), outcomes=lambda _: ("score",),
    )  # fmt: skip
    answers = SimpleNamespace(values=0.2 * on + 2 * light + 0.01 * draws.normal(size=80), unit="logit")
    monkeypatch.setattr(drift, "TargetOutcomes", lambda *_: SimpleNamespace(outcome=lambda _: answers))
    table = drift.adjusted_table(run, edits, np.arange(80))
    (row,) = table.rows
    assert dict(zip(table.columns, row, strict=True))["adjusted"] == pytest.approx(0.2, abs=0.02)
