"""Pictures of every depth as sRGB with 8 bits, and refusals where the file states no white."""

import contextlib
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import transect
from transect.errors import BadInput
from transect.runs.pictures import open_rgb

RAMP = np.linspace(0, 65535, 256).astype(np.uint16)[None].repeat(4, axis=0)
EXPECTED = np.rint(RAMP / 257).astype(np.uint8)


def encoded(pixels, kind, **options):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind, **options)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "PPM"])
def test_a_ramp_of_16_bits_stays_a_ramp(kind):
    pixels = np.asarray(open_rgb(encoded(RAMP, kind), "ramp"))
    np.testing.assert_array_equal(pixels, EXPECTED[..., None].repeat(3, axis=2))


def test_big_endian_tiff_and_white_is_zero():
    def written(photometric):  # TIFF 6.0 by hand: one strip of two big-endian values behind eight tags
        tags = [(256, 3, 2), (257, 3, 1), (258, 3, 16), (259, 3, 1), (262, 3, photometric), (273, 4, 200), (278, 3, 1)]
        tags.append((279, 4, 4))
        little = photometric == 0
        order = "little" if little else "big"
        rows = b"".join(
            tag.to_bytes(2, order) + kind.to_bytes(2, order) + (1).to_bytes(4, order)
            + (value.to_bytes(2, order) + b"\0\0" if kind == 3 else value.to_bytes(4, order))
            for tag, kind, value in tags
        )  # fmt: skip
        head = (b"II*\0" if little else b"MM\0*") + (8).to_bytes(4, order)
        body = head + len(tags).to_bytes(2, order) + rows + b"\0" * 4
        return body.ljust(200, b"\0") + (257).to_bytes(2, order) + (65535).to_bytes(2, order)

    assert np.asarray(open_rgb(written(1), "tiff"))[0, :, 0].tolist() == [1, 255]
    assert np.asarray(open_rgb(written(0), "tiff"))[0, :, 0].tolist() == [254, 0]


def test_rotation_is_undone_at_16_bits():
    exif = Image.Exif()
    exif[0x0112] = 6  # seen after a quarter turn to the right
    turned = np.asarray(open_rgb(encoded(RAMP, "PNG", exif=exif), "ramp"))
    np.testing.assert_array_equal(turned[..., 0], np.rot90(EXPECTED, -1))


@pytest.mark.parametrize("kind", ["TIFF", "PPM"])
def test_floating_point_values_are_refused_with_their_range(kind):
    content = encoded((RAMP / 65535).astype(np.float32), kind)
    with pytest.raises(BadInput, match="ramp: expected 8 or 16 bits, got floating-point values from 0 to 1; save it"):
        open_rgb(content, "ramp")


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK"])
def test_other_kinds_are_converted_by_pillow(mode):
    picture = Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3)).convert(mode)
    file = io.BytesIO()
    picture.save(file, "TIFF")
    np.testing.assert_array_equal(np.asarray(open_rgb(file.getvalue(), "x")), np.asarray(picture.convert("RGB")))


@pytest.mark.filterwarnings("ignore::UserWarning")  # of Pillow, about tags that it skips
@given(place=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_damaged_exif_is_read_or_refused(place, byte):
    """One such WebP raised struct.error."""
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "maker"
    content = bytearray(encoded(np.zeros((4, 6, 3), np.uint8), "WEBP", exif=exif.tobytes()))
    content[place % len(content)] = byte
    with contextlib.suppress(BadInput):
        assert open_rgb(bytes(content), "x").mode == "RGB"


def test_no_module_opens_pictures_by_itself():
    root = Path(transect.__file__).parent
    opening = [str(file.relative_to(root)) for file in root.rglob("*.py") if "Image.open(" in file.read_text("utf-8")]
    assert sorted(opening) == [
        "generators/faceworld/camera.py",  # a JPEG that it just made
        "runs/pictures.py",
    ]
