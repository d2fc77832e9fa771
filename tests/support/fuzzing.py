"""Inputs made of good ones by damage, and the promise that each of them is read or refused in one line."""

import random
from collections import Counter
from dataclasses import dataclass

from nightly import INPUTS, SEED

from transect.errors import TransectError
from transect.texts import UNSEEN

LONGEST = 2000
TOKENS = (
    *(b"", b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\\ud800", b"\x1b[2J", "\u202e".encode(), b"\r", b"\n", b'"', b"'"),
    *(b"[" * 40, b"{" * 40, b"]", b"}", b"null", b"NaN", b"Infinity", b"-0", b"1e999", b"1" * 400, b"true", b"../" * 4),
    *(
        b"=",
        b",",
        b":",
        b";",
        b"?",
        b"&",
        b"%00",
        b"/dev/zero",
        b"[/b]",
        b"<script>",
        b"=cmd()",
        b"\x80\x04.",
        b"PK\x03\x04",
    ),
)


def damaged(seeds, draw):
    """A good input with one to four faults: bytes changed, taken out, put in, repeated, cut off, or of two inputs."""
    content = bytearray(draw.choice(seeds))
    for _ in range(draw.randint(1, 4)):
        first = draw.randrange(len(content) + 1)
        last = min(len(content), first + draw.choice((1, 2, 4, 16, 64)))
        fault = draw.randrange(7)
        if fault == 0 and content:
            content[min(first, len(content) - 1)] ^= 1 << draw.randrange(8)
        elif fault == 1:
            del content[first:last]
        elif fault == 2:
            content[first:first] = draw.choice(TOKENS)
        elif fault == 3:
            content[first:first] = content[first:last] * draw.randint(1, 4)
        elif fault == 4:
            del content[first:]
        elif fault == 5:
            content[first:last] = draw.randbytes(last - first)
        else:
            other = draw.choice(seeds)
            content[first:] = other[draw.randrange(len(other) + 1) :]
    return bytes(content)


@dataclass
class Tally:
    """How many inputs were read, and how many refused."""

    read: int = 0
    refused: int = 0

    @property
    def inputs(self):
        return self.read + self.refused


def attack(name, seeds, read, inputs):
    """Give `read` that many damaged inputs; each must be read, or refused by a TransectError of one clean line."""
    draw, tally = random.Random(f"{SEED} {name}"), Tally()
    for number in range(inputs):
        content = damaged(seeds, draw)
        try:
            read(content)
            tally.read += 1
        except TransectError as error:
            text = str(error)
            assert text, (name, number, content)
            assert len(text) <= LONGEST, (name, number, content)
            assert "\n" not in text, (name, number, content, text)
            assert not UNSEEN.search(text), (name, number, content, text)
            tally.refused += 1
        except BaseException as error:
            raise AssertionError(f"{name}, input {number}: {content!r} raises {error!r}") from error
    return tally


def shares(weights, inputs=None):
    """Inputs of each surface, in proportion to its weight, at least one; together at least what was asked for."""
    wanted, whole = INPUTS if inputs is None else inputs, sum(weights.values())
    return Counter({name: -(-wanted * weight // whole) for name, weight in weights.items()})
