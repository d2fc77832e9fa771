"""The whole check at the smallest size: its contract, what it keeps, what it refuses, what it publishes."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest

from transect.errors import BadInput, Interrupted, UnknownName
from transect.generators.faceworld.renderer import RENDERER_VERSION
from transect.generators.faceworld.validity import validity_of
from transect.generators.faceworld.world import FaceWorld
from transect.jobs.verify.figures import WorldFigures, record_of
from transect.jobs.verify.photometry import STATISTICS
from transect.jobs.verify.publication import facts, publish_facts
from transect.jobs.verify.settings import FIRST_SEEDS, PARTS, Settings
from transect.jobs.verify.tables import tables_of
from transect.jobs.verify.validation import FULL_SIZES, validate_world

SMALL = Settings(subjects=10, image_size=32, epochs=1, resamples=20)


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("check")
    return folder, validate_world(SMALL, folder, quiet=True)


def test_the_contract(checked):
    _, found = checked
    assert {(row["fifth"], row["statistic"]) for row in found["photometry"]} == {
        (fifth, name) for fifth in range(5) for name in STATISTICS
    }
    assert len(found["photometry"]) == 90
    assert {"rendered_p50", "p25", "p75", "inside"} <= found["photometry"][0].keys()
    assert {"share_inside", "medians_inside", "faces_per_fifth", "identity_auc"} <= found.keys()
    assert {row["target"] for row in found["targets"]} == {"opencv:haarcascade_frontalface_default", "dlib:hog-face"}
    assert sum(row["gate"] is not None for row in found["attributes"]) == 20
    assert len(found["null_auc"]) >= 3
    assert found["control_auc"]["attribute"] == "smile"
    assert found["identity"]["met"] in (True, False)
    assert found["renderer_version"] == RENDERER_VERSION
    assert found["photometry_passes"] is False, "ten subjects are not enough"
    assert len(found["by_attribute"]) == 24 * 11
    assert (found["share_within"], {row["reason"] for row in found["by_attribute"]}) == (None, {"too few faces"})
    assert {(row["population"], row["pixels"]) for row in found["sharpness"]} >= {("celebrity-like", "128")}
    json.dumps(found, allow_nan=False)


def test_what_is_finished_is_not_made_again(checked, monkeypatch):
    folder, found = checked
    monkeypatch.setattr(FaceWorld, "render", lambda *_: pytest.fail("rendered again"))
    monkeypatch.setattr("transect.jobs.verify.learning._step", lambda *_: pytest.fail("trained again"))
    assert validate_world(SMALL, folder, quiet=True) == found


def test_another_number_of_subjects_is_another_check(checked, monkeypatch):
    folder, _ = checked

    class Rendered(Exception):
        pass

    def render(*_):
        raise Rendered

    monkeypatch.setattr(FaceWorld, "render", render)
    with pytest.raises(Rendered):
        validate_world(replace(SMALL, subjects=11), folder, quiet=True)


def test_parts_that_are_not_asked_for_are_empty(checked):
    folder, found = checked
    only = validate_world(replace(SMALL, parts=("photometry",)), folder, quiet=True)
    assert only["photometry"] == found["photometry"]
    assert (only["targets"], only["attributes"], only["identity_auc"], only["null_auc"]) == ([], [], None, [])
    titles = [title for title, _, _ in tables_of(record_of(WorldFigures, only))]
    assert len(titles) == 2


def test_a_stopped_check_says_how_to_resume(tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(FaceWorld, "render", stop)
    with pytest.raises(Interrupted, match="rerun the command to resume"):
        validate_world(SMALL, tmp_path, quiet=True)


def test_tables_have_a_cell_for_every_heading(checked):
    _, found = checked
    for title, headings, rows in tables_of(record_of(WorldFigures, found)):
        assert title
        assert rows
        assert {len(row) for row in rows} == {len(headings)}
        assert all(isinstance(cell, str) for row in rows for cell in row)


def test_what_ships_is_read_by_the_world(checked, tmp_path):
    found = record_of(WorldFigures, {**checked[1], "image_size": 128})
    file = tmp_path / "facts" / "validity.json"
    publish_facts(found, file)
    written = json.loads(file.read_text())
    assert written == json.loads(json.dumps(facts(found)))
    said = validity_of(written, RENDERER_VERSION)
    assert said["photometry_validated"] is False
    assert said["photometry"]["subjects"] == 10
    assert said["readings"]["skin_tone"]["figure"] == "r2"
    assert not any("/" in str(value) for value in written.values() if isinstance(value, str)), "no path of a machine"
    assert not {"versions", "first_seeds", "epochs"} & written.keys()


def test_figures_ship_rounded(checked):
    _, found = checked
    changed = record_of(WorldFigures, {**found, "share_inside": 0.123456})
    assert facts(changed)["photometry"]["share_inside"] == 0.1235


def test_parts_that_were_not_measured_do_not_ship_and_are_said_to_lack(checked, tmp_path):
    found = {**checked[1], "image_size": 128}
    lacking = record_of(WorldFigures, {**found, "targets": [], "attributes": [], "identity": None})
    publish_facts(lacking, tmp_path / "validity.json")
    written = json.loads((tmp_path / "validity.json").read_text())
    assert "photometry" in written
    assert not {"targets", "attributes", "identity"} & written.keys()
    said = validity_of(written, RENDERER_VERSION)
    assert (said["readings"], said["identity"]) == ({}, None)
    assert said["not_measured"] == f"not measured for renderer version {RENDERER_VERSION}"
    with pytest.raises(BadInput, match="--publish: expected the photometry at least, got none"):
        publish_facts(record_of(WorldFigures, {**found, "photometry": []}), tmp_path / "none.json")
    assert not (tmp_path / "none.json").exists()


def test_figures_of_another_size_do_not_ship(checked, tmp_path):
    with pytest.raises(BadInput, match="--publish: expected figures at 128 pixels, got 32"):
        publish_facts(record_of(WorldFigures, checked[1]), tmp_path / "validity.json")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"subjects": 0}, "subjects: expected at least 1, got 0"),
        ({"epochs": 0}, "epochs: expected at least 1, got 0"),
        ({"resamples": 0}, "resamples: expected at least 1"),
        ({"parts": ()}, "expected at least one part of the check, got none"),
        ({"parts": ("readers",)}, "expected a model that reads an attribute, got none; give --reader ATTRIBUTE=TARGET"),
        ({"device": "gpu"}, "device: expected cpu, cuda or cuda:N, got 'gpu'"),
        ({"device": "cuda:x"}, "device: expected cpu, cuda or cuda:N"),
        ({"device": "cuda:99"}, "device: expected a CUDA device for 'cuda:99', found"),
    ],
)
def test_bad_settings(changes, message):
    with pytest.raises(BadInput, match=message):
        replace(SMALL, **changes)


def test_bad_names_and_files(tmp_path):
    with pytest.raises(UnknownName, match="unknown part of the check 'photometri': did you mean photometry"):
        replace(SMALL, parts=("photometri",))
    for name in ("landmark_model", "recognition_model"):
        with pytest.raises(BadInput, match=f"{name} .*: expected a file of dlib's, found none"):
            replace(SMALL, **{name: tmp_path / "none.dat"})


def test_samples_never_share_subjects():
    """Each sample's seeds end before the next one's begin, at full size with all copies."""
    starts = sorted(FIRST_SEEDS.values())
    largest = max(5000, *FULL_SIZES.values()) * 4 + 1_000_000  # copies and the seeds of all else
    others = {FIRST_SEEDS[name] for name in ("identities", "other_people")}
    for start, following in itertools.pairwise(starts):
        assert start + (largest if start in others else 20_000) <= following


def test_sizes_are_in_proportion():
    full, pilot = Settings(), Settings(subjects=750)
    assert [full.in_proportion(size) for size in FULL_SIZES.values()] == list(FULL_SIZES.values())
    assert pilot.in_proportion(FULL_SIZES["training"]) == 3000
    assert FULL_SIZES["training"] >= 20_000
    assert set(full.parts) == set(PARTS)
