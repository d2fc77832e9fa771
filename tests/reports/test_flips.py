"""Pairs of images around a flip: which subjects, which step, and frames that show the answer."""

import json

import numpy as np
import pytest
from report_factory import CASCADE, HOG, example, make_results, noise_png
from report_reader import classes, loose_digits, number_faults, parse, text_faults

from transect.records import Attribute, Design, Predictions, Task
from transect.reports import Gallery, Strip, selection, write
from transect.reports.album import choose
from transect.reports.page import LARGEST_PAGE

STEPS = (-1.0, -0.5, 0.0, 0.5, 1.0)
NAN = np.nan
SAID = [
    [0, 0, 0, 0, 1],  # no at its own, yes at 1
    [1, 0, 0, 1, 1],  # yes at .5, which is nearer than -1
    [1, 1, 1, 1, 1],
    [0, 0, 1, 0, 0],  # no at either side: .5 is shown
    [0, NAN, NAN, 1, 1],  # nothing to compare with
    [1, 0, 0, 0, 0],  # yes at -1
    [1, 1, 0, NAN, 1],  # the step at .5 has no answer: -.5
]
"""Answers of seven subjects at five steps; row 5 s + 2 is subject s as it is."""


def shown(said=SAID, **changes):
    n = np.size(said)
    fields = {
        "study": "steps-age",
        "target": "t",
        "design": Design({"age": STEPS}, subjects=len(said)),
        "attributes": {"age": Attribute("age", "continuous", "age", "λ", -1.0, 1.0)},
        "subjects": np.repeat(np.arange(len(said)) + 100, 5),
        "true": {},
        "predictions": Predictions(Task.BINARY, np.zeros((n, 1)), ("",) * n),
        "answers": ["said"] * n,
        "decisions": np.array(said, dtype=float).reshape(-1),
        "wrong": np.zeros(n, dtype=bool),
        "expected_boxes": None,
        "in_steps": True,
    }
    return selection.Shown(**(fields | changes))


def chosen(one):
    """Title -> pairs of (subject, step)."""
    made = selection.choose(one, lambda rows: {row: noise_png(row, 8, 8) for row in rows})
    return {strip.title: [(each.subject, each.cell["age"]) for each in strip.examples] for strip in made.flips}


def test_the_first_subjects_and_the_nearest_steps():
    assert chosen(shown()) == {
        "age, S 0→1, from no to yes: the first 3 of 4 subjects whose answer flips so": [
            (100, 0.0), (100, 1.0), (101, 0.0), (101, 0.5), (105, 0.0), (105, -1.0),
        ],
        "age, S 1→0, from yes to no: the one subject whose answer flips so": [(103, 0.0), (103, 0.5)],
    }  # fmt: skip


def test_nothing_is_shown_where_nothing_flips_or_levels_are_no_steps():
    assert chosen(shown([[1, 1, 1, 1, 1]] * 2)) == {}
    assert chosen(shown([[NAN] * 5] * 2)) == {}
    assert chosen(shown(in_steps=False)) == {}


CELLS = ({"skin_tone": 0.0, "light_level": 0.0, "glasses": 0.0}, {"skin_tone": 1.0, "light_level": 0.0, "glasses": 0.0})


def pair(seed, title="skin tone, S 1→0", name=CASCADE, **changes):
    own = example(seed, CELLS[0], name, answer_yes=True, **changes)
    return Strip(
        title, (own, example(seed, CELLS[1], name, answer_yes=False, wrong=True, answer="not found", boxes=()))
    )


def results_of(*targets):
    sections = [{"key": "sensitivity", "target": name, "title": f"Sensitivity of {name}"} for name in targets]
    return make_results() | {"sections": sections}


def test_each_flip_stands_in_the_section_of_its_target_with_its_answers(tmp_path):
    gallery = Gallery(flips=(pair(1), pair(2, name=HOG)))
    page = write(results_of(CASCADE, HOG), gallery, tmp_path)
    tree, written = parse(page.read_text()), json.loads((tmp_path / "results.json").read_text())
    assert number_faults(tree, written) == []
    assert text_faults(tree, written) == []
    assert loose_digits(tree) == []
    for index in (0, 1):
        sections = [
            one for one in tree.iter("section") if any(part.get("id") == f"section-{index}" for part in one.iter())
        ]
        section = sections[-1]  # the innermost
        (both,) = [one for one in section.iter("div") if "pair" in classes(one)]
        shots = list(both.iter("figure"))
        assert [classes(shot)[1:] for shot in shots] == [["says-yes"], ["says-no"]]
    assert written["gallery"]["flips_shown"] == written["gallery"]["flips_total"] == 2


@pytest.mark.integration
def test_flips_take_a_quarter_of_the_room_and_what_is_left_out_is_counted(tmp_path):
    cost = len(noise_png(0)) * 4 // 3 + 1500
    flips, strips = tuple(pair(seed) for seed in range(10)), tuple(Strip("s", (example(0, CELLS[0]),)) for _ in range(40))  # fmt: skip
    made = choose(Gallery(strips, flips=flips), 33 * cost)
    # a quarter of 33 are 8 pictures, four pairs; the strips have what is left (no picture costs more than the first)
    assert 3 <= len(made.flips) <= 4
    assert len(made.strips) >= 24
    large = tuple(Strip("large", tuple(example(k, CELLS[0], png=noise_png(k, 160, 160)) for k in range(6))) for _ in range(90))  # fmt: skip
    page = write(results_of(CASCADE), Gallery(flips=large), tmp_path)
    assert page.stat().st_size < LARGEST_PAGE
    entry = json.loads((tmp_path / "results.json").read_text())["gallery"]
    assert 0 < entry["flips_shown"] < entry["flips_total"] == 90


def changing_strip(decisions):
    """The last strip along glasses, for decisions [subjects, skin tones, glasses]."""
    said = np.array(decisions, dtype=float).reshape(-1)
    binary = Attribute("glasses", "binary", "glasses", levels=("off", "on"))
    table = shown(
        np.zeros((len(decisions), 4)),
        design=Design({"skin_tone": (0.0, 1.0), "glasses": (0.0, 1.0)}, subjects=len(decisions)),
        attributes={"glasses": binary, "skin_tone": binary},
        subjects=np.repeat(np.arange(len(decisions)) + 100, 4),
        decisions=said,
        in_steps=False,
    )
    made = selection.choose(table, lambda rows: {row: noise_png(row, 8, 8) for row in rows})
    strip = [strip for strip in made.strips if strip.title.startswith("glasses")][-1]
    return strip.title, strip.examples[0].subject, strip.examples[0].cell["skin_tone"]


def test_a_strip_shows_a_change_the_way_answers_change_on_average():
    """Along glasses subject 100 turns from no to yes once, and subject 101 from yes to no twice."""
    title, subject, tone = changing_strip([[[0, 1], [1, 1]], [[1, 0], [1, 0]]])
    assert title == "glasses: the first subject and setting whose answer changes"
    assert (subject, tone) == (101, 0.0)
