"""Text that others wrote, made fit to be stored, printed and put on a page.

A server's answer, an exception, a file's name or a column's name may hold half a surrogate pair, which no file can
encode, or sequences that move a terminal's cursor, set its title or hide what stands there.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import warnings
from contextlib import suppress
from typing import Final

_ESCAPES: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colors, cursor
    # OSC, DCS: titles, links, clipboard; none holds another's beginning, so that a search takes linear time
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
_BREAKS: Final = re.compile(r"[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")
_BREAKS_IN_LINES: Final = re.compile(r"[\t\v\f\r\x1c-\x1e\x85\u2028\u2029]")
UNSEEN: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control and bidirectional characters, except for the line break."""
_SURROGATES: Final = re.compile(r"[\ud800-\udfff]")
_SYSTEM: Final = {
    errno.ENOENT: "there is no such file or folder",
    errno.EACCES: "you have no permission",
    errno.EPERM: "you have no permission",
    errno.EISDIR: "it is a folder",
    errno.ENOTDIR: "a part of its path is a file and no folder",
    errno.EEXIST: "there is a file of that name",
    errno.ENAMETOOLONG: "its name is too long",
    errno.EROFS: "the disk can only be read",
    errno.EMFILE: "too many files are open",
    errno.ELOOP: "its links lead in a circle",
    errno.EIO: "the disk has a fault",
}
"""Reasons of the operating system in plain words."""
_called: dict[str, str] = {}
_DIGITS: Final = 18  # of 64 bits
_LONGEST_MESSAGE: Final = 2000
_LONGEST_TEXT: Final = 20_000


def call(folder: str, name: str) -> None:
    """From here on say `name` where a text that is shown names a folder: one that stands for another place."""
    _called[folder] = name


def encodable(text: str) -> str:
    r"""The text with half surrogate pairs, which UTF-8 has no bytes for, replaced by U+FFFD.

    >>> encodable("a\ud800b")
    'a�b'
    """
    return _SURROGATES.sub("�", text)


def whole_number(text: str) -> int | None:
    """The number that up to 18 digits say, None for another text: `int` refuses thousands of digits with an error.

    >>> whole_number("042"), whole_number("-1"), whole_number("9" * 5000)
    (42, None, None)
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS else None


def shown(text: str) -> str:
    r"""The lines of a text without what a terminal obeys: escape sequences, control and bidirectional characters.

    Line breaks stay; tabs and other breaks become spaces. What can not be encoded becomes U+FFFD.

    >>> shown("\x1b[31mred\x1b[0m\tor\x07 \u202enot\nhere")
    'red or not\nhere'
    """
    for folder, name in _called.items():
        text = text.replace(folder, name)
    if text.isascii() and text.isprintable():
        return text
    text = _BREAKS_IN_LINES.sub(" ", _ESCAPES.sub("", text.replace("\r\n", "\n")))
    return encodable(UNSEEN.sub("", text))


def _cut(text: str) -> str:
    """Both ends of a text that is far too long to be shown, so that cleaning it takes no time."""
    return text if len(text) <= 2 * _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…{text[-_LONGEST_TEXT:]}"


def one_line(text: str, longest: int = _LONGEST_MESSAGE) -> str:
    r"""The text as `shown`, in one line of at most `longest` characters: of a longer one the middle is left out.

    The end stays, since messages end with the advice.

    >>> one_line("wrong\n\x1b[2J value; fix it"), one_line("abcdefghij", 7)
    ('wrong value; fix it', 'abcd…ij')
    """
    text = " ".join(shown(_BREAKS.sub(" ", _cut(text))).split())
    if len(text) <= longest:
        return text
    end = (longest - 1) // 3
    return f"{text[: longest - 1 - end]}…{text[len(text) - end :]}"


def words_of(error: BaseException, longest: int = 200) -> str:
    r"""The first line of an exception's text, as `shown`, at most `longest` characters; its class where it has none.

    Of an error of the operating system its reason alone, in plain words, without number and path. An exception whose
    text raises has none.

    >>> words_of(FileNotFoundError(2, "No such file or directory", "a.csv"))
    'there is no such file or folder'
    >>> words_of(ValueError("\x1b[31mbad value\nin more words")), words_of(KeyError())
    ('bad value', 'KeyError')
    """
    try:
        text = str((_reason(error) if isinstance(error, OSError) else None) or error)
    except Exception:  # the class is another's code
        text = ""
    lines = shown(_cut(text).replace("\r", "\n")).strip().splitlines()
    line = " ".join(lines[0].split()) if lines else ""
    return (line if len(line) <= longest else f"{line[: longest - 1]}…") or type(error).__name__


def _reason(error: OSError) -> str | None:
    """The system's reason in plain words; another's own as it is."""
    own = error.errno is None or error.strerror != os.strerror(error.errno)
    return error.strerror if own else _SYSTEM.get(error.errno or 0, error.strerror)


def say(text: str, *, error: bool = False, end: str = "\n") -> None:
    """Print the lines of a text as `shown` has them; error: on standard error, where one is open and takes them.

    What is said there is about the work, which must not end because a log's disk is full or its reader has gone.
    """
    if not error:
        print(shown(text), end=end, flush=True)
    elif sys.stderr is not None:
        with suppress(OSError, ValueError):
            print(shown(text), end=end, file=sys.stderr, flush=True)


def hush_libraries() -> None:
    """Keep warnings of libraries to those who write code and ask Python for them; those of a model are its author's."""
    if not sys.warnoptions:
        warnings.filterwarnings("ignore", module=r"(PIL|numpy|pandas|scipy|sklearn|torch|transect)\b")
