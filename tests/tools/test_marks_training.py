"""The training of the network of marks: lessons whose truths follow the picture, and a training that resumes."""

import json

import numpy as np
import pytest
import torch

from tools.marks_hard_cases import hard, with_neck
from tools.marks_lessons import NONE, ONE, SEVERAL, _bent, _moved, lesson
from tools.marks_network import Plan, add_figures, main, train, unfold
from tools.marks_pictures import PARTS, Lessons, drawn, lessons, subjects
from transect.errors import BadInput
from transect.generators.faceworld.world import FaceWorld
from transect.marks.records import EYES
from transect.marks.shipped import SIZE, WEIGHTS, MarksNetwork, NetworkMarks, load


@pytest.fixture(scope="module")
def few():
    world = FaceWorld(image_size=SIZE, threads=1)
    return Lessons(**drawn(world, subjects(world, np.arange(100, 116))))


def test_points_and_masks_move_with_the_picture(few):
    """The mouth's mask lies between the mouth's points, before and after."""
    mouth = 1 << PARTS.index("mouth")
    for row in range(8):
        draws = np.random.default_rng(row)
        for pixels, points, bits in (
            (few.pixels[row], few.points[row], few.bits[row]),
            _moved(few.pixels[row], few.points[row], few.bits[row], draws),
        ):
            assert pixels.shape == (SIZE, SIZE, 3)
            down, across = np.nonzero(bits & mouth)
            if len(down) < 12:
                continue
            middle = np.array([across.mean(), down.mean()]) + 0.5
            span = np.ptp(points[48:60, 0])
            assert np.linalg.norm(middle - points[48:60].mean(axis=0)) < 0.35 * span + 1


def test_lessons_depend_on_key_and_row_alone(few):
    rows = np.arange(16)
    whole, part = lesson(few, rows, (0, 7)), lesson(few, rows[5:6], (0, 7))
    assert np.array_equal(whole.pixels[5], part.pixels[0])
    assert not np.array_equal(whole.pixels[5], lesson(few, rows[5:6], (0, 8)).pixels[0])
    kinds = np.concatenate([lesson(few, rows, (0, key)).faces for key in range(12)])
    assert set(kinds) == {NONE, ONE, SEVERAL}
    assert 0.7 < (kinds == ONE).mean() < 0.95
    assert np.isfinite(whole.points[whole.faces == ONE]).all()
    assert np.isnan(whole.points[whole.faces != ONE]).all()


def test_bent_faces_keep_their_points_where_their_masks_are(few):
    """Parts of the face move and change size, and the picture with them: eyes stay in their mask, lips in the mouth's."""
    kept = moved = total = 0
    for row in range(16):
        given = few.pixels[row], few.points[row], few.bits[row]
        for key in range(4):
            pixels, points, bits = _bent(*given, np.random.default_rng((row, key)))
            again, *_ = _bent(*given, np.random.default_rng((row, key)))
            assert np.array_equal(pixels, again)
            unit = np.linalg.norm(np.subtract(*(given[1][eye].mean(axis=0) for eye in EYES)))
            moved += np.linalg.norm(points - given[1], axis=1).max() > 0.1 * unit
            for name, part in (("eyes", EYES[0]), ("eyes", EYES[1]), ("mouth", slice(60, 68))):
                bit = 1 << PARTS.index(name)
                (x, y), (u, v) = given[1][part].mean(axis=0).astype(int), points[part].mean(axis=0).astype(int)
                before, after = given[2][y, x] & bit, bits[v, u] & bit
                total += before > 0
                kept += before > 0 and after > 0
    assert moved > 30
    assert total > 60
    assert kept > 0.9 * total


def test_wide_necks_add_skin_below_the_eyes_and_change_no_other_mask(few):
    skin = (1 << PARTS.index("skin")) | (1 << PARTS.index("person"))
    added = 0
    for row in range(16):
        left, right = (few.points[row][eye].mean(axis=0) for eye in EYES)
        down = np.array([left[1] - right[1], right[0] - left[0]])
        for key in range(4):
            given = few.pixels[row], few.points[row], few.bits[row]
            _, bits = with_neck(*given, np.random.default_rng((row, key)))
            rows, columns = np.nonzero(bits != few.bits[row])
            assert np.array_equal(bits | skin, few.bits[row] | skin)
            assert ((np.stack([columns, rows], axis=1) - left) @ down > 0).all()
            assert not (bits[rows, columns] & (1 << PARTS.index("hat"))).any()
            added += len(rows)
    assert added > 1000


