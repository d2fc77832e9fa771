"""The figures of Balakrishnan et al. 2020 that can be found again from released files (skipped where they are absent).

Files: human annotations of 5,000 images that StyleGAN2 drew, and the hyperplanes fitted to them; see
docs/research/replication-balakrishnan2020.md.
"""

import numpy as np
import pytest
from places import SHARED

from transect.analysis.sections import associations
from transect.ratings.perceived_attributes import PerceivedGroups

ANNOTATIONS, HYPERPLANES = SHARED / "stylegan2_human_annotations.npz", SHARED / "stylegan2_w_hyperplanes.npz"
pytestmark = pytest.mark.skipif(
    not (ANNOTATIONS.exists() and HYPERPLANES.exists()), reason=f"the released files are not in {SHARED}"
)
TOP = {"hair_length": 4, "age": 5, "gender": 4, "skin_color": 5, "makeup": 3, "facial_hair": 4}


@pytest.fixture(scope="module")
def means():
    """Mean answers from 0 to 1; 1 is male, dark, long, old."""
    released = np.load(ANNOTATIONS)
    return {name: released[name].mean(axis=1) / top for name, top in TOP.items()}


@pytest.fixture(scope="module")
def normals():
    coefficients = np.load(HYPERPLANES)["coef"]
    return coefficients / np.linalg.norm(coefficients, axis=1, keepdims=True)


def test_the_generators_sample_is_light_skinned(means):
    """Section 4.1.1: "a bias towards generating Caucasian-looking faces"."""
    assert round(float((means["skin_color"] >= 0.5).mean()), 4) == 0.0302
    assert round(float(means["skin_color"].mean()), 3) == 0.229


def test_fig_11_attributes_by_gender(means):
    """Standardized differences, male minus female, of a sample as it comes: hair and make-up above all."""
    names = [name for name in TOP if name != "gender"]
    codes = PerceivedGroups(("female", "male"), (0.5,)).codes(means["gender"][:, None])
    values = np.column_stack([means[name] for name in names])
    smd = associations.standardized(1)(values, codes, np.ones(len(codes)))
    assert dict(zip(names, smd.round(2).tolist(), strict=True)) == {
        "hair_length": -2.38, "age": 0.28, "skin_color": 0.36, "makeup": -1.82, "facial_hair": 1.07,
    }  # fmt: skip


def test_fig_12_hair_goes_with_skin_where_gender_is_equal(means):
    """Darker faces have shorter hair among women and among men."""
    male, dark = means["gender"] >= 0.5, means["skin_color"] >= 0.5
    hair = {(m, d): means["hair_length"][(male == m) & (dark == d)] for m in (False, True) for d in (False, True)}
    assert {key: (len(x), round(float(x.mean()), 3)) for key, x in hair.items()} == {
        (False, False): (2756, 0.594), (False, True): (68, 0.516), (True, False): (2093, 0.265), (True, True): (83, 0.211),
    }  # fmt: skip


def test_fig_5_hair_and_gender_are_entangled_and_skin_is_not(normals):
    """Orthogonalisation turns the hair direction by 45 degrees and the skin direction by 13."""
    letters = np.load(HYPERPLANES)["attr"].tolist()
    hair, gender, skin = (letters.index(letter) for letter in "HGC")
    cosines = normals @ normals.T
    assert round(float(cosines[hair, gender]), 3) == -0.674
    others = np.delete(cosines[skin], skin)
    assert np.abs(others).max() < 0.14
    dual = np.linalg.pinv(normals).T
    turned = np.degrees(np.arccos((dual * normals).sum(axis=1) / np.linalg.norm(dual, axis=1)))
    assert turned[[hair, skin]].round().tolist() == [45.0, 13.0]
