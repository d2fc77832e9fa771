"""What the last bits of a run depend on: the versions of libraries, and threads of matrix products."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from transect import __version__


def versions() -> dict[str, str]:
    """The versions that pixels, stored bytes and answers depend on; a run resumes only with the same."""
    import platform
    import zlib

    import numpy as np
    import PIL
    import torch

    return {
        "transect": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": torch.__version__,
        "pillow": PIL.__version__,
        "pyarrow": pa.__version__,
        "zlib": zlib.ZLIB_RUNTIME_VERSION,  # the bytes of stored pictures
    }


@contextmanager
def one_algebra_thread() -> Iterator[None]:
    """Inside this context, NumPy's and SciPy's matrix products use one thread; Python's own are unaffected."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield
