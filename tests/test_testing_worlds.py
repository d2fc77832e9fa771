"""check_world and the optional members of targets: good ones pass, and for every clause there is one that breaks it."""

import numpy as np
import pyarrow as pa
import pytest

from transect.generators import FaceWorld
from transect.records import Attribute, Predictions, Quote, Task
from transect.testing import ContractBroken, check_target, check_world


class Base:
    """A small world around FaceWorld, of two attributes."""

    name, image_size, latent_dim = "small", 32, FaceWorld.latent_dim
    attributes = tuple(one for one in FaceWorld(image_size=32).attributes if one.name in ("age", "glasses"))

    def __init__(self):
        self.world = FaceWorld(image_size=32, threads=1)

    def sample(self, seeds):
        return self.world.sample(seeds)

    def render(self, latents):
        return self.world.render(latents)

    def read(self, latents):
        return self.world.read(latents).select(["age", "glasses"])

    def set(self, latents, values, hold=()):
        known = [attribute.name for attribute in self.attributes]
        for name in values if isinstance(values, dict) else values.column_names:
            if name not in known:
                from transect.errors import UnknownName

                raise UnknownName("attribute", name, known)
        return self.world.set(latents, values, hold)


def world(**members):
    return type("Changed", (Base,), members)()


def test_a_world_passes_with_and_without_optional_members():
    check_world(Base())
    truths = {"truth_attributes": (Base.attributes[0],), "truths": lambda self, latents: self.read(latents)}
    validity = {"photometry_validated": False, "statement": "not measured"}
    check_world(world(describe=lambda _: {"name": "small"}, validity=lambda _: validity, **truths))


COUNTER = iter(range(99))


@pytest.mark.integration
@pytest.mark.parametrize(
    ("members", "clause"),
    [
        ({"describe": lambda _: {"array": np.zeros(2)}}, "describe: expected plain values"),
        ({"describe": lambda _: {"n": next(COUNTER)}}, "describe: expected the same description"),
        ({"validity": lambda _: {"statement": "good"}}, "validity: expected photometry_validated"),
        ({"usual_levels": {"age": (20.0, 500.0)}}, "usual_levels: expected allowed values"),
        (
            {
                "truth_attributes": (Attribute("smile", "continuous", "smile"),),
                "truths": lambda _, latents: pa.table({"age": np.zeros(len(latents))}),
            },
            "truths: expected a column for each",
        ),
        ({"sample_unedited": lambda self, _: self.sample([1])}, "sample_unedited: expected one row per seed"),
    ],
)
def test_each_clause_catches_a_world_that_breaks_it(members, clause):
    with pytest.raises(ContractBroken, match=clause):
        check_world(world(**members))


class Answers:
    """Keeps the contract: mean brightness."""

    name, task = "brightness", Task.BINARY

    def predict(self, images):
        scores = images.pixels.mean(axis=(1, 2, 3), dtype=np.float64) / 255
        return Predictions(Task.BINARY, scores[:, None], ("",) * len(images))


QUOTE = Quote("brightness", images=3, calls=3, cost=0.1, currency="USD")
PAID = {"metered": True, "quote": lambda *_: QUOTE, "calls_made": lambda _: (0, 0.0)}


def target(**members):
    return type("Changed", (Answers,), members)()


def test_a_target_passes_with_all_optional_members():
    more = {"asked_again": lambda _: None, "close": lambda _: None}
    check_target(target(threshold=0.5, labels=("no", "yes"), positive="yes", patience=3, **PAID, **more))


@pytest.mark.parametrize(
    ("members", "clause"),
    [
        ({"threshold": float("nan")}, "threshold: expected a finite number"),
        ({"positive": "maybe", "labels": ("no", "yes")}, "positive: expected one of the labels no, yes"),
        ({"patience": -1}, "patience: expected seconds"),
        ({"box_convention": (0, 0, 1, 1)}, "box_convention: expected a BoxConvention"),
        ({"metered": True}, "metered: expected quote and calls_made"),
        ({**PAID, "quote": lambda *_: 3}, "quote: expected a transect.records.Quote"),
        ({"asked_again": lambda _: {"rounds": []}}, "asked_again: expected None or a mapping"),
    ],
)
def test_each_optional_member_of_a_target_is_checked(members, clause):
    with pytest.raises(ContractBroken, match=clause):
        check_target(target(**members))
