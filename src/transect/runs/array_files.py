"""NumPy's files, .npy and .npz: arrays without objects, within the bounds, or one refusal."""

from __future__ import annotations

import io
import tokenize
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from transect.errors import BadInput
from transect.runs import bounds
from transect.runs.folder import write_atomically
from transect.texts import words_of

_Arrays = TypeVar("_Arrays", np.ndarray, dict[str, np.ndarray])


def mapped(path: Path, name: str = "") -> np.ndarray:
    """The array of a .npy file, read where it is used; BadInput for a damaged one, OSError where none is."""
    bounds.check_holes(path)
    return _loaded(name or str(path), lambda: np.load(path, mmap_mode="r", allow_pickle=False))


def pixels_of(path: Path, shape: tuple[int, ...]) -> np.ndarray | None:
    """The pictures uint8 of a .npy file, as `mapped`; None where it is missing, damaged or of another shape."""
    try:
        pixels = mapped(path)
    except (OSError, BadInput):
        return None
    return pixels if pixels.shape == shape and pixels.dtype == np.uint8 else None


def write(path: Path, array: np.ndarray) -> None:
    """Write a .npy file, by `write_atomically`."""
    content = io.BytesIO()
    np.save(content, array, allow_pickle=False)
    write_atomically(path, content.getvalue())


def arrays_in(path: Path, name: str = "") -> dict[str, np.ndarray]:
    """The arrays of a .npz file by name, or that of a .npy file by the file's. Raises as `mapped`."""
    if path.suffix == ".npy":
        return {path.name: np.array(mapped(path, name))}
    bounds.check_holes(path)
    bounds.check_archive(path)
    return _loaded(name or str(path), lambda: _members(path))


def _members(path: Path) -> dict[str, np.ndarray]:
    if not zipfile.is_zipfile(path):
        raise ValueError("a different kind")
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    if other := next((name for name, array in arrays.items() if not isinstance(array, np.ndarray)), None):
        raise ValueError(f"another kind of entry in {other}")  # whose bytes NumPy gives as they are
    return arrays


def _loaded(name: str, load: Callable[[], _Arrays]) -> _Arrays:
    try:
        return load()
    except OSError:
        raise
    except Exception as error:  # a damaged or hostile header makes NumPy fail in any way
        damaged = isinstance(error, OverflowError | SyntaxError | TypeError | tokenize.TokenError)
        reason = "a damaged header" if damaged else words_of(error, 80)
        raise BadInput(
            f"{name}: expected arrays of numbers as NumPy writes them, got {reason}; save it again"
        ) from None
