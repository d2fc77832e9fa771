"""What the run's spec and the report say of a target."""

import json

import numpy as np
import pytest
from audited_models import Halves
from commands import run_here

import transect
from transect.errors import BadInput, UnknownName
from transect.records import Images, Predictions, Task
from transect.runs.folder import read_spec
from transect.targets import BoxConvention, describe, guarded
from transect.targets.capabilities import labels_of, positive_of, threshold_of
from transect.testing import ContractBroken, check_target


def test_everything_becomes_json_and_objects_only_their_class():
    class Odd(Halves):
        task = Task.DETECTION
        box_convention = BoxConvention(0, 0.5, 1, 1)

        def describe(self):
            return {
                "array": np.arange(2),
                "nan": float("nan"),
                "set": {2, 1},
                "object": object(),
                "nested": {1: (None, True)},
                "task": self.task,
            }

    assert describe(Odd()) == {
        "name": "halves",
        "task": "detection",
        "array": [0, 1],
        "nan": None,
        "set": [1, 2],
        "object": "object",
        "nested": {"1": [None, True]},
        "box_convention": {"center_dx": 0, "center_dy": 0.5, "width": 1, "height": 1},
    }


class Named(Halves):
    """A target of three classes, which states settings as attributes, in describe(), or in both."""

    task = Task.MULTILABEL

    def __init__(self, **said):
        self.said = said

    def predict(self, images):
        return images.pixels.mean(axis=(1, 2)) / 255

    def describe(self):
        return self.said


SETTINGS = {"threshold": 0.9, "labels": ("a", "b", "c"), "positive": "b"}


def with_attributes(target, **attributes):
    vars(target).update(attributes)
    return target


@pytest.mark.parametrize(
    "target",
    [
        with_attributes(Named(version=1), **SETTINGS),
        Named(**SETTINGS),
        with_attributes(Named(**SETTINGS), **SETTINGS),
        with_attributes(Named(**SETTINGS | {"positive": 1}), **SETTINGS),
        with_attributes(Named(threshold=np.float64(0.9), labels=[], positive=None), **SETTINGS),
    ],
    ids=["attributes", "describe", "both", "label-and-column", "empty-in-describe"],
)
def test_a_setting_counts_wherever_the_target_states_it(target):
    facts = describe(target)
    assert (facts["threshold"], facts["labels"]) == (0.9, ["a", "b", "c"])
    assert facts["positive"] in ("b", 1)
    assert (threshold_of(target), labels_of(target)) == (0.9, ("a", "b", "c"))
    assert positive_of(target) in ("b", 1)
    check_target(target)


@pytest.mark.parametrize(
    ("target", "named"),
    [
        (with_attributes(Named(threshold=0.5), threshold=0.9), "threshold"),
        (with_attributes(Named(labels=["a", "c", "b"]), labels=("a", "b", "c")), "labels"),
        (with_attributes(Named(labels=["a", "b", "c"], positive="c"), positive="a"), "positive"),
        (with_attributes(Named(positive=0), **SETTINGS), "positive"),
        (Named(task="binary"), "task"),
        (Named(threshold="high"), "threshold"),
        (Named(threshold=float("nan")), "threshold"),
        (Named(labels="abc"), "labels"),
    ],
)
def test_two_values_of_one_setting_are_refused_before_a_call(target, named):
    with pytest.raises(BadInput, match=f"^target halves: {named}: expected"):
        describe(target)
    with pytest.raises(ContractBroken):
        check_target(target)
    with pytest.raises(BadInput, match=f"^target halves: {named}: expected"):
        transect.audit(target, vary="skin_tone=1,10", subjects=2, image_size=32, quiet=True)


def test_a_class_that_the_answers_do_not_name_ends_the_run_with_them():
    class Late(Named):
        def predict(self, images):
            scores = images.pixels.mean(axis=(1, 2)) / 255
            return Predictions(self.task, scores, ("",) * len(images), labels=("a", "b", "c"))

    images = Images(np.zeros((2, 8, 8, 3), np.uint8))
    assert guarded(Late(positive="c"), images, timeout=5, batch=2).labels == ("a", "b", "c")
    with pytest.raises(UnknownName, match="'d'"):
        guarded(Late(positive="d"), images, timeout=5, batch=2)


STRICT = """
class Strict:
    name, task = "strict", "binary"
    {attribute}
    def predict(self, images):
        return [0.7] * len(images)
    def describe(self):
        return {said}
"""


@pytest.mark.integration
@pytest.mark.parametrize(
    ("attribute", "said"), [("threshold = 0.9", {}), ("pass", {"threshold": 0.9})], ids=["attribute", "describe"]
)
def test_check_audit_and_search_take_the_same_threshold(tmp_path, monkeypatch, attribute, said):
    """Every score is 0.7, so that a threshold of 0.9 says yes to nobody, and one of 0.5 to everybody."""
    (tmp_path / "strict_model.py").write_text(STRICT.format(attribute=attribute, said=said))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    checked = run_here("targets", "check", "strict_model:Strict", "--json")
    assert {each["answer"] for each in json.loads(checked.stdout)["answers"]} == {"no, score 0.7, yes from 0.9"}
    transect.audit("strict_model:Strict", vary="skin_tone=1,10", subjects=2, image_size=32, out="run", quiet=True)
    (entry,) = read_spec(tmp_path / "run").targets
    assert entry.description.cut == 0.9
    options = transect.SearchOptions(image_size=32)
    searched = transect.search(
        "strict_model:Strict", truth="smile>=0", budget=20, goal="failures", vary="age", options=options, quiet=True
    )
    assert searched.table["failure"].to_pylist() == [1.0] * 20  # a no, where yes is right everywhere
