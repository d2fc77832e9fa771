"""What an audit will ask: its targets, its studies, and how many images and calls they take; nothing is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from transect.errors import BadInput
from transect.experiment import audit_studies, costs, opened_targets, small_runs
from transect.experiment.audit_request import AuditRequest
from transect.experiment.edits import EditCheck, plain_world
from transect.experiment.presets import preset
from transect.experiment.study import Study
from transect.protocols import Target, TargetLike
from transect.records import Design
from transect.targets.words.asked import PairwiseQuestion

Plan: TypeAlias = "tuple[list[Target], tuple[PairwiseQuestion, ...], list[Study], Study | None]"


def size_of(request: AuditRequest) -> tuple[int, int]:
    """All images of an audit, and the calls about them. Raises as `planned`."""
    whole = audit_studies.expanded(request)
    with planned(whole) as (targets, _, designed, lines):
        return size(whole, targets, designed, lines)


@contextmanager
def planned(request: AuditRequest) -> Iterator[Plan]:
    """Targets, questions of two images, studies, and that of lines; what is opened for them closes at the end.

    Raises BadInput or UnknownName for what an audit refuses of the design, the truths and the outcomes.
    """
    targets = resolved(request)
    pairs = audit_studies.of_two(request, targets)
    try:
        designed, lines = audit_studies.designs(request, targets)
        for part in audit_studies.complete(designed, request, targets, EditCheck()):
            part.spec()  # which refuses outcomes that a target does not have
        yield targets, pairs, designed, lines
    finally:
        close(request.targets, targets, pairs)


def size(
    request: AuditRequest, targets: Sequence[Target], studies: Sequence[Study], lines: Study | None
) -> tuple[int, int]:
    """All images of an audit, with those of the negative control, and the calls about them, one for each wording."""
    images = sum(part.design.n_images for part in (*studies, *([] if lines is None else [lines])))
    tried = control(request, targets, studies)
    images += 0 if tried is None else tried.n_images
    return images, costs.calls_of(targets, images)


def control(request: AuditRequest, targets: Sequence[Target], studies: Sequence[Study]) -> Design | None:
    """The design of the negative control; None where there is none."""
    tried = audit_studies.controlled(studies, request)
    if tried is None:
        return None
    return small_runs.control_design(tried.design, plain_world(tried.world), targets)


def resolved(request: AuditRequest) -> list[Target]:
    """The targets. Raises BadInput for none, and for one that a preset is not for."""
    if not request.targets:
        raise BadInput("no target; see: transect list targets")
    targets = opened_targets.resolve_targets(request.targets, request.model.options(), request.names)
    if request.preset is not None:
        preset(request.preset).check(targets)
    return targets


def close(asked: Sequence[TargetLike], targets: Sequence[Target], pairs: Sequence[PairwiseQuestion]) -> None:
    """Close the targets that were opened here; those that a caller brought stay open."""
    for each in pairs:
        each.close()
    costs.close([target for target, source in zip(targets, asked, strict=True) if target is not source])
