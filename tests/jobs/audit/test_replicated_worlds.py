"""One experiment in several generators, in one run and on one page."""

import json
from dataclasses import replace

import auditing
import numpy as np
import pytest
from commands import run_here
from photograph_folders import label, pictures, save
from statsmodels.stats.multitest import multipletests

import transect
from transect.analysis.replicated.reading import read
from transect.experiment.audit_studies import photographs
from transect.generators import FaceWorld


def bright(pixels):
    middle = pixels[:, 12:20, 12:20].mean(axis=(1, 2, 3)) / 255
    return np.where(middle > 0.40, 0.9, 0.1)


class Darker:
    """FaceWorld under another name, in which every picture is darkened and nobody can age."""

    name = "darker"

    def __init__(self):
        self.inner = FaceWorld(image_size=32)
        self.attributes = [each for each in self.inner.attributes if each.name != "age"]

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def describe(self):
        return {**self.inner.describe(), "name": self.name}

    def render(self, latents):
        images = self.inner.render(latents)
        return replace(images, pixels=(images.pixels * 0.8).astype(np.uint8))


def audited(out, **settings):
    settings = {"vary": ["skin_tone=1,10", "glasses=0,1"], "truth": "face", "outcomes": ["miss"], **settings}
    return auditing.audit(
        [bright], subjects=40, image_size=32, out=out, control=False, replicate=[Darker()], **settings
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("several") / "run"
    audited(out, observe=120, compare=["skin_tone", "glasses"])
    return out


@pytest.mark.integration
def test_each_world_is_a_study_and_every_finding_says_in_how_many_it_was_seen(run):
    results = json.loads((run / "results.json").read_text())
    assert sorted(study["name"] for study in results["studies"]) == ["experiment", "observation", "repeat-darker"]
    assert results["replicated"][0].startswith(("Of 2 shared effects: ", "Both shared effects "))
    said = {text.partition(": ")[2].partition(" ")[0]: text for text in results["replicated"][1:]}
    assert " of 3 worlds" in said["skin"]
    assert " of 3 worlds" in said["glasses"]  # of whose names the two that were set are observed too
    assert results["sections"][0]["key"] == "replication"


@pytest.mark.integration
def test_all_studies_of_a_page_are_corrected_together(run):
    """By Holm's method over the effects and interactions of all worlds: the page claims each of them."""
    results = json.loads((run / "results.json").read_text())
    rows = [row for row in (*results["effects"], *results["interactions"]) if row["p"] is not None]
    own = [row for row in rows if not row["same_test_as"]]
    expected = multipletests([row["p"] for row in own], method="holm")[1]
    assert [row["p_adjusted"] for row in own] == pytest.approx(expected)
    (family,) = (each for each in results["families"] if each["name"] == "effects and interactions")
    assert family["size"] == len(own) == results["family"]["size"]
    assert {member.partition(":")[0] for member in family["members"]} == {"experiment", "repeat-darker", "observation"}


@pytest.mark.integration
def test_an_attribute_that_the_other_world_lacks_is_not_repeated(tmp_path, capsys):
    audited(tmp_path / "run", vary=["skin_tone=1,10", "age=20,60"])
    assert "darker: it has no age, so that this is not repeated there" in capsys.readouterr().err
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert {row["attribute"] for row in results["effects"] if row["study"] == "repeat-darker"} == {"skin_tone"}


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """24 rendered faces in place of photographs, with a table of what they show."""
    folder = tmp_path_factory.mktemp("photos") / "faces"
    world = FaceWorld(image_size=32)
    shown = world.sample(range(900, 924))
    save(folder, world.render(shown).pixels)
    table = world.read(shown).select(["smile", "age"]).to_pylist()
    return label(folder, [f"p{i:03d}.png,{row['smile']},{row['age']}" for i, row in enumerate(table)], "file,smile,age")


BRIGHT = ("audit", "audited_models:bright", "--outcome", "score", "--size", "32", "--no-control", "--subjects", "10")


def shared(run):
    """By attribute: the worlds that share its effect, and their kinds."""
    (section,) = (
        each for each in json.loads((run / "results.json").read_text())["sections"] if each["key"] == "replication"
    )
    panels = section["figures"][0]["panels"]
    return {
        panel["heading"].split(" ")[0]: [point["label"] for point in panel["series"][0]["points"]] for panel in panels
    }


@pytest.mark.integration
def test_rendered_faces_are_repeated_on_edited_photographs_and_on_them_as_they_are(photos, tmp_path):
    out = tmp_path / "run"
    vary = ("--vary", "exposure=-1,1", "--vary", "smile=0,1")
    done = run_here(*BRIGHT, *vary, "--replicate", f"photographs:folder:{photos}", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert (
        "photographs:folder:faces: no edit sets smile, so that this is not repeated there; its label is observed, as it "
        "is: the study photographs\n"
    ) in done.stderr
    assert shared(out) == {
        "exposure": ["experiment (rendered)", "photographs-edited (photographs, edited)"],
        "smile": ["experiment (rendered)", "photographs (photographs as they are, unadjusted)"],
    }
    by_name = {reading.world.name: reading.photographed for reading in read([out])}
    assert by_name["photographs-edited"].shares(by_name["photographs"])
    assert not by_name["experiment"].shares(by_name["photographs"])
    rows = {(row["study"], row["attribute"]): row for row in json.loads((out / "results.json").read_text())["effects"]}
    assert rows["experiment", "exposure"]["estimate"] > 0 < rows["photographs-edited", "exposure"]["estimate"]


def on_photographs(folder, out, **settings):
    world = f"photographs:folder:{folder}"
    settings = {"vary": ["exposure=-1,1"], "outcomes": ["score"], "control": False, "subjects": 10, **settings}
    auditing.audit([bright], generator=world, image_size=32, out=out, **settings)
    return out


@pytest.mark.integration
def test_worlds_of_the_same_photographs_are_said(photos, tmp_path):
    """Ten of 24 photographs each by seeds 0 and 1, of which some are in both; and twenty other ones."""
    other = save(tmp_path / "others", pictures(20, size=32))
    runs = [on_photographs(photos, tmp_path / str(seed), seed=seed) for seed in (0, 1)]
    elsewhere = on_photographs(other, tmp_path / "elsewhere", subjects=20)
    result = transect.replicate([*runs, elsewhere])
    (note,) = (note for note in result.numbers.notes if "the same photographs or people" in note)
    assert note.startswith("0 and 1 show the same photographs or people")
    assert len(result.numbers.findings) == 1
    assert not any("same photographs" in note for note in transect.replicate([runs[0], elsewhere]).numbers.notes)


@pytest.mark.integration
def test_edited_photographs_are_observed_as_they_are_too():
    assert photographs(auditing.request(replicate=["reference", "photographs:folder:faces"])) == {"folder:faces": ""}
    assert photographs(auditing.request(replicate=["reference"])) == {}
    several = auditing.request(replicate=["photographs:folder:a/faces", "photographs:folder:b/faces"])
    assert photographs(several) == {"folder:a/faces": "folder-a-faces", "folder:b/faces": "folder-b-faces"}
    beside = auditing.request(replicate=["photographs:folder:a/faces"], dataset="folder:more")
    assert photographs(beside) == {"folder:a/faces": "folder-faces"}
    itself = auditing.request(replicate=["photographs:folder:a/faces"], dataset="folder:a/faces")
    assert photographs(itself) == {"folder:a/faces": ""}
