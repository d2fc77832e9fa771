"""Values kept at hand up to a number of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar, final

Value = TypeVar("Value")


@final
class ByteCache(Generic[Value]):
    """Values by key, up to a total of `most` bytes; the least recently used go first; safe between threads."""

    def __init__(self, most: int, size: Callable[[Value], int]) -> None:
        self._most, self._size, self._held = most, size, 0
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = threading.Lock()

    def keys(self) -> list[Hashable]:
        """What is at hand."""
        return list(self._values)

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key, made where it is not at hand. What is larger than all that may be held is not kept."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        with self._lock:
            if key not in self._values:
                self._values[key] = value
                self._held += self._size(value)
            while self._held > self._most:
                self._held -= self._size(self._values.popitem(last=False)[1])
        return value
