"""Which subjects are distinguished: samples that share what they should, pairs that are counted right, embeddings with known answers."""

from __future__ import annotations

import numpy as np
import pytest
from small_world import Sample

from transect.generators.faceworld.attributes import IDENTITY
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.world import FaceWorld
from transect.jobs.verify import identity as module
from transect.jobs.verify.identity import embedding, pairs, person_auc, same_code, same_person
from transect.jobs.verify.network import new_network
from transect.jobs.verify.reading import readings


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


def test_the_embedding_is_what_the_network_says_of_traits_that_are_always_seen(monkeypatch):
    found = readings()
    said = np.arange(found[-1].columns.stop)[None].astype(float)
    monkeypatch.setattr(module, "answers", lambda *_: said)
    names = {found[j].start: found[j].name for j in range(len(found))}
    columns = embedding(new_network(1, 0, widths=(4, 4)), Sample(np.zeros((1, 32, 32, 3), np.uint8), {}), "cpu")[0]
    assert [names[int(c)] for c in columns] == [
        f"identity.{trait}" for trait in IDENTITY if not trait.startswith(("frame_", "hat_"))
    ]
