"""Errors by condition from the command to the page: what --by takes and keeps, and mean faces of the run's own images."""

import base64
import io
import json

import auditing
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from transect.analysis import findings
from transect.cli.app import app
from transect.runs import report_options
from transect.runs.folder import FinishedRun
from transect.runs.tables import images_of
from transect.targets import as_target


def by_light(pixels):
    """A reader of smiles that sees but how light an image is."""
    return [float(image.mean() > 110) for image in pixels]


@pytest.fixture(scope="module")
def observed(tmp_path_factory):
    """24 faces as they come, with errors counted by earrings and skin tone."""
    out = tmp_path_factory.mktemp("observed") / "run"
    target = as_target(by_light, name="light", task="binary")
    options = {"images": 24, "image_size": 32, "truth": "smile>0.5", "compare": ["earrings", "skin_tone"]}
    return auditing.audit(target, **options, by=["earrings", "skin_tone"], control=False, quiet=True, out=out)


def test_mean_faces_are_means_of_the_stored_images(observed):
    """The page's first pair is of all images: the means of what was answered rightly and wrongly, pixel by pixel."""
    run = FinishedRun(observed.folder)
    pixels = images_of(run.read_table("images", 1)).pixels
    smiles = np.array(run.read_table("images", 1, without=("image",))["true.smile"].to_pylist()) > 0.5
    wrong = np.array(by_light(pixels)) != smiles
    face = observed.results["gallery"]["faces"][0]
    assert (face["measure"], face["by"], face["right"], face["wrong"]) == ("attribute", "", (~wrong).sum(), wrong.sum())
    first = observed.page.read_text().split('<div class="faces">')[1].split('src="data:image/png;base64,')
    for text, rows in zip(first[1:3], (~wrong, wrong), strict=True):
        with Image.open(io.BytesIO(base64.b64decode(text.split('"')[0]))) as image:
            assert np.abs(np.asarray(image, dtype=float) - pixels[rows].mean(axis=0)).max() <= 0.5


def test_the_choice_is_kept_with_the_run_and_can_be_changed(observed):
    assert report_options.read(observed.folder).by == ["earrings", "skin_tone"]
    done = CliRunner().invoke(app, ["report", str(observed.folder), "--by", "earrings", "--json"])
    assert done.exception is None
    results = json.loads((observed.folder / "results.json").read_text())
    assert {face["by"] for face in results["gallery"]["faces"]} == {"", "earrings"}
    assert report_options.read(observed.folder).by == ["earrings"]


def test_a_mean_is_of_pictures_that_are_reduced_first():
    """Two plain pictures of 128 pixels, 10 and 40: 25, of 64 pixels; a group without a picture has none."""
    pictures = [np.full((128, 128, 3), gray, np.uint8) for gray in (10, 40)]
    both, none = findings.means(np.array([[True, True], [False, False]]), enumerate(pictures))
    with Image.open(io.BytesIO(both)) as image:
        assert (image.size, np.unique(np.asarray(image)).tolist()) == ((findings.SIDE, findings.SIDE), [25])
    assert none is None
