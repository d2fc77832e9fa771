"""Reading back: the layout of answers, a loss that looks only where something is seen, figures of known answers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small_world import Sample, lit, neutral_truth, quick

from transect.generators.faceworld.attributes import ATTRIBUTES, IDENTITY
from transect.jobs.verify import reading as module
from transect.jobs.verify.cache import Cache
from transect.jobs.verify.learning import Batch
from transect.jobs.verify.network import PLACES, new_network
from transect.jobs.verify.reading import Reader, read_back, readings, trained_reader

N = 120
NETWORK = new_network(1, 0, widths=(4, 4))  # never asked: `answers` is replaced


def sample(seed=0, name="sample", n=N):
    generator = np.random.default_rng(seed)
    return Sample(lit(generator.uniform(0, 255, n), generator), neutral_truth(n, generator), name)


def batch(mirrored=False):
    """The first twenty pictures, unmoved."""
    return Batch(np.arange(20), np.full(20, mirrored), np.zeros((20, 2), dtype=np.int64))


def perfect(reader, mirrored=False):
    """The answers of a network that knows everything: standardized numbers, strong votes for levels, right places."""
    said = np.zeros((len(reader.truth), reader.outputs + PLACES))
    said[:20, -PLACES:] = reader.places.shown(batch(mirrored)).reshape(20, PLACES)
    for j, one in enumerate(reader.readings):
        value = reader.truth[:, j]
        if not one.levels:
            said[:, one.start] = (value - reader.center[j]) / reader.scale[j]
        elif one.levels == 2:
            said[:, one.start] = 20 * (2 * value - 1)
        else:
            said[np.arange(len(value)), one.start + value.astype(int)] = 20
    return said


def test_every_attribute_nuisance_and_trait_has_its_own_columns():
    found = readings()
    assert [r.name for r in found if r.role == "identity"] == [f"identity.{trait}" for trait in IDENTITY]
    assert {r.name for r in found if r.role != "identity"} == {a.name for a in ATTRIBUTES}
    taken = [column for r in found for column in range(r.columns.start, r.columns.stop)]
    assert taken == list(range(len(taken)))


def test_the_loss_of_perfect_answers_is_nothing_and_of_wrong_ones_is_not():
    reader = Reader(sample())
    said = torch.from_numpy(perfect(reader)[:20].astype(np.float32))
    assert float(reader.loss(said, batch())) < 1e-5
    assert float(reader.loss(said + 1, batch())) > 0.1


def test_a_mirror_turns_pose_and_light_round():
    reader = Reader(sample())
    turned = sample()
    for name in ("yaw", "roll", "light_azimuth", "identity.hair_parting"):
        turned.truth[name] = -turned.truth[name]
    mirrored = Reader(turned)
    values = np.where(reader.seen, mirrored.truth, reader.truth)
    mirrored.truth, mirrored.center, mirrored.scale = values, reader.center, reader.scale
    said = torch.from_numpy(perfect(mirrored, mirrored=True)[:20].astype(np.float32))
    assert float(reader.loss(said, batch(mirrored=True))) < 1e-5
    assert float(reader.loss(said, batch())) > 0.01


def test_what_is_not_seen_is_not_taught():
    hidden = sample()
    hidden.truth["glasses"][:] = 1.0  # eye color is seen nowhere
    reader = Reader(hidden)
    column = next(r.start for r in reader.readings if r.name == "eye_color")
    said = torch.zeros(20, reader.outputs + PLACES, requires_grad=True)
    reader.loss(said, batch()).backward()
    assert (said.grad[:, column] == 0).all()
    assert (said.grad[:, 0] != 0).any()


def test_figures_of_perfect_answers_are_one(monkeypatch):
    some = sample()
    some.truth["hat"][:60] = 0.0
    monkeypatch.setattr(module, "answers", lambda *_: perfect(Reader(some)))
    rows = read_back(NETWORK, some, some, 20, "cpu")
    values = {row["attribute"]: row["value"] for row in rows}
    assert {
        name for name, value in values.items() if value is not None and value != pytest.approx(1, abs=1e-9)
    } == set()
    one = next(row for row in rows if row["attribute"] == "skin_tone")
    assert one == {
        "attribute": "skin_tone",
        "role": "attribute",
        "figure": "r2",
        "value": pytest.approx(1),
        "low": pytest.approx(1),
        "high": pytest.approx(1),
        "n": N,
        "reason": "",
        "n_taught": N,
        "gate": 0.85,
        "met": True,
        "visibility": "in every picture",
    }
    assert {row["gate"] for row in rows if row["role"] != "attribute"} == {None}


def test_figures_of_blind_answers_miss_their_gates(monkeypatch):
    some = sample()
    blind = np.random.default_rng(1).standard_normal((N, Reader(some).outputs))
    monkeypatch.setattr(module, "answers", lambda *_: blind)
    rows = read_back(NETWORK, some, some, 20, "cpu")
    assert not any(row["met"] for row in rows)
    glasses = next(row for row in rows if row["attribute"] == "glasses")
    assert 0.3 < glasses["value"] < 0.7


def test_too_few_pictures_give_no_figure_and_say_so(monkeypatch):
    some = sample()
    some.truth["area.hair"][19:] = 0.0
    monkeypatch.setattr(module, "answers", lambda *_: perfect(Reader(some)))
    rows = {row["attribute"]: row for row in read_back(NETWORK, some, some, 5, "cpu")}
    assert rows["hair_length"]["value"] is None
    assert rows["hair_length"]["met"] is False
    assert rows["hair_length"]["reason"] == "fewer than 20 held-out pictures show it"


def test_one_level_alone_gives_no_figure(monkeypatch):
    some = sample()
    some.truth["hat"][:] = 0.0
    monkeypatch.setattr(module, "answers", lambda *_: perfect(Reader(some)))
    rows = {row["attribute"]: row for row in read_back(NETWORK, some, some, 5, "cpu")}
    assert rows["hat"]["reason"] == "only one level is shown"
    assert rows["identity.hat_hue"]["value"] is None


def test_a_trained_reader_is_kept(tmp_path, monkeypatch):
    some = sample(n=16)
    with Cache(tmp_path) as cache:
        first = trained_reader(some, quick(1), cache, quiet=True)
        monkeypatch.setattr("transect.jobs.verify.learning._step", lambda *_: pytest.fail("shown again"))
        again = trained_reader(some, quick(1), cache, quiet=True)
    assert torch.equal(first.head.weight, again.head.weight)
