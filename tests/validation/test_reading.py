"""What is read: answers' layout, a loss that looks where something is seen, who is shown, groups that do not differ."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small_world import Sample, lit, neutral_truth, quick

from transect.generators.faceworld.attributes import HAIR_STYLES
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.world import FaceWorld
from validation import reading as module
from validation.network import PLACES, Batch, new_network
from validation.reading import (
    Reader,
    odd,
    pairs,
    person_auc,
    read_back,
    rule,
    same_code,
    same_person,
    separation,
    split_labels,
)

N = 120
NETWORK = new_network(1, 0, widths=(4, 4))  # never asked: `answers` is replaced


def sample(seed=0, n=N):
    generator = np.random.default_rng(seed)
    return Sample(lit(generator.uniform(0, 255, n), generator), neutral_truth(n, generator))


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
        "gate": 0.85,
        "met": True,
        "visibility": "in every picture",
    }
    assert {row["gate"] for row in rows if row["role"] != "attribute"} == {None}


def test_too_few_pictures_give_no_figure_and_say_so(monkeypatch):
    some = sample()
    some.truth["area.hair"][19:] = 0.0
    monkeypatch.setattr(module, "answers", lambda *_: perfect(Reader(some)))
    rows = {row["attribute"]: row for row in read_back(NETWORK, some, some, 5, "cpu")}
    assert rows["hair_length"]["value"] is None
    assert rows["hair_length"]["met"] is False
    assert rows["hair_length"]["reason"] == "fewer than 20 held-out pictures show it"


STRAIGHT, BALD = float(HAIR_STYLES.index("straight")), float(HAIR_STYLES.index("bald"))


def seen(name, **values):
    truth = neutral_truth(1, np.random.default_rng(0))
    truth |= {"hat": np.zeros(1), "hair_style": np.full(1, STRAIGHT), "glasses": np.zeros(1), "age": np.full(1, 30.0)}
    truth |= {"facial_hair": np.zeros(1)}
    truth |= {key.replace("__", "."): np.array([float(value)]) for key, value in values.items()}
    return bool(rule(name).seen(truth)[0])


@pytest.mark.parametrize(
    ("name", "shown", "hidden"),
    [
        ("hair_style", {}, {"hat": 1}),
        ("hair_style", {"hair_style": BALD, "area__hair": 0}, {"area__hair": 0.019}),
        ("hair_color", {"hat": 1}, {"age": 60}),
        ("baldness", {"area__hair": 0}, {"hair_style": BALD}),
        ("facial_hair_style", {"facial_hair": 0.2}, {"facial_hair": 0.1}),
        ("eye_color", {"area__eyes": 0.002}, {"glasses": 1}),
        ("earrings", {"seen__earrings": 0.0002}, {"seen__earrings": 0.0001}),
        ("identity.frame_shape", {"glasses": 1}, {}),
    ],
)
def test_where_it_is_seen(name, shown, hidden):
    assert seen(name, **shown)
    assert not seen(name, **hidden)


@pytest.fixture(scope="module")
def world():
    return FaceWorld(image_size=32, threads=1)


def test_the_same_code_and_nothing_else(world):
    rows = np.arange(8)
    latents = same_code(500, copies=4)(world, rows)
    codes = latents.values[:, IDENTITY_COLUMNS]
    assert (codes[0] == codes[3]).all()
    assert not (codes[3] == codes[4]).any()
    np.testing.assert_array_equal(codes[4], world.sample([501]).values[0, IDENTITY_COLUMNS])
    assert len(set(latents.seeds.tolist())) == 8, "texture and noise are each picture's own"
    assert len(set(world.read(latents)["skin_tone"].to_pylist())) == 8
    part = same_code(500, copies=4)(world, rows[5:6])
    np.testing.assert_array_equal(part.values[0], latents.values[5])


def test_the_same_person_in_other_pose_and_light(world):
    latents = same_person(500, copies=2)(world, np.arange(4))
    read = world.read(latents)
    assert latents.seeds.tolist() == [500, 500, 501, 501]
    for name, same in (
        ("skin_tone", True),
        ("age", True),
        ("hair_style", True),
        ("yaw", False),
        ("light_level", False),
    ):
        values = read[name].to_pylist()
        assert (values[0] == values[1]) is same, name


def test_pairs_by_hand():
    one, other = pairs(np.array([0, 1, 0, 1, 2]))
    same = np.array([0, 1, 0, 1, 2])[one] == np.array([0, 1, 0, 1, 2])[other]
    assert same.tolist() == [True, True, False, False, False]  # two subjects with one pair each; 0-1, 0-2, 1-2
    assert [(int(a), int(b)) for a, b in zip(one, other, strict=True)][:2] == [(0, 2), (1, 3)]


@pytest.mark.parametrize("euclidean", [False, True])
def test_embeddings_with_known_answers(euclidean):
    generator = np.random.default_rng(0)
    subject = np.repeat(np.arange(40), 3)
    person = generator.standard_normal((40, 16))[subject]
    clear = person_auc(person + generator.normal(0, 0.05, person.shape), subject, euclidean=euclidean, resamples=50)
    blind = person_auc(generator.standard_normal(person.shape), subject, euclidean=euclidean, resamples=50)
    assert clear.value == 1
    assert clear.n == 40
    assert blind.low < 0.5 < blind.high


def test_pictures_without_an_embedding_are_left_out():
    generator = np.random.default_rng(0)
    embedded, subject = generator.standard_normal((30, 4)), np.repeat(np.arange(10), 3)
    embedded[3:6] = np.nan
    assert person_auc(embedded, subject, resamples=20).n == 9


@pytest.mark.integration
def test_a_difference_that_is_there_is_found_and_resampled_by_pair():
    generator = np.random.default_rng(0)
    taught, held_out = (Sample(lit(np.where(odd(n), 170.0, 80.0), generator), {}) for n in (96, 40))
    figure = separation(taught, held_out, odd, quick(4), cluster=2, resamples=50, quiet=True)
    assert figure.value > 0.95
    assert figure.n == 20


@pytest.mark.integration
def test_a_difference_that_is_not_there_is_not_found():
    generator = np.random.default_rng(0)
    taught, held_out = (Sample(lit(generator.uniform(60, 190, n), generator), {}) for n in (96, 200))
    figure = separation(taught, held_out, split_labels(1), quick(2), resamples=100, quiet=True)
    # The standard error of an AUC of .5 with 100 and 100 rows is sqrt(201 / (12 * 100 * 100)) = .041.
    assert abs(figure.value - 0.5) < 4 * 0.041
    assert figure.low < figure.value < figure.high
