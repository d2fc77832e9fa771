"""validation/advice_experiment.py on planted errors: the table blames a correlated attribute, transects find the cause."""

import numpy as np
import pytest

from validation import advice_experiment as script


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    class Planted(script.Experiment):
        """Errs on short hair, whatever the picture."""

        def wrong(self, network, latents):
            return (np.asarray(self.world.read(latents)["hair_length"]) <= self.middle["hair_length"]).astype(float)

        def trained(self, seed, added):
            self.given = added

    sizes = script.Sizes(train=400, check=10, test=600, extra=30, subjects=20, size=32)
    return Planted(tmp_path_factory.mktemp("advice"), sizes, "smile>0.5")


def test_table_blames_a_correlated_attribute_and_the_experiment_finds_the_cause(planted):
    gaps, effects = planted.gaps(None), planted.effects(None, 30_000_000)
    assert gaps["hair_length"] == -100.0
    assert gaps["face_shape"] > 15  # long hair goes with feminine face shapes here: loadings .85 and -.7
    # From the 10 % to the 90 % quantile every subject's error goes; what hair does not hang on causes nothing.
    assert effects == {**dict.fromkeys(effects, 0.0), "hair_length": -100.0}


def test_pictures_of_the_worse_half_are_added(planted):
    assert planted.advice("experiment", 0) == ("hair_length", False)
    found = planted.figures("experiment", 0)
    values = np.asarray(planted.world.read(planted.world.sample(np.array(planted.given)))["hair_length"])
    assert len(values) == 30
    assert (values <= planted.middle["hair_length"]).all()
    again = planted.figures("experiment", 0)
    assert again["effects"] == found["effects"]
    assert planted.advice("random", 0) is None
    rows = script.arm_rows({"plain": [planted.figures("plain", 0)], "experiment": [again]})
    assert rows[1][:3] == ["experiment", "hair_length low", "100.0"]
