"""Groups that differ are told apart, groups that do not are not; labels are halves."""

from __future__ import annotations

import numpy as np
import pytest
from small_world import Sample, lit, quick

from transect.generators.faceworld.world import FaceWorld
from transect.jobs.verify.cache import Cache
from transect.jobs.verify.groups import SPLITS, odd, pairs_with, separation, split_labels


def test_a_pair_is_one_subject_with_and_without():
    world = FaceWorld(image_size=32, threads=1)
    latents = pairs_with("smile", 300)(world, np.arange(4))
    assert latents.seeds.tolist() == [300, 300, 301, 301]
    assert world.read(latents)["smile"].to_pylist() == [0, 1, 0, 1]
    one, two = world.read(latents)["age"].to_pylist()[:2]
    assert one == two


@pytest.mark.parametrize("split", range(SPLITS))
def test_fake_groups_are_halves(split):
    labels = split_labels(split)(100)
    assert labels.sum() == 50
    assert (labels == split_labels(split)(100)).all()
    assert all((labels != split_labels(other)(100)).any() for other in range(SPLITS) if other != split)


def test_a_difference_that_is_there_is_found_and_resampled_by_pair(tmp_path):
    generator = np.random.default_rng(0)
    taught, held_out = (
        Sample(lit(np.where(odd(n), 170.0, 80.0), generator), {}, name) for n, name in ((96, "taught"), (40, "new"))
    )
    with Cache(tmp_path) as cache:
        figure = separation("c", taught, held_out, odd, quick(4), cache, cluster=2, resamples=50, quiet=True)
    assert figure.value > 0.95
    assert figure.n == 20


def test_a_difference_that_is_not_there_is_not_found(tmp_path):
    generator = np.random.default_rng(0)
    taught, held_out = (
        Sample(lit(generator.uniform(60, 190, n), generator), {}, name) for n, name in ((96, "taught"), (200, "new"))
    )
    with Cache(tmp_path) as cache:
        figure = separation("n", taught, held_out, split_labels(1), quick(2), cache, resamples=100, quiet=True)
    # The standard error of an AUC of .5 with 100 and 100 rows is sqrt(201 / (12 * 100 * 100)) = .041.
    assert abs(figure.value - 0.5) < 4 * 0.041
    assert figure.low < figure.value < figure.high
