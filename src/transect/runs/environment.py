"""What the last bits of a run depend on: the versions of libraries, and threads of matrix products."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from transect import __version__
from transect.errors import BadInput
from transect.texts import words_of


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


def check_torchvision() -> None:
    """Raises BadInput for a torchvision that does not fit this PyTorch: libraries then call models damaged."""
    import torch

    try:
        importlib.import_module("torchvision")
    except ModuleNotFoundError:
        return
    except Exception as error:
        raise BadInput(
            f"torchvision does not fit PyTorch {torch.__version__}: {words_of(error, 120)}; install one that "
            "fits, or run: pip uninstall torchvision"
        ) from None


@contextmanager
def one_algebra_thread() -> Iterator[None]:
    """Inside this context, NumPy's and SciPy's matrix products use one thread; Python's own are unaffected."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield
