"""Arrow files are read in a process of their own: a damaged one is a refusal and no crash."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from transect.errors import BadInput
from transect.runs.table_inputs import read_table

TABLE = pa.table({"id": ["a", "b", None], "age": [1.5, None, 3.0], "tags": [["x"], [], ["y", "z"]]})


def written(path, kind):
    make = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
    with pa.OSFile(str(path), "wb") as sink, make(sink, TABLE.schema) as writer:
        writer.write_table(TABLE)
    return path


@pytest.mark.parametrize("kind", ["stream", "file"])
def test_a_sound_file_is_read_as_it_is(tmp_path, kind):
    assert read_table(written(tmp_path / "x.arrow", kind)).equals(TABLE)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of address space")
def test_a_limit_of_memory_that_was_set_before_stays(tmp_path):
    """As batch systems set it; raising it is not allowed."""
    path = written(tmp_path / "x.arrow", "stream")
    work = (
        "import resource, sys; from pathlib import Path; from transect.runs.table_inputs import read_table; "
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30,) * 2); print(read_table(Path(sys.argv[1])).num_rows)"
    )
    done = subprocess.run([sys.executable, "-c", work, str(path)], capture_output=True, text=True)
    assert done.stdout == "3\n", done.stderr


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["stream", "file"])
def test_damaged_files_are_refused_or_read_and_end_nothing(tmp_path, kind):
    """Of 200 such files, 48 ended the interpreter that read them."""
    content, rng, reasons = written(tmp_path / "x.arrow", kind).read_bytes(), np.random.default_rng(0), []
    for number in range(12):
        damaged = bytearray(content)
        for place in rng.integers(8, len(content), size=6):
            damaged[place] = rng.integers(256)
        path = tmp_path / f"{number}.arrow"
        path.write_bytes(damaged)
        try:
            read_table(path).validate(full=True)
        except BadInput as error:
            reasons.append(str(error))
    assert len(reasons) >= 3
    assert all(reason.isprintable() and len(reason) < 500 for reason in reasons)  # and no part of the memory
