"""The finder of MediaPipe's bundles: networks written by hand, whose answers on a white picture are known."""

import subprocess
import sys
import zipfile

import numpy as np
import pytest
from lite_files import bundle, network

from transect.errors import BadInput
from transect.generators.faceworld.world import FaceWorld, own_marks
from transect.marks import mediapipe, open_marks
from transect.marks.geometry import as_68
from transect.marks.records import errors

WHITE = np.full((200, 200, 3), 255, np.uint8)
"""Its mean is 1 for both networks, which is added to each answer; that of a black one is -1 for the detector."""
CELL = (7 * 16 + 8) * 2
"""The first anchor of the cell in row 7 and column 8 of 16, whose middle is at 17/32 and 15/32."""


def detector(*faces, size=128, anchors=896):
    """faces: anchor, logit on a white picture, size of the box, left eye and right eye from the anchor, all in pixels."""
    numbers, logits = np.zeros((1, anchors, 16)), np.full((1, anchors, 1), -9.0)
    for anchor, logit, box, left, right in faces:
        numbers[0, anchor, 2:8] = *box, *left, *right
        logits[0, anchor] = logit
    return network(size, numbers - 1, logits - 1)


def landmarks(mesh, *, size=192, presence=2.0, ones=3):
    """mesh: k x 2 in widths of the square."""
    flat = np.concatenate([mesh * size, np.zeros((len(mesh), 1))], axis=1).reshape((1,) * ones + (-1,))
    return network(size, flat - 1, np.full((1, 1) if ones == 1 else (1, 1, 1, 1), presence - 1))


def a_mesh(count=468):
    return np.random.default_rng(5).uniform(0.2, 0.8, (count, 2))


def finder(folder, found, mesh):
    pytest.importorskip("ai_edge_litert")
    return open_marks(f"mediapipe:{bundle(folder / 'a.task', face_detector=found, face_landmarks_detector=mesh)}")


@pytest.mark.parametrize(("count", "size", "ones"), [(468, 192, 3), (478, 256, 3), (478, 256, 1)])
def test_points_come_back_from_a_turned_square(tmp_path, count, size, ones):
    """The box is 64 x 32 of 128 pixels about the anchor: 100 pixels of 200. The eyes slope by 3 in 4."""
    pytest.importorskip("ai_edge_litert")
    mesh = a_mesh(count)
    found = finder(
        tmp_path,
        detector((CELL, 1.5, (64, 32), (-16, -12), (16, 12))),
        landmarks(mesh, size=size, ones=ones),
    )
    marks = found.find(WHITE[None])
    turned = (mesh - 0.5) @ [1, 1j] * (0.8 + 0.6j) * 150 + complex(106.25, 93.75)
    expected = as_68(np.stack([turned.real, turned.imag], axis=1))
    assert marks.reasons == ("",)
    np.testing.assert_allclose(marks.points[0], expected, atol=1e-3)
    assert marks.confidence[0] == pytest.approx(1 / (1 + np.exp(-1.5)))
    assert sorted(marks.masks) == ["eyes", "face", "mouth"]
    assert found.describe()["sizes"] == [128, size]
    assert found.describe()["points"] == count


def test_who_is_left_out(tmp_path):
    """A dark picture has no face, and on a grey one the mesh sees none: -1 + 0.5 is a probability of 0.38."""
    pytest.importorskip("ai_edge_litert")
    one = (CELL, 1.5, (64, 32), (-16, 0), (16, 0))
    found = finder(tmp_path, detector(one), landmarks(a_mesh(), presence=0.0))
    marks = found.find(np.stack([WHITE, WHITE * 0, np.full_like(WHITE, 128)]))
    assert marks.reasons == ("", "no face was found", "")
    assert marks.confidence.round(2).tolist() == [0.5, 0.0, 0.38]
    assert marks.kept(found.threshold).tolist() == [True, False, False]
    assert np.isnan(marks.points[1]).all()
    assert marks.masks["face"][1].max() == 0 < marks.masks["face"][0].max()
    alone = [found.find(picture[None]) for picture in (WHITE, np.full_like(WHITE, 128))]
    assert [each.points[0].tobytes() for each in alone] == [marks.points[row].tobytes() for row in (0, 2)]


def test_of_several_faces_the_one_that_is_twice_as_wide_is_taken(tmp_path):
    pytest.importorskip("ai_edge_litert")
    faces = [(anchor, 2.5, box, (-4, 0), (4, 0)) for anchor, box in ((0, (31, 8)), (CELL, (62, 30)), (500, (20, 32)))]
    alike = finder(tmp_path, detector(*faces), landmarks(a_mesh())).find(WHITE[None])
    assert alike.reasons == ("several faces were found",)
    assert alike.confidence.tolist() == [0.0]
    faces[2] = (500, 2.5, (20, 31), (-4, 0), (4, 0))
    apart = finder(tmp_path, detector(*faces), landmarks(a_mesh())).find(WHITE[None])
    assert apart.reasons == ("",)
    assert np.linalg.norm(apart.points[0].mean(axis=0) - [106.25, 93.75]) < 10


