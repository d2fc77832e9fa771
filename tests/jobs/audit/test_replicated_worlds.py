"""One experiment in several generators, in one run and on one page."""

import json
from dataclasses import replace

import auditing
import numpy as np
import pytest
from report_reader import parse, text_of

from transect.errors import BadInput
from transect.generators import FaceWorld
from transect.jobs.audit import studies
from transect.jobs.audit.replicated_worlds import photographs


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
    audited(out, observe=300, compare=["skin_tone", "glasses"])
    return out


def test_each_world_is_a_study_and_every_finding_says_in_how_many_it_was_seen(run):
    results = json.loads((run / "results.json").read_text())
    assert sorted(study["name"] for study in results["studies"]) == ["experiment", "in-darker", "observation"]
    assert results["replicated"][0].startswith("Of 2 effects that several worlds share: ")
    said = {text.partition(": ")[2].partition(" ")[0]: text for text in results["replicated"][1:]}
    assert " of 3 worlds" in said["skin"]
    assert " of 2 worlds" in said["glasses"]  # observed glasses have more than two levels, and no adjusted effect
    assert results["sections"][0]["key"] == "replication"


def test_the_first_screen_says_so(run):
    page = (run / "report.html").read_text()
    summary = page.partition('id="summary"')[2].partition("</section>")[0]
    assert "In several worlds" in summary
    assert "seen in " in summary
    assert " in in-darker" in text_of(parse(page))


def test_an_attribute_that_the_other_world_lacks_is_not_repeated(tmp_path, capsys):
    audited(tmp_path / "run", vary=["skin_tone=1,10", "age=20,60"])
    assert "darker: it has no age, so that this is not repeated there" in capsys.readouterr().err
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert {row["attribute"] for row in results["effects"] if row["study"] == "in-darker"} == {"skin_tone"}


def test_what_is_refused(tmp_path):
    with pytest.raises(BadInput, match="--replicate repeats an experiment: give --vary"):
        audited(tmp_path / "a", vary=[])
    with pytest.raises(BadInput, match="expected one of age, got none"):
        audited(tmp_path / "b", vary=["age=20,60"])
    with pytest.raises(BadInput, match="another world each time"):
        auditing.audit([bright], vary=["glasses"], subjects=4, out=tmp_path / "c", replicate=[Darker(), Darker()])


def test_edited_photographs_are_observed_as_they_are_too():
    assert photographs(auditing.request(replicate=["reference", "photographs:folder:faces"])) == "folder:faces"
    assert photographs(auditing.request(replicate=["reference"])) is None


def test_edited_photographs_without_labels_are_not_observed(tmp_path, capsys):
    (tmp_path / "faces").mkdir()
    assert list(studies._as_they_are(f"folder:{tmp_path / 'faces'}", auditing.request())) == []
    assert "edited, and not observed as they are: " in capsys.readouterr().err
