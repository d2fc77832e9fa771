"""The batched networks are the released network, and each is what it would be alone, to the last bit."""

import numpy as np
import pytest
import torch
from leaky_data import planted, planted_bits
from oracles import networks_one_by_one

from transect.attacks import Evidence, Problem, Settings, dataset_leakage
from transect.attacks.attackers import Mlp
from transect.attacks.attackers.networks import Batch, Networks, initial_weights
from transect.attacks.scoring import balanced_accuracy, credit

STEPS, ROWS = 60, 32


def batches(k, c, n, seed, dense):
    """STEPS batches of n networks: what the batched model takes, and one-hot or real rows for the loop."""
    rng = np.random.default_rng(seed)
    classes = torch.from_numpy(rng.integers(0, c, (STEPS, n, ROWS)))
    if dense:
        values = torch.from_numpy(rng.normal(2, 3, (STEPS, n, ROWS, k)).astype(np.float32))
        return [Batch(values=v) for v in values], values, classes
    category = torch.from_numpy(rng.integers(0, k, (STEPS, n, ROWS)))
    return [Batch(category=own) for own in category], torch.nn.functional.one_hot(category, k).float(), classes


@pytest.mark.integration
@pytest.mark.parametrize(
    ("hidden", "dense", "c", "cancelling", "apart"),
    [
        ((20, 12, 20, 16), True, 2, False, 3e-4),
        ((20, 12, 20, 16), False, 3, False, 3e-4),
        ((20,), True, 2, True, 2e-2),
    ],
)
def test_training_is_that_of_the_released_network(hidden, dense, c, cancelling, apart):
    sizes, seeds = (9, *hidden, c), (3, 4, 5)
    ours, values, classes = batches(9, c, 3, 0, dense)
    together = Networks(sizes, seeds)
    for batch, labels in zip(ours, classes, strict=True):
        together.train_step(batch, labels)
    said = together.logits(ours[0])
    for i, seed in enumerate(seeds):
        model = networks_one_by_one.network(sizes, initial_weights(sizes, seed), cancelling)
        start = model.train()(values[0, i]).detach()
        model = networks_one_by_one.network(sizes, initial_weights(sizes, seed), cancelling)
        theirs = networks_one_by_one.train(model, zip(values[:, i], classes[:, i], strict=True))(values[0, i]).detach()
        assert (theirs - start).abs().max() > 0.05  # they have moved,
        assert (said[i] - theirs).abs().max() < apart  # and together


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("mlp", planted(n=700, k=13)),
        ("mlp-2x100", planted_bits(n=700, k=13)),
    ],
    ids=["mlp-category", "mlp-2x100-bits"],
)
def test_a_network_is_the_same_alone_and_in_company(name, data):
    """The number of inputs and rows are no multiples of a vector's length, so that every tail is met."""
    rows = np.arange(700)
    problems = [
        Problem(
            data.labels,
            np.random.default_rng(s).permutation(data.protected),
            2,
            rows[: 300 + s % 2],
            rows[500:],
            seed=s,
        )
        for s in range(5)
    ]
    together = Mlp(name, epochs=2, together=5).attack(problems)
    for problem, answer in zip(problems, together, strict=True):
        assert (Mlp(name, epochs=2, together=1).attack([problem])[0] == answer).all()


@pytest.mark.parametrize("name", ["mlp", "mlp-2"])
def test_the_planted_leakage_is_found_by_each(name):
    found = dataset_leakage(planted(n=3000), Mlp(name, epochs=15), Settings(rounds=2, train_per_class=500))
    assert found.low < 75 < found.high
    assert found.rounds == 2


def test_the_published_snapshot_is_the_best_on_the_development_rows():
    """The tested rows are the development rows: what is said of them is the best of all epochs, never the last one's."""
    data = planted_bits(n=900)
    noise = Problem(data.labels, np.random.default_rng(0).integers(0, 2, 900), 2, np.arange(300), np.arange(300, 900))
    chosen = Problem(noise.evidence, noise.protected, 2, noise.train, noise.test, noise.test)
    truth = noise.protected[noise.test]

    def accuracy(problem, epochs):
        said = Mlp(epochs=epochs).attack([problem])[0]
        return (said.argmax(axis=1) == truth).mean()

    each = [accuracy(noise, epochs) for epochs in range(1, 7)]
    assert accuracy(chosen, 6) == max(each)
    assert max(each) > each[-1] or each.count(max(each)) > 1


def test_scores_of_a_model_are_learned_from_too():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(900, 3)).astype(np.float32)
    groups = (x[:, 0] * x[:, 1] > 0).astype(np.int64)  # no line separates them
    problem = Problem(Evidence(tuple("abc"), values=x), groups, 2, np.arange(600), np.arange(600, 900))
    scores = Mlp("mlp-2", epochs=60).attack([problem])[0]
    assert balanced_accuracy(credit(scores, groups[600:]), groups[600:]) > 80


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_says_nearly_the_same():
    data = planted(n=600)
    problem = Problem(data.labels, data.protected, 2, data.rows_of("train"), data.rows_of("test"))
    one, other = (Mlp(epochs=3, device=device).attack([problem])[0] for device in ("cpu", "cuda"))
    assert one == pytest.approx(other, abs=1e-2)