def test_networks_of_others_are_refused_in_a_line(tmp_path):
    pytest.importorskip("ai_edge_litert")
    ours, mesh = detector((CELL, 1.5, (64, 32), (-16, 0), (16, 0))), landmarks(a_mesh())
    refusals = {
        r"face_landmarks_detector.tflite: expected an answer \[1, 1, 1, 1404\] or": (ours, ours),
        "face_detector.tflite: expected a network that LiteRT runs, got something else": (b"no model", mesh),
        "tensors of 3,": (network(32_000, np.zeros((1, 1))), mesh),
        "got something else .*can't decode byte 0xff": (ours.replace(b"answer 0", b"\xffnswer 0"), mesh),
    }
    for message, (first, second) in refusals.items():
        with pytest.raises(BadInput, match=message) as error:
            finder(tmp_path, first, second)
        assert "\n" not in str(error.value)


def test_archives_that_are_no_bundle_are_refused(tmp_path, monkeypatch):
    pytest.importorskip("ai_edge_litert")
    file = tmp_path / "b.task"
    with pytest.raises(BadInput, match=r"expected one face_landmarks_detector.tflite in the bundle, got none"):
        open_marks(f"mediapipe:{bundle(file, face_detector=b'a', face_blendshapes=b'b')}")
    whole = bundle(file, face_detector=b"a" * 99, face_landmarks_detector=b"b").read_bytes()
    file.write_bytes(whole.replace(b"aaa", b"abc", 1))
    with pytest.raises(BadInput, match=r"a zip archive \(.*Bad CRC-32"):
        open_marks(f"mediapipe:{file}")
    monkeypatch.setattr(mediapipe, "LARGEST", 98)
    file.write_bytes(whole)
    with pytest.raises(BadInput, match=r"of at most 0 MiB, got a larger one"):
        open_marks(f"mediapipe:{file}")
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("face_detector.tflite", b"c")
    with pytest.raises(BadInput, match="expected one face_detector.tflite in the bundle, got 2"):
        open_marks(f"mediapipe:{file}")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_bundle_that_may_unpack_without_a_bound_is_not_unpacked(tmp_path, method):
    """Three kilobytes of LZMA took six gigabytes."""
    with zipfile.ZipFile(tmp_path / "b.task", "w", method) as archive:
        archive.writestr("face_detector.tflite", bytes(1 << 20))
        archive.writestr("face_landmarks_detector.tflite", b"b")
    with pytest.raises(BadInput, match="expected entries stored or deflated"):
        mediapipe.read_bundle(tmp_path / "b.task")


@pytest.fixture(scope="module")
def mediapipe_bundle(tmp_path_factory):
    """The networks of MediaPipe's own wheel in the form of a bundle."""
    pytest.importorskip("ai_edge_litert")
    folder = tmp_path_factory.mktemp("mediapipe")
    wanted = ("--no-deps", "--only-binary", ":all:", "--python-version", "3.11", "--platform", "manylinux2014_x86_64")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", *wanted, "--dest", str(folder), "mediapipe==0.10.14"]
    if subprocess.run(pip, capture_output=True, check=False, timeout=300).returncode:
        pytest.skip("the package index is not reached, or has no mediapipe 0.10.14")
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        parts = ("face_detection/face_detection_short_range", "face_landmark/face_landmark")
        found, mesh = (wheel.read(f"mediapipe/modules/{part}.tflite") for part in parts)
    return bundle(folder / "face_landmarker.task", face_detector=found, face_landmarks_detector=mesh)


@pytest.mark.slow
def test_the_networks_of_mediapipe_on_rendered_faces(mediapipe_bundle):
    """Limits are about 1.5 times the errors that were seen on 120 pictures; the jaw of FaceWorld is another."""
    world = FaceWorld(image_size=96)
    latents = world.sample(range(900, 908))
    found, truth = open_marks(f"mediapipe:{mediapipe_bundle}"), own_marks(world, latents)
    pictures = world.render(latents).pixels
    pictures[7] = 90
    marks = found.find(pictures)
    assert marks.reasons == ("",) * 7 + ("no face was found",)
    assert marks.kept(found.threshold).tolist() == [True] * 7 + [False]
    error = {name: float(values[:7].mean()) for name, values in errors(marks, truth).items()}
    assert error["five points"] < 0.065
    assert max(error["eyes"], error["nose"], error["mouth"]) < 0.075
    assert error["brows"] < 0.13
    turned = found.find(np.ascontiguousarray(np.rot90(pictures[:7], axes=(1, 2))))
    assert sum(turned.kept(found.threshold)) == 7
    # Rotated by a quarter, (x, y) is at (y, 96 - x).
    back = np.stack([96 - turned.five[..., 1], turned.five[..., 0]], axis=-1)
    apart = np.linalg.norm(truth.five[:7, 1] - truth.five[:7, 0], axis=1)
    assert (np.linalg.norm(back - truth.five[:7], axis=2) / apart[:, None]).mean() < 0.12
