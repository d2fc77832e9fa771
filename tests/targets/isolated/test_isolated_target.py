"""A target in a process of its own: what it does wrong costs the image, and is said of it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import rough_targets as rough

from transect.errors import BadInput, TargetChanged, UnknownName
from transect.records import Images
from transect.targets import as_target, guarded, resolve
from transect.targets.capabilities import describe
from transect.targets.isolated import IsolatedTarget, is_model

BRIGHT = "rough_targets:brightness"


def faces(*kinds):
    """Images of the middle gray whose first value says what the target does with them."""
    pixels = np.full((len(kinds), 4, 4, 3), 51, np.uint8)
    pixels[:, 0, 0, 0] = kinds
    return Images(pixels)


def asked(target, images, timeout=60.0):
    return guarded(target, images, timeout=timeout, batch=len(images))


@pytest.fixture(scope="module")
def bright():
    target = resolve(BRIGHT, isolate=True)
    yield target
    target.close()


def test_answers_and_description_are_those_of_this_process(bright):
    here, images = resolve(BRIGHT, isolate=False), faces(0, 0, 0)
    assert isinstance(bright, IsolatedTarget)
    assert is_model(bright)
    assert describe(bright) == describe(here)
    assert (bright.name, bright.task, bright.threshold, bright.labels) == (here.name, here.task, 0.5, ())
    assert asked(bright, images).scores.tobytes() == asked(here, images).scores.tobytes()


@pytest.mark.integration
def test_warnings_of_libraries_do_not_reach_the_terminal(capfd):
    target = resolve("engine_work:open_large_picture", isolate=True)
    assert asked(target, faces(0)).scores.tolist() == [[1.0]]
    target.close()
    assert "Warning" not in capfd.readouterr().err


@pytest.mark.integration
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (rough.LEAVES, "its process ended with exit code 0"),
        (rough.CRASHES, "its process was ended by SIGSEGV"),
        (rough.EXITS, "raised SystemExit: 3"),
        (rough.INTERRUPTS, "raised KeyboardInterrupt"),
    ],
)
def test_what_ends_a_call_is_said_of_its_image_alone(bright, kind, reason, capfd):
    answer = asked(bright, faces(0, kind, 0))
    assert answer.failures == ("", reason, "")
    np.testing.assert_allclose(answer.scores[[0, 2], 0], 0.2)
    assert ("Segmentation fault" in capfd.readouterr().err) == (kind == rough.CRASHES)


@pytest.mark.integration
def test_a_call_without_end_is_stopped_with_its_process(bright):
    from transect.targets import guard

    before, number = guard.abandoned, bright._process._popen.pid
    answer = asked(bright, faces(rough.HOLDS, 0), timeout=1.0)
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


@pytest.mark.integration
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


@pytest.mark.integration
@pytest.mark.parametrize(
    ("spec", "options", "expected"),
    [
        (BRIGHT, {"labels": object()}, "--isolate: expected settings of texts and numbers"),
        ("rough_targets:Paid", {}, "counts its own calls"),
        ("leaves_on_import:f", {}, "its process ended with exit code 7 during loading"),
    ],
)
def test_what_cannot_be_opened_there_is_refused_in_one_line(spec, options, expected, tmp_path, monkeypatch):
    (tmp_path / "leaves_on_import.py").write_text("import os\nos._exit(7)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises((BadInput, UnknownName), match=expected) as caught:
        resolve(spec, isolate=True, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.integration
@pytest.mark.isolated
def test_code_of_others_is_apart_by_default_unless_it_counts_its_calls():
    apart, here = resolve(BRIGHT), resolve("opencv:haarcascade_frontalface_default")
    assert isinstance(apart, IsolatedTarget)
    assert not isinstance(here, IsolatedTarget)
    assert isinstance(resolve("rough_targets:Paid"), rough.Paid)
    assert not isinstance(resolve(BRIGHT, isolate=False), IsolatedTarget)
    apart.close()


@pytest.mark.integration
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
        time.sleep(0.05)
    pytest.fail("the process of the target is still there")


STRAY = """
import os, struct
import numpy as np
from transect.records import Predictions, Task
from transect.targets.isolated.target import answer_message, send

