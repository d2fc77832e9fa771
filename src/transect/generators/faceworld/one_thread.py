"""While a picture is drawn, PyTorch computes each operation on one core, in float32 at full precision."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

import torch


def one_thread() -> None:
    """Sets one thread per operation, for a worker."""
    torch.set_num_threads(1)


@final
class _OneThread:
    """A context in which operations run on one core in float32: how they are split can change the last bit.

    PyTorch's settings are the process's: the last of overlapping renders puts them back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = (1, torch.float32, "highest")

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if not self._inside:
                self._before = (
                    torch.get_num_threads(),
                    torch.get_default_dtype(),
                    torch.get_float32_matmul_precision(),
                )
            self._inside += 1
            self._set(1, torch.float32, "highest")
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    self._set(*self._before)

    @staticmethod
    def _set(threads: int, dtype: torch.dtype, precision: str) -> None:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)
        torch.set_float32_matmul_precision(precision)


one_thread_per_operation = _OneThread()
