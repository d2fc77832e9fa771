"""A target in a process of its own: what it does wrong costs the image, and is said of it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import rough_targets as rough

from transect.errors import BadInput, UnknownName
from transect.records import Images
from transect.targets import as_target, guarded, resolve
from transect.targets.description import describe
from transect.targets.isolated import IsolatedTarget, is_model

BRIGHT = "rough_targets:brightness"


def faces(*kinds):
    """Images of the middle gray whose first value says what the target does with them."""
    pixels = np.full((len(kinds), 4, 4, 3), 51, np.uint8)
    pixels[:, 0, 0, 0] = kinds
    return Images(pixels)


def asked(target, images, timeout=60.0):
    return guarded(target, images, timeout=timeout, batch=len(images))


@pytest.fixture
def bright():
    target = resolve(BRIGHT, isolate=True)
    yield target
    target.close()


def test_answers_and_description_are_those_of_this_process(bright):
    here, images = resolve(BRIGHT, isolate=False), faces(0, 0, 0)
    assert isinstance(bright, IsolatedTarget)
    assert is_model(bright)
    assert is_model(here)
    assert describe(bright) == describe(here)
    assert (bright.name, bright.task, bright.threshold, bright.labels) == (here.name, here.task, 0.5, ())
    assert asked(bright, images).scores.tobytes() == asked(here, images).scores.tobytes()


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (rough.LEAVES, "its process ended with exit code 0"),
        (rough.CRASHES, "its process was ended by SIGSEGV"),
        (rough.RAISES, "raised ZeroDivisionError: division by zero"),
        (rough.EXITS, "raised SystemExit: 3"),
    ],
)
def test_what_ends_a_call_is_said_of_its_image_alone(bright, kind, reason, capfd):
    answer = asked(bright, faces(0, kind, 0))
    assert answer.failures == ("", reason, "")
    np.testing.assert_allclose(answer.scores[[0, 2], 0], 0.2)
    assert ("Segmentation fault" in capfd.readouterr().err) == (kind == rough.CRASHES)


@pytest.mark.parametrize("kind", [rough.HANGS, rough.HOLDS])
def test_a_call_without_end_is_stopped_with_its_process(bright, kind):
    from transect.targets import guard

    before, number = guard.abandoned, bright._process._popen.pid
    answer = asked(bright, faces(kind, 0), timeout=1.0)
    assert answer.failures == ("timed out after 1 s", "")
    assert guard.abandoned == before  # nothing is left that the program would wait for
    assert not Path(f"/proc/{number}").exists()


def test_a_target_that_moves_or_prints_changes_nothing_here(capfd):
    folder, target = Path.cwd(), resolve(BRIGHT, isolate=True)
    answer = asked(target, faces(rough.PRINTS, rough.MOVES, 0))
    target.close()
    assert answer.failures == ("",) * 3
    assert Path.cwd() == folder
    out, err = capfd.readouterr()
    assert (out, err) == ("", "a line on standard output\n")


def test_boxes_and_settings_come_through():
    with_boxes = resolve("rough_targets:Boxes", isolate=True)
    pixels = np.stack([np.full((4, 4, 3), value, np.uint8) for value in (200, 10, 200)])
    boxes = np.tile([0.0, 0, 4, 4], (3, 1))
    answer = asked(with_boxes, Images(pixels, boxes))
    expected = asked(as_target(rough.Boxes()), Images(pixels, boxes))
    assert [found.tolist() for found in answer.boxes] == [found.tolist() for found in expected.boxes]
    assert [len(found) for found in answer.boxes] == [1, 0, 1]
    with_boxes.close()
    named = resolve(BRIGHT, isolate=True, threshold=0.1, task="binary", preprocess={"size": 2, "layout": "NHWC"})
    assert named.describe()["preprocess"]["size"] == [2, 2]
    assert named.threshold == 0.1
    named.close()


@pytest.mark.parametrize(
    ("spec", "options", "expected"),
    [
        ("rough_targets:nothing", {}, "unknown attribute of rough_targets 'nothing'"),
        ("no_such_module_at_all:f", {}, "no_such_module_at_all"),
        (BRIGHT, {"task": "poetry"}, "unknown task 'poetry'"),
        (BRIGHT, {"colour": 1}, "colour"),
        (BRIGHT, {"labels": object()}, "--isolate: expected settings of texts and numbers"),
        ("rough_targets:Paid", {}, "counts its own calls"),
        ("leaves_on_import:f", {}, "its process ended with exit code 7 while it was loaded"),
    ],
)
def test_what_cannot_be_opened_there_is_refused_in_one_line(spec, options, expected, tmp_path, monkeypatch):
    (tmp_path / "leaves_on_import.py").write_text("import os\nos._exit(7)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises((BadInput, UnknownName), match=expected) as caught:
        resolve(spec, isolate=True, **options)
    assert "\n" not in str(caught.value)


def test_objects_of_this_process_stay_here():
    with pytest.raises(BadInput, match="--isolate: expected the spec of a target"):
        as_target(rough.brightness, isolate=True)


@pytest.mark.isolated
def test_code_of_others_is_apart_by_default_unless_it_counts_its_calls():
    apart, here = resolve(BRIGHT), resolve("opencv:haarcascade_frontalface_default")
    assert isinstance(apart, IsolatedTarget)
    assert not isinstance(here, IsolatedTarget)
    assert isinstance(resolve("rough_targets:Paid"), rough.Paid)
    assert not isinstance(resolve(BRIGHT, isolate=False), IsolatedTarget)
    apart.close()


def test_the_process_ends_with_a_program_that_is_killed(tmp_path):
    """Also where the target holds its interpreter, so that it never sees the end of its input."""
    script = tmp_path / "hold.py"
    script.write_text(
        "import numpy as np, threading, time\n"
        "from transect.records import Images\n"
        "from transect.targets import resolve\n"
        f"target = resolve({BRIGHT!r}, isolate=True)\n"
        "pixels = np.zeros((1, 4, 4, 3), np.uint8)\n"
        f"pixels[:] = {rough.HOLDS}\n"
        "threading.Thread(target=target.predict, args=(Images(pixels),), daemon=True).start()\n"
        "time.sleep(0.5)\n"
        "print(target._process._popen.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    paths = os.pathsep.join([str(Path(rough.__file__).parent), *sys.path])
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": paths}
    ) as program:
        number = int(program.stdout.readline())
        program.kill()
        program.wait()
    for _ in range(100):
        if not Path(f"/proc/{number}").exists() or "Z" in Path(f"/proc/{number}/stat").read_text().split(")")[1][:3]:
            return
        import time

        time.sleep(0.05)
    pytest.fail("the process of the target is still there")
