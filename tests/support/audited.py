"""Small targets for the tests: functions of uint8 pixels [n, h, w, 3], named on the command line as audited:<name>."""

import time


def brightness(pixels):
    """Score: mean value of the picture, 0 to 1."""
    return pixels.mean(axis=(1, 2, 3)) / 255


def raises_always(pixels):
    raise RuntimeError("no answer today")


def raises_on_bright(pixels):
    """Fails on pictures whose mean is above a half, also when they come in a batch."""
    if (brightness(pixels) > 0.5).any():
        raise ValueError("too bright")
    return brightness(pixels)


def slow(pixels):
    time.sleep(0.005 * len(pixels))
    return brightness(pixels)


def hangs(pixels):
    time.sleep(3600)


def hangs_in_a_pool(pixels):
    """Waits in a thread that the interpreter would join at its end."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1).submit(hangs, pixels).result()


class _Unspeakable(Exception):
    def __str__(self):
        raise ValueError("no text")


def raises_unspeakable(pixels):
    """Raises what has no text."""
    raise _Unspeakable


def raises_escapes(pixels):
    """Raises a text that moves a terminal's cursor, and half a surrogate pair."""
    raise RuntimeError("\x1b]0;owned\x07\x1b[2J half \ud800 a pair \x9b31m")
