"""Work for engines that needs no world: it counts, ends its own process, or fails, as a task says."""

from __future__ import annotations

import io
import os
import secrets
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from transect.errors import UnknownName


@dataclass(frozen=True)
class Habit:
    """offset: added to each task. folder: what was opened and made is noted in it, and who was killed once."""

    folder: str
    offset: int = 0
    gpus: int = 0

    def open(self):
        note(self.folder, f"opened-{os.getpid()}")
        return Opened(self)


class Pickled(Habit):
    """Notes each time that it is sent."""

    def __reduce__(self):
        note(self.folder, f"pickled-{secrets.token_hex(8)}")
        return Pickled, (self.folder, self.offset, self.gpus)


@dataclass(frozen=True)
class Opened:
    habit: Habit

    def make(self, task):
        note(self.habit.folder, f"made-{task}")
        if task == "unknown":
            raise UnknownName("thing", "x", ["y"])
        if task == "key":
            raise KeyError("lost")
        if task == "environment":
            return dict(os.environ)
        if task == "picture":
            open_large_picture()
        if task == "hang":
            time.sleep(3600)
        if task == "exit":
            raise SystemExit(3)
        if task == "kill always" or (task == "kill once" and note(self.habit.folder, "killed")):
            os.kill(os.getpid(), signal.SIGKILL)
        return (task, self.habit.offset + len(str(task)))

    def close(self):
        note(self.habit.folder, f"closed-{os.getpid()}")


def open_large_picture(_pixels=None):
    """Read the header of a PNG of 10,000 x 10,000 pixels, of which Pillow warns that it may be a decompression bomb."""
    header = b"\0\0\0\x0dIHDR\0\0\x27\x10\0\0\x27\x10\x08\0\0\0\0\x9f\x25\x3d\xfb"
    with Image.open(io.BytesIO(b"\x89PNG\r\n\x1a\n" + header + b"\0\0\0\0IDAT")) as picture:
        return [picture.width / 1e4 for _ in (_pixels if _pixels is not None else ())]


def note(folder, name):
    """Leave an empty file; whether it is new."""
    try:
        (Path(folder) / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def noted(folder, kind):
    """Names of the files of one kind."""
    return sorted(path.name for path in Path(folder).glob(f"{kind}*"))
