"""The page of an audit of photographs says nothing of rendered faces; that of an audit of both says it."""

import auditing
import numpy as np
import pytest
from PIL import Image
from planted_models import world
from report_reader import parse, text_of
from rough_targets import Boxes


@pytest.fixture(scope="module")
def faces(tmp_path_factory):
    """Twenty-four pictures of twelve people, earrings on every other one."""
    folder = tmp_path_factory.mktemp("faces")
    made = world()
    lines = ["file,subject,earrings"]
    for k, picture in enumerate(made.render(made.sample(np.arange(24))).pixels):
        Image.fromarray(picture).save(folder / f"{k}.png")
        lines.append(f"{k}.png,p{k // 2},{k % 2}")
    (folder / "labels.csv").write_text("\n".join(lines))
    return folder


def page_of(out, **settings):
    made = auditing.audit(Boxes(), image_size=32, out=out, quiet=True, **settings)
    return made.results, text_of(parse((out / "report.html").read_text()).find("body"))


@pytest.mark.parametrize("truth", ["earrings", "face"])
def test_of_photographs_alone(faces, tmp_path, truth):
    results, text = page_of(tmp_path / "run", dataset=f"folder:{faces}", truth=truth)
    assert results["world"]["photographs"]
    for word in ("rendered", "renderer", "rendering", "generated these images"):
        assert word not in text
    assert "24 photographs of 12 subjects" in text


def test_of_photographs_beside_an_experiment(faces, tmp_path):
    results, text = page_of(
        tmp_path / "run", dataset=f"folder:{faces}", vary=["earrings"], subjects=6, control=False, truth="earrings"
    )
    assert not results["world"]["photographs"]
    assert "Effects on rendered faces are evidence" in text
    assert "6 rendered subjects" in text
