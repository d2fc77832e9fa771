"""Structural equations of a population file: by hand, total and direct effects, abduction, cycles."""

from __future__ import annotations

import numpy as np
import pytest

from transect.errors import BadInput
from transect.generators.faceworld.attributes import NAMES
from transect.generators.faceworld.causal_model import ATTRIBUTE_COLUMNS, LATENT_DIM, CausalModel
from transect.generators.faceworld.chance import exogenous_noise
from transect.generators.faceworld.population import load_population
from transect.records import Latents

CLINIC = """
name = "clinic"
[mechanisms.baldness]
intercept = -0.5
noise = 0.1
parents = { age = 0.01, face_shape = 0.4 }
[mechanisms.earrings]
intercept = -1.0
noise = 0.0
parents = { baldness = 4.0, hat = { cap = 0.5, beanie = -9.0 } }
"""


def model(tmp_path, text=CLINIC):
    path = tmp_path / "clinic.toml"
    path.write_text(text)
    return CausalModel(load_population(path))


def latents(n=50):
    seeds = np.arange(n)
    return Latents(seeds, exogenous_noise(seeds, LATENT_DIM))


def test_equations_by_hand(tmp_path):
    clinic, subjects = model(tmp_path), latents()
    values = clinic.solve(subjects)
    noise = subjects.values[:, ATTRIBUTE_COLUMNS[NAMES.index("baldness")]]
    for i in range(len(subjects)):
        linear = -0.5 + 0.01 * values["age"][i] + 0.4 * values["face_shape"][i] + 0.1 * noise[i]
        assert values["baldness"][i] == pytest.approx(min(max(linear, 0.0), 1.0), abs=1e-12)
        score = -1.0 + 4.0 * values["baldness"][i] + (0.0, 0.5, -9.0, 0.0, 0.0, 0.0)[int(values["hat"][i])]
        assert values["earrings"][i] == (score > 0)


def test_total_and_direct_effects_through_a_mechanism(tmp_path):
    # age 30 -> 80 adds .5 to baldness where nothing is cut off: face_shape .5, own noise 0 give .0 and .5.
    clinic, base = model(tmp_path), latents(1)
    base.values[:, ATTRIBUTE_COLUMNS[NAMES.index("baldness")]] = 0.0
    base = clinic.intervene(base, {"face_shape": 0.5, "hat": 0.0, "age": 30.0})
    assert clinic.solve(base)["baldness"] == pytest.approx(0.0, abs=1e-12)
    total = clinic.solve(clinic.intervene(base, {"age": 80.0}))
    assert total["baldness"] == pytest.approx(0.5)
    assert total["earrings"] == 1  # -1 + 4 * .5 > 0: the effect continues downstream
    direct = clinic.solve(clinic.intervene(base, {"age": 80.0}, hold=["baldness"]))
    assert direct["baldness"] == pytest.approx(0.0, abs=1e-12)
    assert direct["earrings"] == 0


def test_an_intervention_on_an_effect_leaves_its_causes(tmp_path):
    clinic, before = model(tmp_path), latents()
    old, new = clinic.solve(before), clinic.solve(clinic.intervene(before, {"baldness": 0.9}))
    for name in set(NAMES) - {"baldness", "earrings"}:
        np.testing.assert_array_equal(old[name], new[name])
    assert (new["baldness"] == 0.9).all()


def test_abduction_through_a_mechanism(tmp_path):
    # The same noise with the equation's intercept raised by .1: the same subject, .1 more bald where nothing is cut.
    subjects = latents()
    before = model(tmp_path).solve(subjects)["baldness"]
    after = model(tmp_path, CLINIC.replace("-0.5", "-0.4")).solve(subjects)["baldness"]
    inner = (before > 0) & (after < 1)
    assert inner.sum() > 10
    np.testing.assert_allclose(after[inner] - before[inner], 0.1)


def test_values_do_not_depend_on_the_batch(tmp_path):
    clinic, subjects = model(tmp_path), latents()
    whole = clinic.solve(subjects)
    for i in (0, 17, 49):
        values = clinic.solve(subjects.take(slice(i, i + 1)))
        assert all(values[name][0] == whole[name][i] for name in NAMES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[mechanisms.age]\nparents={baldness=1}\n[mechanisms.baldness]\nparents={smile=1}\n"
            "[mechanisms.smile]\nparents={age=1}",
            r"mechanisms: expected no cycle, got (\w+) -> \w+ -> \w+ -> \1; remove one",
        ),
        ("[mechanisms.skin_tone]\nparents={exposure=1}", "expected no cycle, got .*exposure"),
        ("[mechanisms.exposure]\nparents={age=1}", "mechanisms.exposure: .*the camera's meter"),
        ("[mechanisms.hat]\nparents={age=1}", "mechanisms.hat: expected a number or a binary attribute"),
        ("[mechanisms.agee]\nparents={age=1}", "mechanisms: unknown attribute 'agee'"),
        ("[mechanisms.age]\nparents={hat=1}", "parents.hat: expected a number for each level"),
        ("[mechanisms.age]\nparents={smile={none=1}}", "parents.smile: expected one number"),
    ],
)
def test_bad_mechanisms_are_refused_(tmp_path, text, message):
    with pytest.raises(BadInput, match=message):
        model(tmp_path, "name='x'\n" + text)
