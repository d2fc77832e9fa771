"""A folder of photographs with labels: the right rows, and one clear line for everything that is wrong with it."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from transect.datasets import open_dataset
from transect.datasets.files import pixels_of
from transect.errors import BadInput, UnknownName

NAMES = ("a.png", "b.png", "c.png")


def pictures(folder, names=NAMES, size=(8, 8)):
    """Flat pictures: the k-th one is grey 40 k + 10."""
    for k, name in enumerate(names):
        Image.fromarray(np.full((size[1], size[0], 3), (40 * k + 10) % 256, np.uint8)).save(folder / name)
    return folder


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "faces"
    path.mkdir()
    return pictures(path)


def opened(folder, labels, **options):
    (folder / "labels.csv").write_text(labels, encoding="utf-8")
    return open_dataset(f"folder:{folder}", **options)


def refusal(folder, labels, **options):
    with pytest.raises(BadInput) as error:
        opened(folder, labels, **options)
    text = str(error.value)
    assert "\n" not in text
    return text.replace(str(folder), "faces")


def test_rows_come_in_the_order_of_the_table_with_their_labels_and_pictures(folder):
    made = opened(
        folder,
        "file,subject,age,smile,hair,wearer\n"
        "c.png,ada,40,1,bun,true\n"
        "a.png,ben,20.5,0,short,False\n"
        "b.png,ada,,na,,true\n",
    )
    assert [(one.name, one.kind, one.levels) for one in made.attributes] == [
        ("age", "continuous", ()),
        ("smile", "binary", ("no", "yes")),
        ("hair", "binary", ("bun", "short")),
        ("wearer", "binary", ("no", "yes")),
    ]
    assert made.attributes[0].bounds == (20.5, 40.0)
    rows = made.read(made.sample(np.array([2, 0]))).to_pydict()
    np.testing.assert_equal(
        rows,
        # hair: levels in sorted order, bun is 0; subjects are numbered as they come, ada is 0
        {"age": [np.nan, 40.0], "smile": [np.nan, 1.0], "hair": [np.nan, 0.0], "wearer": [1.0, 1.0], "subject": [0.0, 0.0]},
    )  # fmt: skip
    # row 2 is b.png (40 + 10), row 0 is c.png (2 * 40 + 10)
    assert made.render(made.sample(np.array([2, 0]))).pixels[:, 0, 0, 0].tolist() == [50, 90]
    assert (len(made), made.image_size, made.fitted, made.name) == (3, 8, False, "folder:faces")
    assert made.validity()["statement"] == "3 photographs of 2 subjects, as they are; nothing was set."


def test_parquet_says_the_same_as_csv(folder):
    text = "file,age,smile,hair\na.png,20,1,bun\nb.png,30,0,cap\nc.png,40,1,bun\n"
    first = opened(folder, text)
    (folder / "labels.csv").unlink()
    columns = {"file": list(NAMES), "age": [20, 30, 40], "smile": [True, False, True], "hair": ["bun", "cap", "bun"]}
    pq.write_table(pa.table(columns), folder / "labels.parquet")
    second = open_dataset(f"folder:{folder}")
    assert second.attributes == first.attributes
    np.testing.assert_equal(second.values, first.values)
    assert second.sha256 != first.sha256  # another table is another run
    assert {k: v for k, v in second.describe().items() if k != "labels_sha256"} == {
        k: v for k, v in first.describe().items() if k != "labels_sha256"
    }


def test_what_is_no_attribute_is_left_out_with_the_reason(folder):
    made = opened(folder, "file,age,camera,empty,,odd\na.png,1,x,,5,inf\nb.png,2,x,,6,3\nc.png,3,x,,7,3\n")
    assert [one.name for one in made.attributes] == ["age"]
    assert made.describe()["skipped_columns"] == {
        "camera": "one value only",
        "empty": "no value",
        "": "a column without a name",
        "odd": "one value only",  # infinity is no measurement
    }


def test_pictures_of_several_sizes_are_fitted_into_grey_squares(folder):
    pictures(folder, ["c.png"], size=(16, 8))  # grey 10, twice as wide as high
    made = opened(folder, "file,age\na.png,1\nb.png,2\nc.png,3\n", image_size=16)
    pixels = made.render(made.sample(np.array([0, 2]))).pixels
    assert (made.fitted, pixels.shape) == (True, (2, 16, 16, 3))
    # scaled to 16 x 8 it lies in rows 4 to 11, grey 128 above and below
    assert pixels[1, :, 8, 0].tolist() == [128] * 4 + [10] * 8 + [128] * 4
    assert (pixels[0] == 10).all()
    assert opened(folder, "file,age\na.png,1\nb.png,2\nc.png,3\n").image_size == 128
    assert "fitted into 16 x 16 pixels with grey margins" in made.validity()["statement"]


def test_a_photograph_on_its_side_is_turned(folder):
    wide = Image.fromarray(np.stack([np.full((4, 3), 10), np.full((4, 3), 200)], axis=1).reshape(8, 3, 1).repeat(3, 2).astype(np.uint8))  # fmt: skip
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise by a quarter: 3 x 8 becomes 8 x 3
    for name in ("a.png", "b.png"):
        wide.save(folder / name, exif=exif)
    made = opened(folder, "file,age\na.png,1\nb.png,2\n")
    assert (made.image_size, made.fitted) == (8, False)
    assert made.render(made.sample(np.array([0]))).pixels.shape == (1, 3, 8, 3)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("name,age\na.png,1\n", "faces/labels.csv: expected a column named file, image, path or filename, got name, age; rename the column of the images"),
        ("file,age\n", "faces/labels.csv: no rows; list the images"),
        ("file\na.png\n", "faces/labels.csv: expected at least one attribute in addition to file, got none"),
        ("file,age\na.png,1\nb.png\n", "faces/labels.csv, line 3: expected 2 columns, got 1; fix the line"),
        ("file,age,age\na.png,1,2\n", "faces/labels.csv: expected unique column names, got file, age, age; rename one"),
        ("file,age\na.png,1\nd.png,2\n", "faces/labels.csv: row 2 names 'd.png', which does not exist; add the image or drop the row"),
        ("file,age\na.png,1\na.png,2\n", "faces/labels.csv: rows 1 and 2 name the same image, 'a.png'; keep one of them"),
        ("file,age\n../a.png,1\n", "faces/labels.csv: row 1 names '../a.png', which lies outside faces; keep the images in the folder"),
        ("file,age\na\0.png,1\n", "faces/labels.csv: row 1 names 'a\\x00.png', which does not exist; add the image or drop the row"),
    ],
)  # fmt: skip
def test_a_table_that_does_not_fit_is_one_line(folder, labels, message):
    assert refusal(folder, labels) == message


def test_links_out_of_the_folder_and_links_in_a_circle_are_not_followed(folder):
    outside = pictures(folder.parent, ["secret.png"])
    (folder / "link.png").symlink_to(outside / "secret.png")
    (folder / "circle.png").symlink_to(folder / "circle.png")
    assert "names 'link.png', which lies outside faces" in refusal(folder, "file,age\nlink.png,1\n")
    assert "names 'circle.png', which does not exist" in refusal(folder, "file,age\ncircle.png,1\n")
    (folder / "other.png").symlink_to(folder / "a.png")
    assert "rows 1 and 2 name the same image" in refusal(folder, "file,age\na.png,1\nother.png,2\n")


def test_folders_and_tables_that_are_not_there(folder):
    with pytest.raises(BadInput, match="expected READER:PATH, for example folder:faces"):
        open_dataset("faces")
    with pytest.raises(UnknownName, match="unknown reader 'foldr': did you mean folder"):
        open_dataset("foldr:faces")
    (folder / "one.csv").write_text("file,age\n")
    (folder / "two.parquet").write_bytes(b"")
    with pytest.raises(BadInput, match=r"got one\.csv, two\.parquet; keep one"):
        open_dataset(f"folder:{folder}")


def test_a_csv_in_another_encoding_is_one_line_and_a_byte_order_mark_is_no_part_of_a_name(folder):
    (folder / "labels.csv").write_bytes("file,hair\na.png,crépu\n".encode("latin-1"))
    with pytest.raises(BadInput, match="expected a CSV in UTF-8, got a different encoding"):
        open_dataset(f"folder:{folder}")
    (folder / "labels.csv").write_bytes(b"\xef\xbb\xbffile,age\na.png,1\nb.png,2\n")
    assert len(open_dataset(f"folder:{folder}")) == 2


def jpeg() -> bytes:
    sink = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    Image.fromarray(noise).save(sink, "JPEG")
    return sink.getvalue()


JPEG = jpeg()


def test_a_truncated_photograph_is_named(folder):
    (folder / "b.jpg").write_bytes(JPEG[:-20])
    made = opened(folder, "file,age\na.png,1\nb.jpg,2\n")  # its header is whole
    with pytest.raises(BadInput, match=r"b\.jpg: expected an image, got .*; fix it or drop it"):
        made.render(made.sample(np.array([1])))
    (folder / "b.jpg").write_bytes(b"no image at all")
    assert "b.jpg: expected an image, got a different kind of file" in refusal(folder, "file,age\na.png,1\nb.jpg,2\n")


def test_postscript_is_not_run(folder):
    """Pillow would hand an EPS to Ghostscript."""
    (folder / "b.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\nshowpage\n")
    assert "b.png: expected an image, got a different kind of file" in refusal(folder, "file,age\na.png,1\nb.png,2\n")


@settings(max_examples=25)
@given(place=st.integers(0, len(JPEG) - 1), byte=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_photograph_is_read_or_refused_but_never_a_crash(tmp_path_factory, place, byte, cut):
    folder = pictures(tmp_path_factory.mktemp("damaged"), ["a.png"], (16, 16))
    (folder / "b.jpg").write_bytes(JPEG[:place] if cut else JPEG[:place] + bytes([byte]) + JPEG[place + 1 :])
    said = ""
    try:
        made = opened(folder, "file,age\na.png,1\nb.jpg,2\n", image_size=16)
        assert made.render(made.sample(np.array([0, 1]))).pixels.shape == (2, 16, 16, 3)
    except BadInput as error:
        said = str(error)
    assert not said or "b.jpg: expected an image, got" in said


@pytest.mark.parametrize("shape", [(528, 16), (16, 528), (1, 4000), (33, 1), (32, 1)])
def test_a_photograph_that_is_thinner_than_a_pixel_keeps_one(shape):
    """White, in the middle row or column between grey margins; Pillow would round its side to none."""
    file = io.BytesIO()
    Image.fromarray(np.full((*shape, 3), 255, np.uint8)).save(file, "PNG")
    pixels = pixels_of(file.getvalue(), "thin", 16)
    assert pixels.shape == (16, 16, 3)
    white = (pixels == 255).all(axis=2)
    assert white.sum() == 16
    assert white.any(axis=0 if shape[0] < shape[1] else 1).all()
