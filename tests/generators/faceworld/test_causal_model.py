"""do(), hold, abduction, and the camera's meter."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from transect.errors import BadInput, UnknownName
from transect.generators.faceworld.attributes import ATTRIBUTES, NAMES
from transect.generators.faceworld.causal_model import LATENT_DIM, CausalModel
from transect.generators.faceworld.chance import exogenous_noise
from transect.generators.faceworld.population import load_population
from transect.generators.faceworld.reflectance import MAXIMUM_GAIN, PARENTS, metered_exposure
from transect.records import Latents

MODEL = CausalModel(load_population("balanced"))


def latents(n=5):
    seeds = np.arange(n)
    return Latents(seeds, exogenous_noise(seeds, LATENT_DIM))


def test_do_changes_the_attribute_and_nothing_that_is_not_downstream():
    before = latents()
    after = MODEL.intervene(before, {"skin_tone": 9.0})
    np.testing.assert_array_equal(after.values, before.values)
    old, new = MODEL.solve(before), MODEL.solve(after)
    assert (new["skin_tone"] == 9).all()
    for name in set(NAMES) - {"skin_tone", "exposure", "metering", "fill_light"}:
        np.testing.assert_array_equal(old[name], new[name])
    assert (old["exposure"] != new["exposure"]).all()


@pytest.mark.parametrize("name", [a.name for a in ATTRIBUTES if a.name not in (*PARENTS, "exposure")])
def test_exposure_responds_to_nothing_else(name):
    low, high = next(a.bounds for a in ATTRIBUTES if a.name == name)
    before, after = (MODEL.solve(MODEL.intervene(latents(), {name: value})) for value in (low, high))
    np.testing.assert_array_equal(before["exposure"], after["exposure"])


def test_hold_pins_exposure_to_the_value_from_before():
    before = latents()
    exposure = MODEL.solve(before)["exposure"]
    after = MODEL.intervene(before, {"skin_tone": 10.0, "light_level": -3.0}, hold=["exposure"])
    np.testing.assert_array_equal(MODEL.solve(after)["exposure"], exposure)


def test_hold_after_an_earlier_intervention_keeps_the_value_just_before():
    first = MODEL.intervene(latents(), {"skin_tone": 2.0})
    second = MODEL.intervene(first, {"skin_tone": 10.0}, hold=["exposure"])
    np.testing.assert_array_equal(MODEL.solve(second)["exposure"], MODEL.solve(first)["exposure"])


def test_later_settings_replace_earlier_ones_and_others_stay():
    after = MODEL.intervene(MODEL.intervene(latents(), {"age": 30.0, "smile": 0.5}), {"age": 60.0})
    values = MODEL.solve(after)
    assert (values["age"] == 60).all()
    assert (values["smile"] == 0.5).all()


def test_rows_without_a_setting_keep_their_own_value():
    before = latents(3)
    ages = MODEL.solve(before)["age"]
    mixed = Latents(before.seeds, before.values, settings={"age": np.array([40.0, np.nan, 50.0])})
    np.testing.assert_array_equal(MODEL.solve(mixed)["age"], [40, ages[1], 50])


def test_tables_and_columns_are_taken():
    ages = [20.0, 30.0, 40.0, 50.0, 60.0]
    from_table = MODEL.intervene(latents(), pa.table({"age": ages}))
    from_list = MODEL.intervene(latents(), {"age": ages})
    np.testing.assert_array_equal(MODEL.solve(from_table)["age"], ages)
    np.testing.assert_array_equal(MODEL.solve(from_list)["age"], ages)


def test_abduction_the_same_noise_under_another_population():
    other = CausalModel(load_population("parliament-like"))
    a, b = MODEL.solve(latents(200)), other.solve(latents(200))
    # Marginals differ, ranks of an attribute without correlations do not: the subject is the same.
    np.testing.assert_array_equal(np.argsort(a["yaw"]), np.argsort(b["yaw"]))
    np.testing.assert_array_equal(a["background_hue"], b["background_hue"])
    assert (a["age"] != b["age"]).all()


@pytest.mark.parametrize(
    ("values", "hold", "message"),
    [
        (
            {"skin_tone": 11.0},
            (),
            "skin_tone: expected between 1 and 10 Monk scale, got 11; see: transect list attributes",
        ),
        ({"glasses": 0.5}, (), "glasses: expected one of none, thin frame, thick frame, tinted, dark, got 0.5"),
        ({"age": float("nan")}, (), "age: expected between 18 and 85 years, got nan"),
        ({"age": [20.0, 30.0]}, (), r"age: expected one value or 5, got shape \[2\]"),
        ({"exposure": 1.0}, ("exposure",), "exposure is both set and held"),
    ],
)
def test_bad_settings(values, hold, message):
    with pytest.raises(BadInput, match=message):
        MODEL.intervene(latents(), values, hold)


def test_an_unknown_attribute_offers_the_nearest():
    with pytest.raises(UnknownName, match="unknown attribute .*did you mean"):
        MODEL.intervene(latents(), {"age": 30.0}, ("exposur",))


def test_latents_of_another_space_are_refused():
    with pytest.raises(BadInput, match="got space z and shape"):
        MODEL.solve(Latents(np.arange(2), np.zeros((2, LATENT_DIM)), "z"))
    with pytest.raises(BadInput, match=r"got space u and shape \[2, 3\]"):
        MODEL.solve(Latents(np.arange(2), np.zeros((2, 3))))


def test_the_meter_follows_light_in_full_and_skin_in_part():
    # Skin of Monk 5 reflects Y = .4738: .58 * log2(.51 / .4738) = .0616 stops.
    expected = 0.0616
    exposures = metered_exposure(np.array([5.0, 5.0]), np.array([0.0, -1.5]))
    np.testing.assert_allclose(exposures, [expected, expected + 1.5], atol=1e-3)


def test_the_gain_has_a_maximum():
    gain = metered_exposure(np.full(7, 10.0), -np.arange(7.0))
    assert gain.max() == MAXIMUM_GAIN
    assert (np.diff(gain) >= 0).all()
    # A light face can be brought to its level in far less light than a dark one.
    assert metered_exposure(np.array([1.0]), np.array([-4.5]))[0] < MAXIMUM_GAIN
