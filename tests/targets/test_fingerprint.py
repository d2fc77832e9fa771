"""A digest that changes with what a target answers, and with nothing else."""

import importlib
import sys

import numpy as np
import pytest
import torch

from transect.targets.python_objects import fingerprint


def scaled(factor):
    return lambda pixels: pixels * factor


def test_the_same_code_has_the_same_digest():
    assert fingerprint(scaled(2)) == fingerprint(scaled(2))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda x: x + 1, lambda x: x + 2),
        (lambda x: x.mean(), lambda x: x.max()),
        (scaled(2), scaled(3)),
        (scaled(np.ones(2)), scaled(np.zeros(2))),
        (lambda x: [y + 1 for y in x], lambda x: [y + 2 for y in x]),
    ],
)
def test_other_code_has_another(one, other):
    assert fingerprint(one) != fingerprint(other)


def test_weights_count():
    torch.manual_seed(0)
    one = torch.nn.Linear(2, 1)
    before = fingerprint(one)
    assert fingerprint(one) == before
    with torch.no_grad():
        one.weight += 1
    assert fingerprint(one) != before


def test_an_objects_settings_count_and_its_address_does_not():
    class Above:
        def __init__(self, limit):
            self.limit, self.lock = limit, object()

        def __call__(self, pixels):
            return pixels > self.limit

    assert fingerprint(Above(1)) == fingerprint(Above(1))
    assert fingerprint(Above(1)) != fingerprint(Above(2))


def test_a_helper_in_the_same_module_counts(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "changing_model.py"
    digests = []
    for body in ("1", "2"):
        path.write_text(f"def helper(x):\n    return x + {body}\n\ndef model(x):\n    return helper(x)\n")
        sys.modules.pop("changing_model", None)
        importlib.invalidate_caches()
        digests.append(fingerprint(importlib.import_module("changing_model").model))
    sys.modules.pop("changing_model")
    assert digests[0] != digests[1]
