"""The test bed: questions, pictures, what is hidden, losses, figures; none hangs on the batch or the order."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from transect.errors import BadInput, UnknownName
from transect.generators.faceworld.attributes import ATTRIBUTES
from transect.generators.faceworld.world import FaceWorld
from transect.mitigation import methods
from transect.mitigation.adversarial import reweighed_loss, worst_group_loss
from transect.mitigation.data import HiddenPictures, TaskData, WorldRegions, boxed, hide
from transect.mitigation.measuring import Protocol, effects, measured, noise_at, noise_curve, over_seeds
from transect.mitigation.numbers import Figure
from transect.mitigation.settings import Network, Noise, Plain, Training, parse_config
from transect.mitigation.testbed import PROTECTED, Bench, codes, open_bench
from transect.records import Attribute, Design, Latents

LABELS = {"smile": "smile>0.5", "hat": "hat!=none"}


class NoPictures:
    def pixels(self, rows):
        return np.zeros((len(rows), 1, 1, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    return open_bench("faceworld", 32, "celebrity-like", (80, 20, 40), LABELS, PROTECTED, folder, quiet=True)


@pytest.fixture(scope="module")
def fitted(bench):
    setup = methods.Setup(bench, Network(widths=(4, 4)), Training(epochs=1, batch=16), 0)
    return setup, methods.fit(Plain(name="plain", kind="plain"), setup, None, lambda *_: None)


def test_labels_are_what_the_world_says(bench):
    world = bench.regions._world
    values = world.read(world.sample(np.arange(140)))
    assert np.array_equal(bench.data.labels[:, 0], np.asarray(values["smile"]) > 0.5)
    assert np.array_equal(bench.data.labels[:, 1], np.asarray(values["hat"]) != 0)
    assert np.array_equal(bench.data.protected, np.asarray(values["face_shape"]) > 0.43)
    assert [len(rows) for rows in (bench.train, bench.check, bench.test)] == [80, 20, 40]
    assert len(np.unique(np.concatenate([bench.train, bench.check, bench.test]))) == 140


def test_questions_by_levels():
    values = {"hat": np.array([0.0, 1.0, 2.0])}
    assert codes("hat=cap|beanie", values, ATTRIBUTES)[0].tolist() == [0, 1, 1]
    assert codes("hat = none", values, ATTRIBUTES)[0].tolist() == [1, 0, 0]
    with pytest.raises(UnknownName, match="level of hat 'crown'"):
        codes("hat=crown", values, ATTRIBUTES)
    with pytest.raises(BadInput, match="1 of 2 have none"):
        codes("glasses", {"glasses": np.array([1.0, np.nan])}, ATTRIBUTES)


def test_boxes_and_blackouts(bench):
    mask = np.zeros((1, 4, 5), dtype=bool)
    mask[0, 1, 1] = mask[0, 2, 3] = True
    assert np.argwhere(boxed(mask)[0]).min(axis=0).tolist() == [1, 1]
    assert boxed(mask).sum() == 2 * 3
    assert not boxed(np.zeros((1, 2, 2), dtype=bool)).any()
    pixels = np.arange(60, dtype=np.uint8).reshape(1, 4, 5, 3)
    black = hide(pixels, mask, "blackout")
    assert (black[mask] == 0).all()
    assert np.array_equal(black[~mask], pixels[~mask])
    even = np.full((1, 32, 32, 3), 77, dtype=np.uint8)
    assert np.array_equal(hide(even, np.ones((1, 32, 32), dtype=bool), "blur"), even)  # of one color nothing blurs
    hidden = HiddenPictures(bench.data.pictures, bench.regions, "face", "blackout")
    together, alone = (
        hidden.pixels(np.array([3, 5])),
        HiddenPictures(bench.data.pictures, bench.regions, "face", "blackout").pixels(np.array([5])),
    )
    assert np.array_equal(together[1], alone[0])
    assert (together == 0).mean() > (bench.data.pictures.pixels(np.array([3, 5])) == 0).mean() + 0.05


def test_an_answer_hangs_on_its_row_alone(bench, fitted):
    setup, plain = fitted
    noisy = methods.fit(Noise(name="noise", kind="noise", start="plain", levels=(2.0,)), setup, plain, lambda *_: None)
    rows = bench.test
    for one in (plain, noisy):
        whole = one.answer(bench.data.pictures, bench.regions, rows)
        part = one.answer(bench.data.pictures, bench.regions, rows[[7, 3]])
        assert np.allclose(part, whole[[7, 3]], atol=1e-5)
    assert not np.allclose(noisy.answer(bench.data.pictures, None, rows), plain.answer(bench.data.pictures, None, rows))


def test_weights_put_back_answer_the_same(bench, fitted):
    setup, plain = fitted
    kept = {name: value.clone() for name, value in plain.network.state_dict().items()}
    again = methods.fit(Plain(name="plain", kind="plain"), setup, None, lambda *_: None, kept)
    for one in (methods.fit(Plain(name="plain", kind="plain"), setup, None, lambda *_: None), again):
        answers = one.answer(bench.data.pictures, None, bench.test)
        assert np.array_equal(answers, plain.answer(bench.data.pictures, None, bench.test))


def small_data():
    # Class 0: three yes and one no; class 1: one yes and three no.
    labels, protected = np.array([1, 1, 1, 0, 1, 0, 0, 0], dtype=bool)[:, None], np.repeat([0, 1], 4)
    return TaskData(NoPictures(), labels, protected, ("a",))


def test_the_reweighed_loss_by_hand():
    # The weight of yes in class 0 is 1/2 · 1/2 / (3/8) = 2/3, of no 2; at logit 0 every loss is ln 2.
    loss = reweighed_loss(small_data(), np.arange(8))
    assert loss(torch.zeros(2, 1), np.array([0, 3])).item() == pytest.approx(np.log(2) * (2 / 3 + 2) / 2)


def test_the_worst_group_gains_weight():
    # Only the no of class 0 is wrong: its loss is ln(1 + e^4), that of the others ln(1 + e^-4).
    loss = worst_group_loss(small_data(), rate=1.0)
    logits = torch.tensor([4.0, 4, 4, 4, 4, -4, -4, -4])[:, None]
    wrong, right = np.log1p(np.exp(4)), np.log1p(np.exp(-4))
    grown = np.exp(wrong) / (np.exp(wrong) + 3 * np.exp(right))
    assert loss(logits, np.arange(8)).item() == pytest.approx(grown * wrong + (1 - grown) * right, rel=1e-4)


class Answers:
    """Items whose only label leans, with answers that give the class away."""

    def __init__(self, n=600):
        rng = np.random.default_rng(0)
        protected = np.arange(n) % 2
        labels = rng.random((n, 1)) < np.where(protected, 0.6, 0.4)[:, None]
        data = TaskData(NoPictures(), labels, protected, ("a",))
        none = np.array([], dtype=int)
        self.bench = Bench(data, none, none, np.arange(n), ("0", "1"), "class")
        self.fair = np.where(labels, 1.0, -1.0) + rng.normal(0, 1, (n, 1))
        self.telling = self.fair + 0.8 * (2 * protected - 1)[:, None]


def test_answers_that_tell_more_than_their_labels_are_amplified():
    made = Answers()
    fair = measured(made.bench, made.fair, ["logistic"], 2, 0).attackers["logistic"]
    telling = measured(made.bench, made.telling, ["logistic"], 2, 0).attackers["logistic"]
    assert fair.amplification.low < 0 < fair.amplification.high
    assert telling.amplification.low > 5
    difference = telling.model_leakage.estimate - telling.dataset_leakage.estimate
    assert telling.amplification.estimate == pytest.approx(difference, abs=1e-5)
    with pytest.raises(BadInput, match="diverged"):
        measured(made.bench, made.fair * np.nan, ["logistic"], 1, 0)


def test_effects_by_hand():
    # Two labels, four subjects; only the first answer of the first label changes, in three subjects, all to yes.
    said = np.array([[[-1, 1], [1, 1]], [[-1, 1], [1, 1]], [[-1, 1], [1, 1]], [[1, -1], [1, -1]]], dtype=float)
    attribute = Attribute("x", "continuous", "x", low=0, high=1)
    protocol = Protocol(
        {},
        np.zeros((8, 1, 1, 3), np.uint8),
        WorldRegions(FaceWorld(image_size=32), Latents(np.arange(8), np.zeros((8, 1)))),
        Design({"x": (0.0, 1.0)}, 4),
        {"x": attribute},
    )
    made = effects(protocol, said.reshape(8, 2), ("a", "b"), "mine")
    assert [effect.estimate for effect in made.labels] == [75.0, 0.0]
    assert made.changed == 100 * 3 / 8
    assert made.mean_size == 37.5


def row(kind, f1, delta):
    return SimpleNamespace(kind=kind, f1=Figure(f1, None, None), amplification=Figure(delta, None, None))


def test_the_noise_curve_ends_where_noise_does():
    rows = [row("plain", 80.0, 20.0)]
    assert noise_at(noise_curve(rows), 80.0) is None
    rows.append(row("noise", 70.0, 10.0))
    assert noise_at(noise_curve(rows), 75.0) == 15.0
    assert noise_at(noise_curve(rows), 69.0) is None
    assert over_seeds([None, 2.0]).low is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            {"mitigations": [{"kind": "reweighed", "name": "x"}, {"kind": "balanced", "name": "x"}]},
            "expected distinct names",
        ),
        ({"mitigations": [{"kind": "rba", "name": "x"}]}, "expected one that precedes it"),
        ({"mitigations": [{"kind": "reweighed", "name": "x", "start": "plain"}]}, "starts from scratch"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused(content, said):
    with pytest.raises(BadInput, match=said):
        parse_config(content, "mitigate.toml")
