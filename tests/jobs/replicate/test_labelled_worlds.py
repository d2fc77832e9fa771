"""Rendered people beside photographs whose labels use other words: effects that are planted, joined by a rule."""

from __future__ import annotations

import csv
from dataclasses import replace

import auditing
import numpy as np
import pytest
from commands import printed
from PIL import Image

import transect
from transect.analysis.replicated import label_rules
from transect.analysis.replicated.label_rules import LabelRule
from transect.errors import BadInput
from transect.generators import FaceWorld

PLANTED = {"glasses": 0.30, "smile": 0.20, "age": -0.15}
NAMES = tuple(PLANTED)


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
def result(rendered, labelled):
    return transect.replicate([rendered, labelled], margin=0.1)


@pytest.mark.integration
def test_labels_of_yes_and_no_are_set_beside_levels_that_were_rendered(result):
    findings = {finding.attribute: finding for finding in result.numbers.findings}
    levels = {name: finding.levels for name, finding in findings.items()}
    assert levels == {"glasses": "none to any", "smile": "below 0.5 to 0.5 or more", "age": "below 40 to 40 or more"}
    for name, finding in findings.items():
        assert [world.world for world in finding.worlds] == ["rendered", "labelled"]
        for estimate in finding.worlds:
            assert estimate.estimate == pytest.approx(PLANTED[name], abs=0.06), (name, estimate.world)
            assert estimate.low < PLANTED[name] + 0.02
            assert estimate.high > PLANTED[name] - 0.02
            assert estimate.seen
        assert finding.verdict in ("replicates", "same direction")


@pytest.mark.integration
def test_the_page_states_the_rule_and_why_the_rest_is_not_compared(result, tmp_path):
    page = (result.report(tmp_path / "page") and (tmp_path / "page" / "replicate.html")).read_text()
    rule = "glasses in rendered and Eyeglasses in labelled are compared as none to any: yes is glasses thin frame or"
    assert any(rule in note for note in result.numbers.notes)
    assert "labelled alone has worn, and no rule joins it with another: not compared" in result.numbers.notes
    for note in result.numbers.notes:
        assert note.replace("’", "'")[:60] in page.replace("’", "'")
