"""Values at hand: up to a number of bytes, the least recently used go first."""

from transect.runs.byte_cache import ByteCache


def test_memory_is_bounded():
    kept = ByteCache(most=10, size=len)
    made = []
    for key in (1, 2, 3, 1, 3):
        kept.get(key, lambda key=key: made.append(key) or b"xxxx")
    assert made == [1, 2, 3, 1], "the third took the first one's place"
    kept.get(4, lambda: b"x" * 11)
    assert kept.keys() == []
