"""Gates of raters' validation that later stages require: refused before, counted and left out after, told on the page."""

import json

import audited
import auditing
import pytest

from transect.analysis import finished_run, reporting
from transect.analysis import rater_validation as validation
from transect.analysis.rater_report import from_project
from transect.analysis.rater_validation import StudyValidation
from transect.annotation.agreement.image_validation import Gates
from transect.annotation.exchange.incoming import Incoming, take_in
from transect.annotation.project import open_project
from transect.designs.search.space import space_of
from transect.errors import BadInput
from transect.experiment import worlds
from transect.experiment.search_plan import SearchOptions, search_for
from transect.jobs import search as searching
from transect.ratings import gates as required
from transect.targets import as_target

OPTIONS = {"image_size": 32, "quiet": True, "control": False}


def validated(run, gates, seen_otherwise=(), quality=lambda k: 3 + k % 2):
    """Two raters answer both questions about every image of the run; of some images both see the other condition."""
    project = open_project(run, None, ("quality",))
    given = []
    for k, image in enumerate(finished_run.read(run).images["id"].to_pylist()):
        for rater in ("ada", "ben"):
            seen = int((k % 3 >= 2) != (k in seen_otherwise))
            given.append(Incoming("test", "", image, "", "condition", rater, seen))
            given.append(Incoming("test", "", image, "", "quality", rater, quality(k)))
    take_in(project, given, 1.0)
    answered = from_project(project)
    project.database.close()
    entries = {
        study.name: StudyValidation.of_run(validation.of_generator(study, gates=gates), study.run.spec.generator.facts)
        for study in answered
    }
    return validation.store(run, entries)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Four subjects, face shape at 0, 0.4 and 1 (the nearest answers are 0, 0 and 1); an audit that is finished."""
    folder = tmp_path_factory.mktemp("gated") / "run"
    auditing.audit(audited.brightness, vary=["face_shape=0,0.4,1"], subjects=4, out=folder, **OPTIONS)
    return folder


@pytest.fixture(scope="module")
def failing(run):
    """Of 12 images one (8 %) is seen as another, of the 4 at face shape 0 it is one in four: this level alone fails.

    The file is made once, here: the tests that want another verdict change a copy.
    """
    return validated(run, Gates(differing=0.1, images=4, quality_margin=5.0), seen_otherwise=(0,))


def changed(path, folder, change):
    """A copy of the file, changed."""
    made = json.loads(path.read_text())
    change(made["audit"])
    (folder / "changed.json").write_text(json.dumps(made))
    return folder / "changed.json"


def passing(one):
    for group in one["groups"]:
        group["failures"] = []


def test_levels_are_judged_alone(failing):
    one = json.loads(failing.read_text())["audit"]
    assert one["passed"]
    assert one["gates"]["differing"] == 0.1
    assert one["generator"]["name"] == "faceworld"
    found = {(g["attribute"], g["level"]): (g["differing"], g["judged"], g["failures"]) for g in one["groups"]}
    assert found == {
        ("", 0.0): (1, 12, []),
        ("face_shape", 0.0): (1, 4, ["conditions: 1 of 4 images are seen as a different condition"]),
        ("face_shape", 0.4): (0, 4, []),
        ("face_shape", 1.0): (0, 4, []),
    }


def test_an_audit_of_a_failed_condition_is_refused_before_anything_is_made(failing, tmp_path):
    asked = {"subjects": 2, "out": tmp_path / "new", "require_validation": failing, **OPTIONS}
    with pytest.raises(BadInput, match=r"got face_shape 0 \(conditions: 1 of 4 .*leave them out of `vary`"):
        auditing.audit(audited.brightness, vary=["face_shape=0,1"], **asked)
    # 0.25 lies between 0, which failed, and 0.4
    with pytest.raises(BadInput, match="got face_shape 0 "):
        auditing.audit(audited.brightness, vary=["face_shape=0.25,1"], **asked)
    with pytest.raises(BadInput, match=r"images with age 20 to have been rated, got no level of it"):
        auditing.audit(audited.brightness, vary=["age=20,60"], **asked)
    assert not (tmp_path / "new").exists()
    with pytest.raises(BadInput, match="got one with image_size 32 instead of 48; have raters rate images"):
        auditing.audit(audited.brightness, vary=["face_shape=0.5,1"], **{**asked, "image_size": 48})


@pytest.mark.integration
def test_what_was_vouched_for_is_audited_and_the_page_says_so(failing, tmp_path):
    # 0.75 lies between 0.4 and 1, which both passed
    result = auditing.audit(
        audited.brightness, vary=["face_shape=0.75,1"], subjects=2, out=tmp_path, require_validation=failing, **OPTIONS
    )
    (section,) = [one for one in result.results["sections"] if one["key"] == "gates"]
    assert section["warnings"] == []
    assert section["tables"][1]["rows"][1][0] == "face shape 0"
    again = reporting.report(tmp_path)
    assert again.results["sections"] == result.results["sections"], "the report is the same when it is made again"


def test_images_of_a_failed_condition_are_counted_and_left_out(run, failing):
    before = {(one.origin, one.to): one for one in reporting.report(run).effects}
    required.attach(run, required.read(failing))
    result = reporting.report(run)
    (run / required.FILE).unlink()
    after = {(one.origin, one.to): one for one in result.effects}
    told = {"condition failed in raters' validation": 4}
    for (origin, to), one in after.items():
        if one.kind == "slope":  # of the two levels that are left
            assert one.estimable
            assert one.excluded == told
        elif 0.0 in (origin, to):
            assert not one.estimable
            assert one.excluded == told
        else:
            assert one.estimate == before[origin, to].estimate
            assert one.n_images == 8
    (section,) = [one for one in result.results["sections"] if one["key"] == "gates"]
    (warning,) = section["warnings"]
    assert warning.startswith("4 images left out")
    (beside,) = [one for one in result.results["sections"] if one["key"] == "beside"]
    cells = {row[0]: row for table in beside["tables"] for row in table["rows"]}
    for place, one in before.items():
        row = cells[f"{one.name.replace('_', ' ')}, {one.outcome} of {one.target}"]
        assert row[1] == pytest.approx(one.estimate)
        assert (row[4], row[8]) == (one.n_images, after[place].n_images)


def test_a_generator_that_failed_is_refused_everywhere(run, failing, tmp_path):
    path = changed(failing, tmp_path, lambda one: one["failures"].update(quality="mean quality 2.10 is below 2.5"))
    with pytest.raises(BadInput, match="expected a generator that met every gate, got mean quality 2.10 is below 2.5"):
        required.attach(run, required.read(path))
    assert not (run / required.FILE).exists()
    with pytest.raises(BadInput, match="a generator that met every gate"):
        auditing.audit(audited.brightness, images=4, require_validation=path, **OPTIONS)


def test_a_search_holds_to_them_over_its_whole_range(failing, tmp_path):
    world, target = worlds.WorldSettings("faceworld", "balanced", 32).open(), as_target(audited.brightness)

    def searched(*vary, path=failing):
        space = space_of(world, vary)
        options = SearchOptions(require_validation=path)
        return search_for(world, target, space, truth="smile>0.5", budget=20, goal="failures", options=options)

    with pytest.raises(BadInput, match="got face_shape 0 "):
        searched("face_shape=0:1")
    with pytest.raises(BadInput, match="images with age .* to have been rated, got no level of it"):
        searched("face_shape=0.5:1", "age")
    result = searching.run(searched("face_shape=0.5:1"), tmp_path / "search", quiet=True)
    assert [section.key for section in result.sections] == ["gates"]
    # A level that fails inside of the range is met, though neither end touches it.
    inner = changed(failing, tmp_path, lambda one: (passing(one), one["groups"][2].update(failures=["quality: poor"])))
    with pytest.raises(BadInput, match=r"got face_shape 0.4 \(quality: poor\)"):
        searched("face_shape=0:1", path=inner)


@pytest.mark.parametrize(
    "text",
    [None, "{", "{}", '{"a": {"passed": true, "failures": {}}}'],
)
def test_what_is_no_validation_is_said_in_one_line(text, tmp_path):
    path = tmp_path / "v.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(BadInput, match="expected a validation by raters, got .*; make one: transect annotate validate"):
        required.read(path)