def test_hard_cases_draw_glasses_and_change_no_other_mask(few):
    """Lines and shine are on bare faces too; where glasses are drawn, their mask lies over both eyes."""
    glasses, drawn_on, lined = 1 << PARTS.index("glasses"), 0, 0
    for row in range(16):
        given = few.pixels[row], few.points[row], few.bits[row]
        for key in range(6):
            pixels, bits = hard(*given, np.random.default_rng((row, key)))
            again, _ = hard(*given, np.random.default_rng((row, key)))
            assert np.array_equal(pixels, again)
            assert np.array_equal(bits | glasses, few.bits[row] | glasses)
            if (few.bits[row] & glasses).any():
                assert np.array_equal(bits, few.bits[row])
            elif (bits & glasses).any():
                drawn_on += 1
                for eye in (slice(36, 42), slice(42, 48)):
                    x, y = few.points[row][eye].mean(axis=0).astype(int)
                    assert bits[y, x] & glasses
            else:
                lined += not np.array_equal(pixels, few.pixels[row])
    assert drawn_on > 5
    assert lined > 10


def test_pictures_of_any_size_are_taught_at_the_size_of_the_network(few):
    """Larger pictures hold thinner frames: the lesson is the same but for sharpness."""
    twice = Lessons(few.pixels.repeat(2, 1).repeat(2, 2), 2 * few.points, few.bits.repeat(2, 1).repeat(2, 2), few.tones)
    one, other = lesson(few, np.arange(16), (0, 3)), lesson(twice, np.arange(16), (0, 3))
    assert other.pixels.shape == one.pixels.shape
    np.testing.assert_allclose(other.points, one.points, atol=0.02)


PLAN = Plan(images=16, held_out=4, steps=4, batch=4)


@pytest.mark.slow
def test_a_training_that_was_stopped_ends_the_same(few, tmp_path, monkeypatch):
    monkeypatch.setattr("tools.marks_network._STATE_EVERY", 2)
    at_once = train(PLAN, few, tmp_path / "one", quiet=True).state_dict()

    class Stopped(Exception):
        pass

    def stopping(taught, rows, key):
        if key[1] == 3:
            raise Stopped
        return lesson(taught, rows, key)

    with monkeypatch.context() as patch:
        patch.setattr("tools.marks_network.lesson", stopping)
        with pytest.raises(Stopped):
            train(PLAN, few, tmp_path / "two", quiet=True)
    resumed = train(PLAN, few, tmp_path / "two", quiet=True).state_dict()
    for name, value in at_once.items():
        assert torch.equal(value, resumed[name]), name


def test_a_training_goes_on_from_weights_that_ship(few, tmp_path):
    """Norms are put back so that no answer changes; the plan names the weights, and a state of others is refused."""
    start = load(WEIGHTS)
    pictures = torch.from_numpy(few.pixels).permute(0, 3, 1, 2).float() / 255
    network = MarksNetwork()
    unfold(network, start.network, pictures)
    with torch.inference_mode():
        for one, other in zip(start.network(pictures), network.eval()(pictures), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=5e-2)
    given = ["--out", str(tmp_path), "--images", "4", "--held-out", "4", "--steps", "2", "--batch", "2"]
    main([*given, "--rate", "1e-6", "--start", "built-in"])
    assert json.loads((tmp_path / "marks.json").read_text())["plan"]["start"] == start.sha256
    with pytest.raises(BadInput, match="choose another"):
        main(given)


def test_a_folded_network_answers_the_same():
    torch.manual_seed(0)
    network = MarksNetwork()
    network(torch.rand(8, 3, SIZE, SIZE))  # moves the statistics of the norms
    picture = torch.rand(2, 3, SIZE, SIZE)
    with torch.inference_mode():
        before = network.eval()(picture)
        after = network.folded()(picture)
    for one, other in zip(before, after, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_the_command_writes_what_is_loaded(tmp_path):
    main(["--out", str(tmp_path), "--images", "4", "--held-out", "4", "--steps", "2", "--batch", "2"])
    finder = NetworkMarks(tmp_path / "marks.safetensors")
    figures = json.loads((tmp_path / "marks.json").read_text())
    assert finder.threshold == figures["confidence"]["threshold"]
    assert set(figures["worn"]) == {"glasses", "hat"}
    assert finder.describe()["sha256"] == figures["sha256"]
    assert len(finder.find(np.zeros((1, 64, 64, 3), dtype=np.uint8))) == 1
    assert len(lessons(tmp_path, 30_000_000, 4, quiet=True)) == 4
    add_figures(tmp_path, 2)
    added = json.loads((tmp_path / "marks.json").read_text())
    assert added["sha256"] == figures["sha256"]
    assert added["faceworld"]["errors"]["all points"] < 0.1
    assert [tone["tone"] for tone in added["faceworld"]["tones"]] == ["1", "4", "7", "10"]
