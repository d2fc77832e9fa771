"""While a picture is drawn or looked at, PyTorch computes each operation on one core, in float32 at full precision."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

import torch


def one_thread() -> None:
    """Sets one thread per operation for its thread, whose first call of PyTorch, the reading, sets another number."""
    torch.get_num_threads()
    torch.set_num_threads(1)


@final
class _OneThread:
    """Operations run on one core in float32, since how they are split can change the last bit; the last puts back."""

    def __init__(self) -> None:
        self._lock, self._own = threading.Lock(), threading.local()
        self._inside = 0
        self._before = (1, torch.float32, "highest")

    @contextmanager
    def __call__(self) -> Iterator[None]:
        depth = getattr(self._own, "depth", 0)
        with self._lock:
            if not self._inside:
                self._before = (
                    torch.get_num_threads(),
                    torch.get_default_dtype(),
                    torch.get_float32_matmul_precision(),
                )
            self._inside, self._own.depth = self._inside + 1, depth + 1
            one_thread()
            _set(torch.float32, "highest")
        try:
            yield
        finally:
            with self._lock:
                self._inside, self._own.depth = self._inside - 1, depth
                threads, dtype, precision = self._before
                if not depth:
                    torch.set_num_threads(threads)
                if not self._inside:
                    _set(dtype, precision)


def _set(dtype: torch.dtype, precision: str) -> None:
    torch.set_default_dtype(dtype)
    torch.set_float32_matmul_precision(precision)


one_thread_per_operation = _OneThread()
