"""Rendered people beside photographs whose labels use other words: effects that are planted, joined by a rule."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from pathlib import Path

import auditing
import numpy as np
import pytest
from commands import printed
from PIL import Image

import transect
from transect.analysis.replicated import label_rules
from transect.analysis.replicated.conclusions import World, WorldEffect
from transect.analysis.replicated.reading import Reading
from transect.analysis.replicated.replicating import replicated
from transect.errors import BadInput
from transect.generators import FaceWorld
from transect.generators.photographs.attributes import ATTRIBUTES

PLANTED = {"glasses": 0.30, "smile": 0.20, "age": -0.15}
NAMES = tuple(PLANTED)
LEVELS = {"none to any", "below 0.5 to 0.5 or more", "below 40 to 40 or more"}


class Stamped:
    """FaceWorld, with the values of three attributes in the first pixel of each picture."""

    name = "faceworld-stamped"

    def __init__(self):
        self.inner = FaceWorld(image_size=32)

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def describe(self):
        return {**self.inner.describe(), "name": self.name}

    def render(self, latents):
        images = self.inner.render(latents)
        read = self.inner.read(latents)
        stamps = [np.array(read["glasses"]), 200 * np.array(read["smile"]), np.array(read["age"])]
        pixels = images.pixels.copy()
        pixels[:, 0, 0] = np.rint(np.stack(stamps, axis=1)).astype(np.uint8)
        return replace(images, pixels=pixels)


class Edited(Stamped):
    """The same, as photographs on which glasses alone can be set."""

    name = "photographs:stamped"

    @property
    def attributes(self):
        return tuple(each for each in self.inner.attributes if each.name == "glasses")

    def describe(self):
        return {**super().describe(), "pictures_sha256": "p" * 64}


def planted(pixels):
    """A score that answers to the stamp, and to how bright the picture is."""
    worn, smile, age = (pixels[:, 0, 0, channel].astype(float) for channel in range(3))
    shown = [worn > 0, smile >= 100, age >= 40]
    seen = sum(size * there for size, there in zip(PLANTED.values(), shown, strict=True))
    return 0.3 + seen + 0.2 * (pixels[:, 4:, 4:].mean(axis=(1, 2, 3)) / 255 - 0.5)


@pytest.fixture(scope="module")
def world():
    return Stamped()


@pytest.fixture(scope="module")
def folder(world, tmp_path_factory):
    """400 rendered people that stand for photographs, labelled as collections of photographs are."""
    place = tmp_path_factory.mktemp("collection") / "people"
    place.mkdir()
    latents = world.sample(range(5_000, 5_400))
    read, pixels = world.read(latents), world.render(latents).pixels
    names = ["none", "thin frame", "thick frame", "tinted", "dark"]
    with (place / "labels.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "Eyeglasses", "worn", "Smiling", "Young", "age", "years"])
        for place_of, (worn, smile, age) in enumerate(
            zip(*(np.array(read[name]).tolist() for name in NAMES), strict=True)
        ):
            Image.fromarray(pixels[place_of]).save(place / f"{place_of:03d}.png")
            band = f"{10 * int(age / 10)}-{10 * int(age / 10) + 9}"
            row = [int(worn > 0), names[int(worn)], int(round(200 * smile) >= 100), int(round(age) < 40), band, age]
            rows.writerow([f"{place_of:03d}.png", *row])
    return place


def audited(out, **settings):
    auditing.audit([planted], out=out, outcomes=["score"], control=False, **settings)
    return out


@pytest.fixture(scope="module")
def rendered(world, tmp_path_factory):
    vary = {"glasses": (0, 1, 2, 3, 4), "smile": (0, 0.3, 1), "age": (25, 65)}
    return audited(tmp_path_factory.mktemp("runs") / "drawn", vary=vary, subjects=14, generator=world)


@pytest.fixture(scope="module")
def labelled(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "photos"
    return audited(out, dataset=f"folder:{folder}", compare=["Eyeglasses", "Smiling", "Young", "worn"])


@pytest.fixture(scope="module")
def edited(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "set"
    return audited(out, vary={"glasses": (0, 1, 4)}, subjects=30, seed=3, generator=Edited())


@pytest.fixture(scope="module")
def result(rendered, edited, labelled):
    return transect.replicate([rendered, edited, labelled], margin=0.1)


@pytest.mark.integration
def test_labels_of_yes_and_no_are_set_beside_levels_that_were_set(result):
    findings = {finding.attribute: finding for finding in result.numbers.findings if finding.levels in LEVELS}
    assert {finding.levels for finding in findings.values()} == LEVELS
    for name, finding in findings.items():
        worlds = ["rendered", "edited", "labelled"] if name == "glasses" else ["rendered", "labelled"]
        assert [world.world for world in finding.worlds] == worlds
        for estimate in finding.worlds:
            assert estimate.estimate == pytest.approx(PLANTED[name], abs=0.06), (name, estimate.world)
            assert estimate.low < PLANTED[name] + 0.02
            assert estimate.high > PLANTED[name] - 0.02
            assert estimate.seen
        assert finding.verdict in ("replicates", "same direction")


@pytest.mark.integration
def test_levels_in_the_products_own_words_are_compared_as_they_are(result):
    """The label worn has the levels of glasses under another name; glasses of both worlds that set them have one."""
    own = {finding.levels for finding in result.numbers.findings} - LEVELS
    assert own == {"none to thin frame", "none to dark"}


@pytest.mark.integration
def test_the_page_of_labelled_photographs_says_once_that_nobody_is_named(labelled):
    assert (labelled / "report.html").read_text().count("Each photograph is treated as a different person.") == 1


@pytest.mark.integration
def test_the_page_states_the_rule_and_why_the_rest_is_not_compared(result, tmp_path):
    page = result.report(tmp_path / "page").read_text()
    notes = result.numbers.notes
    joined_by = "Joined by a rule, glasses in rendered, glasses in edited, Eyeglasses in labelled: glasses any of thin"
    assert any(note.startswith(joined_by) for note in notes)
    assert "Not compared in labelled: worn (in no other world, by name or by rule)" in notes
    assert "Not compared in edited: smile, age (nothing sets this there)" in notes
    assert [world.run for world in result.numbers.worlds] == ["drawn", "set", "photos"]
    assert all(note[:60] in page for note in notes)


@pytest.mark.integration
def test_other_rules_make_other_comparisons(rendered, labelled, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nattribute = "glasses"\nlabels = ["worn"]\nno = ["none"]\nyes = ["dark", "tinted"]\n')
    out = tmp_path / "out"
    printed("replicate", str(rendered), str(labelled), "--label-rules", str(rules), "--out", str(out))
    (finding,) = json.loads((out / "replicate.json").read_text())["findings"]
    assert (finding["attribute"], finding["levels"], len(finding["worlds"])) == ("glasses", "none to any", 2)
    assert finding["worlds"][1]["estimate"] == pytest.approx(PLANTED["glasses"], abs=0.06)


def effect(at, attribute, kind, labels, estimate, **more):
    return WorldEffect(
        world=at, target="m", digest="m", attribute=attribute, kind=kind, outcome="answer", unit="proportion",
        **{"slope": False, "origin": 0.0, "to": 1.0, **more}, labels=labels, estimate=estimate, low=estimate - 0.02,
        high=estimate + 0.02, p=0.001, p_adjusted=0.01, n_subjects=100,
    )  # fmt: skip


def stated(name, how, *effects):
    kind = {"set": "rendered", "unadjusted": "photographs as they are, unadjusted"}[how]
    return Reading(Path(name), World(name, name, kind, how, name, "", 100), effects)


def joined(*worlds):
    return replicated(worlds, {"answer": 0.1}, label_rules.read())


def test_a_label_that_says_the_opposite_is_turned():
    drawn = stated("drawn", "set", effect(0, "age", "continuous", ("25", "65"), -0.2, origin=25.0, to=65.0))
    photos = stated("photos", "unadjusted", effect(1, "Young", "binary", ("no", "yes"), 0.2))
    (finding,) = joined(drawn, photos).findings
    assert (finding.levels, finding.verdict) == ("below 40 to 40 or more", "replicates")
    assert [(each.estimate, each.low) for each in finding.worlds] == [(-0.2, -0.22), (-0.2, pytest.approx(-0.22))]


def test_two_levels_on_one_side_of_the_rule_are_not_compared_and_the_page_says_so():
    drawn = stated(
        "drawn", "set",
        effect(0, "age", "continuous", ("45", "65"), -0.2, origin=45.0, to=65.0),
        effect(0, "smile", "continuous", ("0", "1"), 0.1),
    )  # fmt: skip
    photos = stated(
        "photos", "unadjusted",
        effect(1, "Young", "binary", ("no", "yes"), 0.2), effect(1, "Smiling", "binary", ("no", "yes"), 0.1),
    )  # fmt: skip
    numbers = joined(drawn, photos)
    assert [finding.attribute for finding in numbers.findings] == ["smile"]
    assert any(
        note.startswith("Not compared by that rule, age in drawn: its levels are several") for note in numbers.notes
    )


def test_levels_of_the_products_own_words_need_no_rule():
    """A table of labels that says none and dark, in the order of the alphabet."""
    drawn = stated("drawn", "set", effect(0, "glasses", "categorical", ("none", "dark"), 0.2))
    photos = stated("photos", "unadjusted", effect(1, "glasses", "binary", ("dark", "none"), -0.2))
    numbers = joined(drawn, photos)
    (finding,) = numbers.findings
    assert (finding.levels, finding.verdict) == ("none to dark", "replicates")
    assert numbers.notes == ()


def test_ages_in_years_and_ages_without_a_unit_are_joined_by_the_rule():
    years = {"origin": 25.0, "to": 65.0, "attribute_unit": "years"}
    drawn = stated("drawn", "set", effect(0, "age", "continuous", ("25", "65"), -0.2, **years))
    photos = stated("photos", "unadjusted", effect(1, "age", "continuous", ("30", "60"), -0.2, origin=30.0, to=60.0))
    (finding,) = joined(drawn, photos).findings
    assert (finding.levels, finding.verdict) == ("below 40 to 40 or more", "replicates")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"no table \[\[rule\]\]"),
        ('[[rule]]\nattribute = "age"\nlabel = ["old"]', "rule 1: expected the keys attribute, labels, .*'label'"),
        ('[[rule]]\nattribute = "age"\nlabels = ["old"]', "age: expected either at_least, or no and yes"),
    ],
)
def test_a_file_of_other_rules_is_refused_in_one_line(tmp_path, text, said):
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(BadInput, match=said):
        label_rules.read(path)


def test_rules_that_ship_name_attributes_and_levels_of_the_product():
    own = {attribute.name: attribute for attribute in (*FaceWorld(image_size=32).attributes, *ATTRIBUTES)}
    for rule in label_rules.read():
        assert rule.attribute in own
        assert {*rule.no, *rule.yes} <= {*own[rule.attribute].levels, "brimmed hat", "hood"}
        if math.isfinite(rule.at_least):
            low, high = own[rule.attribute].bounds
            assert low < rule.at_least < high
