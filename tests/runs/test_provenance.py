"""The versions that a run's spec states."""

import zlib

from transect.runs.environment import versions


def test_versions_name_every_library_that_stored_bytes_depend_on():
    """The bytes of stored pictures are zlib's, so another zlib is another run."""
    stated = versions()
    assert set(stated) == {"transect", "python", "numpy", "torch", "pillow", "pyarrow", "zlib"}
    assert stated["zlib"] == zlib.ZLIB_RUNTIME_VERSION
