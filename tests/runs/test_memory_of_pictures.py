"""Pictures of few bytes that would take gigabytes: a process with little address space fits them, or refuses each in
one line.
"""

import struct
import subprocess
import sys
import zlib

import pytest

from transect.errors import BadInput
from transect.runs.pictures import LARGEST_FILE, content_of, open_rgb

WORK = """
import resource, sys
from pathlib import Path
from transect.datasets.files import pixels_of, size_of
from transect.errors import BadInput
from transect.jobs.match_readings import Photographs

resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
folder = Path(sys.argv[2])
shown = Photographs.open(folder)
for row, file in enumerate(sorted(folder.iterdir())):
    for work in (lambda: pixels_of(file, file.name, 16), lambda: shown.pixels(row), lambda: size_of(file, file.name)):
        try:
            made = work()
            print(made if isinstance(made, tuple) else made.shape)
        except BadInput as error:
            print(error)
"""


def gray(width, height):
    """A black PNG."""

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    packer = zlib.compressobj(1)
    rows = b"".join(packer.compress(bytes(width + 1)) for _ in range(height)) + packer.flush()
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.integration
@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of address space")
def test_thin_pictures_are_fitted_or_refused_within_two_gibibytes(tmp_path):
    shapes = {"a": (65_500, 2), "b": (1_000_000, 1), "c": (80_000_000, 1), "d": (3, 65_000)}
    for name, shape in shapes.items():
        (tmp_path / f"{name}.png").write_bytes(gray(*shape))
    command = [sys.executable, "-c", WORK, str(5 << 29), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    bound = "expected at most 65,535 pixels a side and 178,956,970 in all, got"
    assert lines[:3] == ["(16, 16, 3)", "(1, 512, 3)", "(65500, 2)"]
    assert [line.split("; ")[0] for line in lines[3:9]] == [
        f"{name}.png: {bound} {width} x 1" for name, width in (("b", 1_000_000), ("c", 80_000_000)) for _ in range(3)
    ]
    assert lines[9:] == ["(16, 16, 3)", "(512, 1, 3)", "(3, 65000)"]


def test_a_sparse_file_and_a_device_named_as_pictures_are_refused(tmp_path):
    with (tmp_path / "x.png").open("wb") as file:
        file.truncate(50 << 30)
    (tmp_path / "y.png").symlink_to("/dev/zero")
    for read in (content_of, lambda path: open_rgb(path, str(path))):
        with pytest.raises(
            BadInput, match=f"x.png: expected a picture of at most {LARGEST_FILE >> 30} GiB, got 53,687"
        ):
            read(tmp_path / "x.png")
        with pytest.raises(BadInput, match=r"y\.png: expected the file of an image, got a folder, device or pipe"):
            read(tmp_path / "y.png")
