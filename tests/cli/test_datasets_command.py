"""`transect datasets` and --dataset: what is shown of a data set, and what a report says of it."""

import json

import auditing
import pytest
import replicas
from typer.testing import CliRunner

from transect.cli.app import app
from transect.errors import UnknownName


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_show_says_what_a_data_set_holds(tmp_path):
    replicas.celeba(tmp_path)
    found = json.loads(run("datasets", "show", f"celeba:{tmp_path}?crop=148", "--json").stdout)
    assert (found["images"], found["subjects"], found["image_size"], found["crop"]) == (5, 4, 148, "148")
    assert found["attributes"][0] == {"name": "Smiling", "kind": "binary", "known": 5, "levels": {"no": 2, "yes": 3}}
    assert found["left_out"] == {"rows of labels without an image": 1, "images without a row of labels": 1}
    text = run("datasets", "show", f"celeba:{tmp_path}").stdout
    assert "no attribute: Young" in text
    assert "no 2, yes 3" in text
    assert isinstance(run("datasets", "show", f"celab:{tmp_path}").exception, UnknownName)


@pytest.mark.parametrize(("reader", "attributes"), [("celeba", {"Smiling", "Male"}), ("ffhq", {"glasses"})])
def test_an_audit_of_a_data_set_counts_what_is_left_out(tmp_path, capsys, reader, attributes):
    getattr(replicas, reader)(tmp_path)

    def brightness(pixels):
        return pixels.mean(axis=(1, 2, 3)) / 255

    result = auditing.audit(brightness, dataset=f"{reader}:{tmp_path}", out=tmp_path / "run", quiet=True)
    assert {effect.attribute for effect in result.effects} == attributes
    said = capsys.readouterr().err
    assert "Left out, images without a row of labels: 1." in said
    assert "Left out, rows of labels without an image: 1." in result.page.read_text()