def pipes():
    paths = [(int(f), f"/proc/self/fd/{f}") for f in os.listdir("/proc/self/fd")]
    return [f for f, path in paths if f > 2 and os.path.exists(path) and "pipe" in os.readlink(path)]

def stray(pixels):
    '''On a first value of 1 one more message than was asked for, of 2 bytes that are no message, of 3 one of call 1.'''
    kind = int(pixels[0, 0, 0, 0])
    header, numbers = answer_message(Predictions(Task.BINARY, np.full((len(pixels), 1), 0.125), ("",) * len(pixels)))
    for pipe in pipes() if kind in (1, 2, 3) else ():
        try:
            if kind == 2:
                os.write(pipe, b"hello")
            else:
                with os.fdopen(os.dup(pipe), "wb") as stream:
                    send(stream, header if kind == 1 else {**header, "call": 2}, numbers)
        except OSError:
            pass
    return [float(image[1:].mean() / 255) for image in pixels]
"""


@pytest.fixture
def stray_module(tmp_path, monkeypatch):
    (tmp_path / "stray_target.py").write_text(STRAY)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.integration
@pytest.mark.skipif(sys.platform != "linux", reason="the target finds its pipes in /proc")
@pytest.mark.parametrize("kind", [2, 3])
def test_a_stray_message_is_no_answer_to_the_next_image(stray_module, kind):
    """The image with the stray message may fail, and none gets the answer about another."""
    target = resolve("stray_target:stray", task="binary", isolate=True)
    images = faces(0, kind, 0, 0)
    images.pixels[:, 1:] = np.arange(4, dtype=np.uint8)[:, None, None, None] * 51
    answers = guarded(target, images, timeout=60.0, batch=1)
    target.close()
    right = np.arange(4) * 0.2
    failed = np.array([bool(reason) for reason in answers.failures])
    np.testing.assert_allclose(answers.scores[~failed, 0], right[~failed])
    assert 1 <= failed.sum() <= 2
    assert not failed[[0, 3]].any(), "a fresh process answers on"
    assert all(reason.startswith("its process sent ") for reason in answers.failures if reason)


@pytest.mark.integration
def test_a_target_that_hangs_while_it_is_loaded_is_ended(tmp_path, monkeypatch):
    from transect.targets.isolated import target as isolated

    (tmp_path / "hangs_on_import.py").write_text("import time\ntime.sleep(3600)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(isolated, "_LOADING", 3.0)
    with pytest.raises(BadInput, match="its process was stopped after 3 s during loading"):
        resolve("hangs_on_import:f", isolate=True)


CHANGING = """
import os
import numpy as np

SCORE = 0.25

def score(pixels):
    if pixels[0, 0, 0, 0] == 1:
        os._exit(0)
    return np.full(len(pixels), SCORE)
"""


@pytest.mark.integration
def test_a_process_that_is_started_again_with_other_code_ends_the_run(tmp_path, monkeypatch):
    """After a crash; with the old file it goes on."""
    file = tmp_path / "changing_target.py"
    file.write_text(CHANGING)
    monkeypatch.syspath_prepend(tmp_path)
    target = resolve("changing_target:score", isolate=True)
    before = target.describe()
    file.write_text(CHANGING.replace("0.25", "0.7500"))
    assert asked(target, faces(0)).scores.tolist() == [[0.25]], "the process has the first module"
    with pytest.raises(
        TargetChanged, match=r"the model changed while the run read it \(code_sha256\).*restore its files and rerun"
    ):
        asked(target, faces(1, 0))
    assert target.describe() == before
    file.write_text(CHANGING)
    assert asked(target, faces(0)).scores.tolist() == [[0.25]]
    target.close()
