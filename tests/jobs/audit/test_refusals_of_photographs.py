"""What is said of photographs that cannot be used as asked: one line with what was expected, what came, and the fix."""

import pytest
from commands import run_here
from photograph_folders import people, pictures, save

from transect.generators.photographs.world import Photographs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return people(tmp_path_factory.mktemp("private") / "faces", [2, 1], 40)


def refused(*words):
    made = run_here(*words)
    assert made.returncode == 2
    lines = made.stderr.strip().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (
            "photographs:faces",
            [],
            "--generator photographs:faces: expected photographs:READER:PATH, got no reader; give",
        ),
        ("photographs:folder:", [], "--generator photographs:folder:: expected photographs:READER:PATH, got no path"),
        ("photographs:folder:{empty}", [], "got none; check the path, or add images"),
        (
            "photographs:folder:{folder}",
            ["--size", "7"],
            "--size: expected at least 32 pixels of photographs, got 7; give",
        ),
        (
            "photographs:folder:{folder}",
            ["--vary", "smile"],
            "--vary smile: expected an edit, got what is known of the",
        ),
        ("photographs:folder:{folder}", ["--truth", "smle"], "did you mean smile"),
    ],
)
def test_an_audit_says_the_fix_in_one_line(folder, tmp_path, source, options, message):
    (tmp_path / "empty").mkdir()
    named = source.format(folder=folder, empty=tmp_path / "empty")
    vary = [] if "--vary" in options else ["--vary", "exposure=0,1"]
    target = "opencv:haarcascade_frontalface_default"
    said = refused(
        "audit", target, "--generator", named, *vary, *options, "--subjects", "2", "--out", str(tmp_path / "run")
    )
    assert message in said


def test_verify_marks_says_what_photographs_it_needs(folder):
    assert "expected READER:PATH of photographs whose marks are known" in refused("verify", "marks", str(folder))
    said = refused("verify", "marks", f"folder:{folder}")
    assert "expected photographs with landmarks or masks, which are the truth, got folder:faces without; name" in said


@pytest.mark.parametrize("name", ["faces?", "50%", "a?b=c", "a?marks=b", "a%20b"])
def test_a_folder_may_have_any_name(tmp_path, name):
    from transect import generators

    place = save(tmp_path / name, pictures(2, 40))
    opened = generators.load(f"photographs:folder:{place}")
    assert isinstance(opened, Photographs)
    assert opened.photographs == 2
