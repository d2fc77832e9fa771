"""Whether a worker opened the same as the process of the command: facts of both, as canonical JSON."""

from __future__ import annotations

import json

from transect.errors import TargetChanged


def check_same(expected: str, found: str) -> None:
    """Raises TargetChanged, naming what differs, where the facts that a worker found are not those of the command.

    >>> check_same('{"net": 1}', '{"net": 2}')
    Traceback (most recent call last):
    transect.errors.TargetChanged: a worker opened something else than the run (net): expected the same files and ...
    """
    before, now = json.loads(expected), json.loads(found)
    changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    if changed:
        raise TargetChanged(
            f"a worker opened something else than the run ({', '.join(changed)}): expected the same files and "
            "libraries on every machine"
        )


def on_gpu(*devices: object) -> int:
    """GPUs that a worker needs which computes on these devices: one, or none.

    >>> on_gpu("cpu", None), on_gpu("cpu", "cuda")
    (0, 1)
    """
    return int(any(str(device).startswith("cuda") for device in devices))
