"""Labels and class together: by hand, and against the sum over every answer there is."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transect.mitigation.adversarial import star_loss
from transect.mitigation.closed_forms import (
    Energies,
    best,
    class_chances,
    class_shares,
    constrained,
    log_likelihood,
    marginal_logits,
)
from transect.mitigation.data import TaskData


class NoPictures:
    def pixels(self, rows):
        return np.zeros((len(rows), 1, 1, 3), dtype=np.uint8)


def some(seed, n=4, k=3, c=2):
    rng = np.random.default_rng(seed)
    return Energies(rng.normal(size=(n, k)), rng.normal(size=(n, c)), rng.normal(size=(k, c)))


def every_answer(energies):
    """S of every (y, g) of each item, by the formula: [n, 2^k, c], and the y's [2^k, k]."""
    k, c = energies.pairs.shape
    answers = np.array(list(itertools.product([0, 1], repeat=k)))
    scores = [
        [
            [classes[g] + sum(y[j] * (labels[j] + energies.pairs[j, g]) for j in range(k)) for g in range(c)]
            for y in answers
        ]
        for labels, classes in zip(energies.labels, energies.classes, strict=True)
    ]
    return np.array(scores), answers


@given(st.integers(0, 100), st.integers(2, 3))
def test_exact_as_the_sum_over_every_answer(seed, classes):
    energies = some(seed, c=classes)
    scores, answers = every_answer(energies)
    labels, group = best(energies)
    weights = np.exp(scores)
    z = weights.sum(axis=(1, 2))
    for i in range(len(labels)):
        y, g = np.unravel_index(scores[i].argmax(), scores[i].shape)
        assert (labels[i].astype(int).tolist(), group[i]) == (answers[y].tolist(), g)
    assert class_chances(energies) == pytest.approx(weights.sum(axis=1) / z[:, None])
    yes = np.stack([weights[:, answers[:, j] == 1].sum(axis=(1, 2)) / z for j in range(3)], axis=1)
    assert marginal_logits(energies) == pytest.approx(np.log(yes / (1 - yes)), rel=1e-6)
    at = (answers == [1, 0, 1]).all(axis=1).argmax()
    found = log_likelihood(energies, np.tile([True, False, True], (4, 1)), np.ones(4, dtype=int))
    assert found == pytest.approx(np.log(weights[:, at, 1] / z))


def test_the_loss_is_minus_the_likelihood():
    energies = some(3)
    labels, group = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]], dtype=bool), np.array([0, 1, 1, 0])
    data = TaskData(NoPictures(), labels, group, ("a", "b", "c"))
    made = torch.from_numpy(np.concatenate([energies.labels, energies.classes], axis=1))
    loss = star_loss(data, torch.from_numpy(energies.pairs))(made, np.arange(4))
    assert loss.item() == pytest.approx(-log_likelihood(energies, labels, group).mean())


def leaning():
    """Ten items, one label, all answered yes: eight as class 1 by rising margins, two as class 0."""
    margins = np.array([-1.0, -1.0, 0.1, 0.2, 0.3, 0.4, 2.0, 2.0, 2.0, 2.0])
    return Energies(np.full((10, 1), 9.0), np.stack([np.zeros(10), margins], axis=1), np.zeros((1, 2)))


def test_constraints_by_hand():
    # 80 % of the answers with the label are of class 1, training had 50 %. With a margin of 10 points at most six items
    # may be: the two weakest, of margins 0.1 and 0.2, have to change, and no stronger one.
    assert class_shares(*best(leaning()), 2).tolist() == [[0.2, 0.8]]
    made = constrained(leaning(), np.array([[0.5, 0.5]]), margin=0.1, rate=0.1)
    assert made.worst == 0.0
    labels, group = best(made.energies)
    assert group.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    assert labels.all()


def test_multipliers_by_hand():
    # Class 1 has 0.8 where 0.6 + 0.1 is allowed, class 0 has 0.2 where 0.4 - 0.1 is: both violate by 0.1, so that both
    # multipliers become 1.25 · 0.1. With class 0 the label gains 0.125 - (0.125 · 0.4 - 0.125 · 0.6) + 0.1 · 0.25,
    # with class 1 it loses 0.125 and gains the same two terms, 0.05. Class 1 falls behind by 0.25: two items change.
    made = constrained(leaning(), np.array([[0.4, 0.6]]), margin=0.1, rate=1.25)
    assert made.steps == 1
    assert made.energies.pairs == pytest.approx(np.array([[0.125 + 0.05, -0.125 + 0.05]]))


def test_what_cannot_be_kept_is_said():
    # All items are surely of class 1: a label without them is given up, or the violation is told.
    sure = Energies(np.full((4, 1), 50.0), np.tile([0.0, 500.0], (4, 1)), np.zeros((1, 2)))
    assert constrained(sure, np.array([[0.5, 0.5]]), margin=0.0, steps=5).worst == pytest.approx(0.5)
