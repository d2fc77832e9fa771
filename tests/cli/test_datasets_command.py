"""`transect list datasets` and --dataset: what is shown of a data set, and what a report says of it."""

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


def test_people_are_counted_by_cell(tmp_path):
    """ann has two pictures of one cell, and is one person there; nobody is White and a man; one gender is not known."""
    rows = ["a.png,ann,Black,woman", "b.png,ann,Black,woman", "c.png,bob,Black,man", "d.png,cy,White,woman"]
    rows += ["e.png,di,White,woman", "f.png,ed,White,"]
    (tmp_path / "labels.csv").write_text("file,subject,race,gender\n" + "\n".join(rows) + "\n")
    for number, name in enumerate("abcdef"):
        replicas.put(tmp_path / f"{name}.png", 40 * number)
    words = ("datasets", "show", f"folder:{tmp_path}", "--by", "race", "--by", "gender")
    cells = json.loads(run(*words, "--json").stdout)["cells"]
    assert [tuple(cell.values()) for cell in cells] == [
        ("Black", "man", 1, 1), ("Black", "woman", 1, 2), ("White", "man", 0, 0), ("White", "woman", 2, 2),
        ("unknown", "unknown", 1, 1),
    ]  # fmt: skip
    assert "unknown" in run(*words).stdout
    assert isinstance(run(*words, "--by", "age").exception, UnknownName)
