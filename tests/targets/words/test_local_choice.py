"""The next token: the likeliest, drawn or prescribed, and where rounding could have led to another."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transect.targets.words.local import Chosen, Prescribed

LOGITS = st.lists(st.floats(-20, 20), min_size=3, max_size=9)


def chosen(logits, temperature, number, rounding=1e-6):
    choice = Chosen(torch.tensor([temperature]), torch.tensor([[number]]), rounding)
    scores = choice(torch.zeros(1, 1), torch.tensor([logits]))
    assert int(scores.isfinite().sum()) == 1
    return int(scores.argmax()), bool(choice.close[0])


def test_the_likeliest_token_and_how_near_the_second_is():
    """A logit may be off by 1 % of the largest, 0.1: 10 and 9.8 are in doubt, 10 and 9.7 are not."""
    assert chosen([1.0, 10.0, 9.7], 0.0, 0.5, rounding=0.01) == (1, False)
    assert chosen([1.0, 10.0, 9.81], 0.0, 0.5, rounding=0.01) == (1, True)
    assert chosen([1.0, 10.0, 10.0], 0.0, 0.5, rounding=0.0) == (1, False)


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0.0, 0), (0.19, 0), (0.21, 1), (0.49, 1), (0.51, 2), (0.999, 2)],
)
def test_a_number_falls_into_a_tokens_part(number, expected):
    """Probabilities 0.2, 0.3 and 0.5: the parts end at 0.2, 0.5 and 1."""
    assert chosen([math.log(0.2), math.log(0.3), math.log(0.5)], 1.0, number)[0] == expected


@given(
    LOGITS, st.floats(0.2, 3), st.integers(0, 8), st.floats(-2, 2), st.lists(st.floats(-1, 1), min_size=9, max_size=9)
)
def test_a_choice_without_doubt_survives_rounding(logits, temperature, place, off, noise):
    """Whatever every logit is changed by, up to the rounding's share of the largest; numbers lie near a part's edge."""
    rounding = 1e-2
    size = rounding * max(map(abs, np.float32(logits))) * 0.99
    changed = [logit + size * part for logit, part in zip(logits, noise, strict=False)]
    edges = np.cumsum(np.exp(np.array(logits) / temperature - np.logaddexp.reduce(np.array(logits) / temperature)))
    number = float(np.clip(edges[place % len(edges)] + off * size / temperature, 0, 0.999))
    for heat in (0.0, temperature):
        token, close = chosen(logits, heat, number, rounding)
        assert close or chosen(changed, heat, number, rounding)[0] == token


def test_a_batch_is_its_rows():
    logits, numbers = torch.randn(6, 30), torch.rand(6, 1)
    heat = torch.tensor([0.0, 1.0, 0.5, 0.0, 2.0, 1.0])
    together = Chosen(heat, numbers, 1e-6)(torch.zeros(6, 1), logits).argmax(dim=1).tolist()
    assert together == [
        chosen(row, float(t), float(u))[0] for row, t, u in zip(logits.tolist(), heat, numbers[:, 0], strict=True)
    ]


def test_prescribed_tokens_and_their_probabilities():
    """Rows of 2 and 1 tokens over 4; ends are 2 and 3. By hand: products of softmax, the ends' added."""
    said = Prescribed([(0, 1), (1,)], [2, 3], "cpu")
    assert said.steps == 3
    steps = [torch.log(torch.tensor([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]])) for _ in range(3)]
    tokens = [said(torch.zeros(2, 1), scores).argmax(dim=1).tolist() for scores in steps]
    assert tokens == [[0, 1], [1, 2], [2, 2]]
    np.testing.assert_allclose(said.logarithm.exp(), [0.1 * 0.2 * 0.7, 0.3 * 0.3], rtol=1e-6)
