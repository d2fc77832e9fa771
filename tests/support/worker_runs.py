"""The studies of an audit as the command makes them, and what their folders hold."""

from pathlib import Path

import auditing

from transect.engines.protocol import Ready
from transect.experiment import audit_studies as planned
from transect.experiment import opened_targets

FACE = "opencv:haarcascade_frontalface_default"
SMALL = {"subjects": 10, "image_size": 32, "vary": ["glasses=0,1", "smile=0,1"], "seed": 5, "isolate": False}


def studies_of(targets, **settings):
    """The studies that an audit with these settings runs, with targets opened here."""
    request = auditing.request(targets=targets, **{**SMALL, **settings})
    opened_here = opened_targets.resolve_targets(request.targets, request.model.options(), request.names)
    checks = request.checks
    check = checks.open()
    designed, lines = planned.designs(request, opened_here)
    return [*planned.complete(designed, request, opened_here, check), *([] if lines is None else [lines])]


def content(folder):
    """Every file of a run but the log, which holds times."""
    files = [path for path in sorted(Path(folder).rglob("*")) if path.is_file() and path.name != "log.jsonl"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


class Lent:
    """The workers of a test file, in place of those that a command would start and end."""

    apart = True

    def __init__(self, engine):
        self.engine, self.workers, self.cores, self.room = engine, engine.workers, engine.cores, engine.room

    def map(self, work, tasks):
        assert not isinstance(work, Ready)
        return self.engine.map(work, tasks)

    def close(self):
        pass
