"""One thread for matrix products: an analysis multiplies thousands of small matrices, for which threads cost more than
they save; and sums in one order give the same last bits on every number of cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_algebra_thread() -> Iterator[None]:
    """Inside this context, NumPy's and SciPy's matrix products use one thread; other threads of Python are unaffected.

    >>> with one_algebra_thread():
    ...     pass
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield
