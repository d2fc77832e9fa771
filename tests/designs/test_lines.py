"""Lines between subjects: which two, how far along, and whose images."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
from small_worlds import WithoutPictures

from transect.designs import transect_latents
from transect.designs.steps import Lines, lines_design
from transect.records import Attribute, Latents

AGE = Attribute("age", "continuous", "apparent age", unit="years", low=0, high=100)


class World(WithoutPictures):
    """The age of subject s is 10 s; what it renders is what it is asked to."""

    name, image_size, latent_dim = "small", 8, 1
    attributes = (AGE,)

    def sample(self, seeds):
        rows = np.asarray(seeds)
        return Latents(rows, 10.0 * rows[:, None].astype(float))

    def render(self, latents):
        return SimpleNamespace(of=latents)

    def read(self, latents):
        return pa.table({"age": latents.values[:, 0]})


def test_a_line_joins_two_subjects_of_its_own_and_has_nine_images_between():
    lines = Lines(World())
    design = lines_design(lines, 3)
    subjects = lines.sample(design.subject_seeds(0, 3))
    assert subjects.seeds.tolist() == [0, 1, 2]
    made = transect_latents(design, subjects, lines)
    ages = lines.read(made)["age"].to_numpy().reshape(3, 11)
    # line s goes from subject 2s to 2s + 1, in tenths
    np.testing.assert_allclose(ages, [[20.0 * s + k for k in range(11)] for s in range(3)])
    assert made.seeds.tolist() == np.repeat([0, 1, 2], 11).tolist()


def test_a_line_is_the_same_whatever_is_made_with_it():
    lines = Lines(World())
    design = lines_design(lines, 5, seed=3)
    whole = transect_latents(design, lines.sample(design.subject_seeds(0, 5)), lines).values
    part = transect_latents(design, lines.sample(design.subject_seeds(3, 4)), lines).values
    np.testing.assert_array_equal(whole[33:44], part)
