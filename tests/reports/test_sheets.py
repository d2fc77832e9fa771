"""Contact sheets: every pixel where it belongs, labels beneath."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.errors import BadInput
from transect.reports import contact_sheet


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 9), st.integers(1, 5), st.integers(1, 12), st.integers(1, 12))
def test_each_image_stands_in_its_cell_unchanged(count, columns, height, width):
    pixels = np.random.default_rng(count).integers(0, 256, (count, height, width, 3), dtype=np.uint8)
    sheet = np.asarray(contact_sheet(pixels, columns))
    columns = min(columns, count)
    for index in range(count):
        y, x = 4 + index // columns * (height + 4), 4 + index % columns * (width + 4)
        assert np.array_equal(sheet[y : y + height, x : x + width], pixels[index])
    # nothing is drawn elsewhere: the rest is white paper
    assert (sheet != 255).any(axis=-1).sum() == (pixels != 255).any(axis=-1).sum()


def test_labels_are_written_beneath_and_stay_within_their_image():
    pixels = np.full((2, 30, 40, 3), 255, np.uint8)
    plain = np.asarray(contact_sheet(pixels, 2))
    sheet = np.asarray(contact_sheet(pixels, 2, ["a long label that does not fit", ""]))
    assert sheet.shape[0] == plain.shape[0] + 14
    inked = np.argwhere((sheet < 200).any(axis=-1))
    assert len(inked) > 20
    assert inked[:, 0].min() > 4 + 30
    assert inked[:, 1].min() >= 4
    assert inked[:, 1].max() < 4 + 40 + 1


@pytest.mark.parametrize(
    ("pixels", "columns", "labels", "message"),
    [
        (np.zeros((2, 8, 8, 3)), 8, None, r"expected uint8 \[n, h, w, 3\], got float64"),
        (np.zeros((2, 8, 8, 3), np.uint8), 8, ["a"], "expected 2 labels, got 1"),
    ],
)
def test_contact_sheet_refuses_bad_input(pixels, columns, labels, message):
    with pytest.raises(BadInput, match=message):
        contact_sheet(pixels, columns, labels)
