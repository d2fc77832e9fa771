"""A transect design: which rows it makes, and which designs it refuses."""

import numpy as np
import pyarrow as pa
import pytest

from transect.designs import transect_design, transect_latents
from transect.errors import BadInput
from transect.records import Attribute, Latents

TONE = Attribute("skin_tone", "continuous", "tone of the skin", low=1, high=10)
GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
WORLD = (TONE, GLASSES)


class Recorder:
    """Controls that write the settings into the latents as they are given."""

    attributes = WORLD

    def read(self, latents):
        return pa.table(dict(latents.settings))

    def set(self, latents, values, hold=()):
        self.hold = tuple(hold)
        return Latents(latents.seeds, latents.values, latents.space, {**latents.settings, **values})


def test_rows_are_subject_major_and_the_last_attribute_is_fastest():
    design = transect_design(["skin_tone=1,10", "glasses"], WORLD, subjects=2, seed=1)
    base = Latents(design.subject_seeds(), np.zeros((2, 3)))
    rows = transect_latents(design, base, Recorder())
    # 2 subjects x (2 tones x 2 glasses): each subject sees (1, off) (1, on) (10, off) (10, on)
    assert rows.seeds.tolist() == [2**32] * 4 + [2**32 + 1] * 4
    assert rows.settings["skin_tone"].tolist() == [1, 1, 10, 10] * 2
    assert rows.settings["glasses"].tolist() == [0, 1, 0, 1] * 2


@pytest.mark.parametrize(
    ("vary", "more", "message"),
    [
        ([], {}, "nothing to compare: give --vary ATTRIBUTE, or --population P --images N"),
        (["glasses"], {"subjects": 0}, "--subjects: expected 1 or more, got 0"),
        (["glasses"], {"hold": ["glasses"]}, "glasses is both varied and held: drop it from --vary or from --hold"),
        (
            ["skin_tone=1:10:6000", "glasses"],
            {},
            "12000 cells per subject exceed 10000: vary fewer attributes or levels",
        ),
    ],
)
def test_refused_designs(vary, more, message):
    with pytest.raises(BadInput) as error:
        transect_design(vary, WORLD, **{"subjects": 5, **more})
    assert str(error.value) == message


def test_runs_never_share_subjects():
    one = transect_design(["glasses"], WORLD, subjects=100, seed=0).subject_seeds()
    two = transect_design(["glasses"], WORLD, subjects=100, seed=1).subject_seeds()
    assert not set(one) & set(two)
