"""check_controls: good controls pass, and for every clause there is one that breaks it alone."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from transect.errors import UnknownName
from transect.generators import FaceWorld
from transect.records import Attribute, Latents
from transect.testing import ContractBroken, check_controls, check_generator


class Chain:
    """Keeps the contract: `effect` follows `cause` (0 to 1) unless it is set or held; `hat` stands alone."""

    attributes = (
        Attribute("cause", "continuous", "a cause"),
        Attribute("effect", "continuous", "what follows", high=2.0),
        Attribute("hat", "binary", "wears a hat", levels=("off", "on")),
    )

    def read(self, latents):
        cause = self._column(latents, "cause", 1 / (1 + np.exp(-latents.values[:, 0])))
        effect = self._column(latents, "effect", cause + 1 / (1 + np.exp(-latents.values[:, 1])))
        hat = self._column(latents, "hat", (latents.values[:, 2] > 0).astype(float))
        return pa.table({"cause": cause, "effect": effect, "hat": hat})

    def set(self, latents, values, hold=()):
        held = self.read(latents).select(list(hold)).to_pydict()
        settings = dict(latents.settings)
        for name, value in {**held, **values}.items():
            known = {attribute.name: attribute for attribute in self.attributes}
            if name not in known:
                raise UnknownName("attribute", name, known)
            column = np.broadcast_to(np.asarray(value, dtype=np.float64), len(latents)).copy()
            settings[name] = np.array([known[name].check(one) for one in column])
        return replace(latents, settings=settings)

    @staticmethod
    def _column(latents, name, natural):
        given = latents.settings.get(name, np.full(len(latents), np.nan))
        return np.where(np.isnan(given), natural, given)


class ReadWithout(Chain):
    def read(self, latents):
        return super().read(latents).drop_columns("hat")


class BeyondRange(Chain):
    attributes = (*Chain.attributes[:1], replace(Chain.attributes[1], high=0.5), Chain.attributes[2])


class Halfway(Chain):
    def set(self, latents, values, hold=()):
        made = super().set(latents, values, hold)
        name = next(iter(values))
        half = (made.settings[name] + super().read(latents)[name].to_numpy()) / 2
        return replace(made, settings={**made.settings, name: half})


class Deaf(Chain):
    def set(self, latents, values, hold=()):
        return super().set(latents, values)


class Centering(Chain):
    def set(self, latents, values, hold=()):
        made = super().set(latents, values, hold)
        return replace(made, values=made.values - made.values.mean(axis=0))


class Overwriting(Chain):
    def set(self, latents, values, hold=()):
        made = super().set(latents, values, hold)
        latents.values[:] += 1e-9
        return replace(made, values=made.values.copy())


class Ignoring(Chain):
    def set(self, latents, values, hold=()):
        known = {attribute.name for attribute in self.attributes}
        return super().set(latents, {name: value for name, value in values.items() if name in known}, hold)


class Clipping(Chain):
    def set(self, latents, values, hold=()):
        bounds = {attribute.name: attribute.bounds for attribute in self.attributes}
        clipped = {name: np.clip(value, *bounds.get(name, (0, 1))) for name, value in values.items()}
        return super().set(latents, clipped, hold)


BROKEN_CONTROLS = [
    (object, "identity: expected a Controls with attributes, read, set, got no attributes, read, set"),
    (ReadWithout, "read: expected a float64 column hat, got cause double, effect double"),
    (BeyondRange, "read: expected effect from 0 to 0.5, got"),
    (Halfway, "set: expected cause = 0, got"),
    (Deaf, "hold (cause set): expected effect = "),
    (Centering, "batch invariance: expected the same latents after cause = 0 alone and in a batch, got other latents"),
    (Overwriting, "frozen input: expected set to leave the latents as they are, got changed latents"),
    (Ignoring, "unknown attribute: expected UnknownName, got no error"),
    (Clipping, "out of range: expected BadInput, got no error"),
]


def chain_latents():
    return Latents(np.arange(4), np.random.default_rng(0).standard_normal((4, 3)))


def test_good_controls_pass():
    check_controls(Chain(), chain_latents())


@pytest.mark.parametrize(("kind", "message"), BROKEN_CONTROLS, ids=lambda value: getattr(value, "__name__", ""))
def test_controls_that_break_one_clause(kind, message):
    with pytest.raises(ContractBroken) as broken:
        check_controls(kind(), chain_latents())
    assert str(broken.value).startswith(message)


def test_controls_that_are_not_exact_need_a_tolerance():
    class Learned(Chain):
        def read(self, latents):
            table = super().read(latents)
            nearly = table["cause"].to_numpy() * 0.98 + 0.01
            return table.set_column(0, "cause", [nearly])

    with pytest.raises(ContractBroken, match=r"set: expected cause = 0, got 0.01"):
        check_controls(Learned(), chain_latents())
    check_controls(Learned(), chain_latents(), tolerance=0.02)


@pytest.mark.integration
def test_face_world_keeps_both_contracts():
    world = FaceWorld(image_size=32)
    check_generator(world)
    check_controls(world, world.sample([0, 1, 2]))
