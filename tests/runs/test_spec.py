"""A run's spec: read back as it was, hashed as it was, and refused in one line where it is not one."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_run import small_spec

from transect.errors import BadInput, TransectError
from transect.records import Attribute, Design, Task
from transect.runs.folder import FinishedRun, RunFolder, canonical_json, read_spec, spec_hash
from transect.runs.spec import (
    GeneratorDescription,
    LimitsEntry,
    RunSpec,
    SearchedAttribute,
    SearchMethod,
    SearchSpec,
    StatedTruth,
    TargetDescription,
    WorldEntry,
)

NAMES = st.text(min_size=1, max_size=8)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
FACTS = st.dictionaries(NAMES, JSON, max_size=4).map(lambda facts: {"name": "world", **facts})
COUNTS = st.integers(1, 99)


def lists(items):
    return st.lists(items, max_size=2)


def objects(**fields):
    return st.fixed_dictionaries(fields)


CONTINUOUS = objects(
    name=NAMES, kind=st.sampled_from(["continuous", "ordinal"]), meaning=NAMES, unit=NAMES,
    low=st.integers(-9, 0) | st.floats(-9, 0), high=st.integers(1, 9) | st.floats(0.5, 9),
    levels=st.just([]), role=st.sampled_from(["attribute", "nuisance"]), source=NAMES,
)  # fmt: skip
CATEGORICAL = objects(
    name=NAMES, kind=st.sampled_from(["binary", "categorical"]), meaning=NAMES, unit=st.just(""), low=st.just(0.0),
    high=st.just(1.0), levels=st.lists(NAMES, min_size=2, max_size=4), role=st.just("attribute"), source=NAMES,
)  # fmt: skip
ATTRIBUTES = CONTINUOUS | CATEGORICAL
LEVELS = st.lists(
    objects(attribute=NAMES, values=st.lists(NUMBERS, min_size=1, max_size=4)),
    max_size=3, unique_by=lambda level: level["attribute"],
)  # fmt: skip
DESIGNS = objects(levels=LEVELS, subjects=COUNTS, seed=COUNTS, population=NAMES, hold=lists(NAMES)).map(
    lambda design: {**design, "basis": "experimental" if design["levels"] else "observational"}
)
READINGS = objects(
    attribute=NAMES, figure=st.none() | NAMES, value=st.none() | NUMBERS, low=st.none() | NUMBERS,
    high=st.none() | NUMBERS, n=COUNTS, gate=st.none() | NUMBERS, met=st.none() | st.booleans(), visibility=NAMES,
    reason=NAMES,
)  # fmt: skip
EDITS = objects(
    attributes=st.dictionaries(NAMES, FACTS, max_size=2), identity=st.none() | FACTS, realism=st.none() | FACTS,
    redraw=COUNTS,
)  # fmt: skip
OPTIONAL = {
    "edits": EDITS | EDITS.map(lambda edits: {**edits, "shipped": True}),
    "verification": objects(false_match_rate=st.none() | NUMBERS, within=lists(NAMES), own=lists(ATTRIBUTES)),
}
SPECS = st.fixed_dictionaries(
    {
        "versions": st.dictionaries(NAMES, NAMES, max_size=3),
        "name": NAMES,
        "generator": FACTS,
        "world": objects(
            name=NAMES, photometry_validated=st.booleans(), statement=NAMES, photometry=st.none() | FACTS,
            identity=st.none() | FACTS, maximum_gain_stops=NUMBERS,
        ),
        "readings": lists(READINGS),
        "attributes": lists(ATTRIBUTES),
        "held": st.none() | st.lists(ATTRIBUTES, min_size=1, max_size=2),
        "nominal": lists(ATTRIBUTES),
        "design": DESIGNS,
        "subjects_per_part": COUNTS,
        "targets": lists(
            objects(name=NAMES, slug=NAMES, task=st.sampled_from([*map(str, Task)]), outcomes=lists(NAMES),
                    description=FACTS,
                    truth=st.none() | objects(text=NAMES, attribute=NAMES, comparison=NAMES, value=NUMBERS))
        ),
        "limits": objects(timeout=NUMBERS, batch=COUNTS),
    },
    optional=OPTIONAL,
)  # fmt: skip


@settings(max_examples=40)
@given(SPECS)
def test_a_spec_is_read_back_as_it_was_written(body):
    """The canonical text is the same to the letter, so that the hash of a run that is there stays what it was."""
    spec = RunSpec.from_json(body)
    text = canonical_json(spec.to_json())
    assert text == canonical_json(body)
    assert RunSpec.from_json(json.loads(text)) == spec


def test_numbers_keep_their_kind_since_the_hash_is_of_them():
    spec = small_spec(Design({"age": (20, 40.0)}, 2))
    again = RunSpec.from_json(spec.to_json())
    assert [type(value) for value in again.design.levels["age"]] == [int, float]
    assert spec_hash(again.to_json()) == spec_hash(spec.to_json())


def test_errors_are_counted_by_what_is_set_else_by_what_is_observed_and_by_nothing_in_steps():
    age, smile, hat = (Attribute(name, "continuous", name) for name in ("age", "smile", "hat"))
    observed = small_spec(Design({}, 5), attributes=(age,), held=(smile,), nominal=(hat,))
    assert observed.counted_by == {"age", "smile"}
    assert small_spec(Design({"age": (0.0, 1.0)}, 5)).counted_by == {"age"}
    steps = {"name": "small", "steps": {"attribute": "age", "half_range": 30.0, "unit": "years"}}
    moved = small_spec(Design({"age": (0.0,)}, 5), generator=GeneratorDescription(steps))
    assert moved.counted_by == set()
    assert moved.generator.steps.half_range == 30.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda body: body.update(colour="red"), "RunSpec: expected the keys .*, got unknown key 'colour'"),
        (lambda body: body.pop("limits"), "RunSpec: expected the keys .*, got no key 'limits'"),
        (lambda body: body["design"]["levels"][0].pop("values"), r"design.levels\[0\]: .*got no key 'values'"),
        (lambda body: body.update(subjects_per_part="4"), "subjects_per_part: expected a whole number, got '4'"),
        (lambda body: body["attributes"][0].update(kind="round"), r"attributes\[0\].kind: expected 'continuous' or "),
    ],
)
def test_another_spec_is_refused_in_one_line(tmp_path, change, message):
    body = small_spec(Design({"smile": (0.0, 1.0)}, 2)).to_json()
    change(body)
    with RunFolder(tmp_path, body):
        pass
    with pytest.raises(BadInput, match=message) as refusal:
        read_spec(tmp_path)
    assert str(refusal.value).startswith(f"{tmp_path / 'run.json'}: ")
    assert "\n" not in str(refusal.value)


SEARCH = SearchSpec(
    versions={"transect": "0.1.0"},
    name="search",
    generator=GeneratorDescription({"name": "faceworld"}),
    world=WorldEntry("faceworld", True, "validated"),
    goal="regions",
    budget=400,
    seed=0,
    batch=8,
    method=SearchMethod("ours", None),
    space=(SearchedAttribute(Attribute("age", "continuous", "age", low=18, high=80), 18.0, 40.0, 80.0, None),),
    truth=StatedTruth("face", "face"),
    outcome="miss",
    target=TargetDescription({"name": "detector"}),
    limits=LimitsEntry(10.0, 16),
)


def test_the_spec_of_a_search_is_a_record_too():
    body = json.loads(json.dumps(SEARCH.to_json()))
    assert SearchSpec.from_json(body) == SEARCH
    assert SearchSpec.from_json({**body, "space": []}) == replace(SEARCH, space=())
    with pytest.raises(BadInput, match="got no key 'goal'"):
        SearchSpec.from_json({key: value for key, value in body.items() if key != "goal"})


def test_a_search_is_no_audit(tmp_path):
    with RunFolder(tmp_path, SEARCH.to_json()):
        pass
    assert FinishedRun(tmp_path).spec_hash == spec_hash(SEARCH.to_json())
    with pytest.raises(TransectError, match=r"expected the folder of an audit, got that of a search.*search\.html"):
        read_spec(tmp_path)
