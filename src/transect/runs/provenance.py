"""The versions that pixels, stored bytes and answers depend on."""

from __future__ import annotations

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
