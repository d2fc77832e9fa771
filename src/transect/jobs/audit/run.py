"""`transect.audit`: set attributes, ask the targets, estimate what each attribute causes, write the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from transect.analysis import reporting
from transect.analysis.audit_result import AuditResult
from transect.analysis.margins import parse_margins
from transect.effects.outcomes import OUTCOMES
from transect.effects.preferences import PREFERRED
from transect.engines import settings as engines
from transect.errors import BadInput, FolderOfAnotherSpec
from transect.experiment import audit_plan, costs, study, two_images
from transect.experiment import audit_studies as planned
from transect.experiment.audit_request import AuditRequest, Levels, with_settings
from transect.experiment.audit_studies import expanded, model_name, of_two
from transect.experiment.outcome_choice import offered_by
from transect.experiment.presets import preset, with_preset
from transect.experiment.study import Study
from transect.options import named_in_python
from transect.protocols import Generator, Target, TargetLike
from transect.ratings import gates
from transect.ratings.perceived_attributes import names_in
from transect.ratings.rating_tables import check as check_ratings
from transect.runs import report_options, working_folders
from transect.runs.folder import clear_run, mark_finished, mark_unfinished, read_record, slug
from transect.runs.json_records import loads
from transect.runs.layout import INTERPOLATION, OF_PEOPLE, SETTINGS, STUDIES, places_of
from transect.runs.locks import refuse_links_in
from transect.runs.parts import announcing_stages
from transect.runs.spec_changes import in_plain_words
from transect.runs.table_inputs import as_names
from transect.runs.wording import counted
from transect.runs.working_folders import mount_of
from transect.targets.words.asked import PairwiseQuestion
from transect.texts import say


def resume_or_clear(folder: Path, studies: Mapping[Path, Study], *, overwrite: bool) -> None:
    """Do nothing where the folder has room, or holds the same studies, which then resume."""
    reason = _in_the_way(folder, studies)
    if not reason:
        return
    if not overwrite and not _unanswered(folder):
        raise FolderOfAnotherSpec(f"{reason}; --overwrite deletes that run")
    clear_run(folder)


def _unanswered(folder: Path) -> bool:
    """Whether the run there ended before any answer was stored, so that beginning again loses nothing but images."""
    if mount_of(folder) is not None or any((folder / name).exists() for name in OF_PEOPLE):
        return False
    places = places_of(folder)
    if any((place / "annotations").exists() or not read_record(place).get("targets") for place in places):
        return False  # images for raters, or a data set: they are what was wanted
    return all(part.parent.name == "images" for part in folder.rglob("part-*.parquet"))


def _in_the_way(folder: Path, studies: Mapping[Path, Study]) -> str:
    """Why the folder cannot be used as it is; "" where it can."""
    from transect.runs.folder import canonical_json

    held = places_of(folder)
    for place, wanted in studies.items():
        as_stored = loads(canonical_json(wanted.spec().to_json()))
        if place in held and (told := in_plain_words(read_record(place), as_stored)):
            return f"{place} holds a run with different settings: {told}"
    others = [place for place in held if place not in studies]
    if not others:
        return ""
    name = "a run of one study" if others == [folder] else f"the study {others[0].name}"
    return f"{folder} holds {name}, which this audit does not have: choose another --out"


@named_in_python(AuditRequest)
def audit(
    target: TargetLike | Sequence[TargetLike] | None = None,
    request: AuditRequest | None = None,
    *,
    vary: Levels | None = None,
    steps: str | Sequence[str] | None = None,
    subjects: int | None = None,
    truth: str | Sequence[str] | None = None,
    outcomes: str | Sequence[str] | None = None,
    generator: str | Path | Generator | None = None,
    image_size: int | None = None,
    seed: int | None = None,
    out: str | Path | None = None,
    quiet: bool = False,
) -> AuditResult:
    """Set attributes, ask the targets, estimate what each attribute causes, and write the report.

    target: a spec string (see `transect list targets`), a function of uint8 pixels [n, h, w, 3], an object with
    `predict`, or a list of them; default those of the request. request: every setting; the keywords replace single ones
    of it. vary: "glasses", "age=20,60", or levels by attribute ({"skin_tone": (1, 10), "glasses": None}). out: the run
    folder, or its address on object storage, as "s3://bucket/path"; default runs/<target>. quiet: no progress on
    standard error.

    Returns the effects as records (`effects`), as an Arrow table (`table`), and the page (`page`, `report`).

    Raises BadInput, UnknownName or MissingExtra before anything is made. TooManyFailures and Interrupted keep what is
    done: the same call resumes. An effect that cannot be estimated is NaN with its reason.

    Source: Balakrishnan et al. 2020, Towards causal benchmarking of bias in face analysis algorithms, arXiv:2007.06570.
    """
    keywords: dict[str, object] = {"vary": vary, "steps": steps, "subjects": subjects, "truth": truth}
    keywords |= {"outcomes": outcomes, "generator": generator, "image_size": image_size, "seed": seed}
    keywords |= {"out": out}
    settings = {name: value for name, value in keywords.items() if value is not None}
    whole = with_settings(request or AuditRequest(), settings)
    whole = expanded(whole if target is None else replace(whole, targets=_listed(target)))
    if whole.run.dry_run:
        raise BadInput("dry_run: expected False in a request to audit; call transect.audit_cost(target, request)")
    if whole.run.out is not None:  # an address that cannot be used is refused before anything is made
        whole = with_settings(whole, {"out": working_folders.opened(whole.run.out)})
    targets = audit_plan.resolved(whole)
    pairs = of_two(whole, targets)
    result = _audit(whole, targets, quiet, pairs)
    audit_plan.close(whole.targets, targets, pairs)
    return result


def audit_preset(name: str, **settings: object) -> AuditRequest:
    """The request of a preset: sensible settings for a kind of model, over which yours stand.

    name: face-detector, face-attribute, face-recognition or classifier. settings: of `AuditRequest` or a section of it,
    by name. Raises UnknownName for another preset or setting.

    >>> request = audit_preset("face-detector", subjects=20)
    >>> request.subjects, request.truth
    (20, ('face',))
    """
    return with_settings(AuditRequest(), with_preset({**settings, "preset": name}))


def cost(target: TargetLike | Sequence[TargetLike] | None, request: AuditRequest | None) -> costs.Cost:
    """What an audit would cost at most; no target is called and nothing is written."""
    whole = with_settings(request or AuditRequest(), {})
    whole = expanded(whole if target is None else replace(whole, targets=_listed(target)))
    with audit_plan.planned(whole) as (targets, pairs, designed, lines):
        side = max(int(part.world.image_size) for part in (*designed, *([] if lines is None else [lines])))
        shown = [each for each in designed if planned.shows_pairs(each)]
        asked = sum(two_images.count(each.design, each.matched) for each in shown)
        images, _ = audit_plan.size(whole, targets, designed, lines)
        return costs.total([*costs.quotes(targets, images, side), *(each.quote(asked) for each in pairs)])


def _announce_preset(
    request: AuditRequest, targets: Sequence[Target], studies: Sequence[study.Study], lines: study.Study | None
) -> None:
    """Print what the preset asks and costs, before anything is made."""
    if request.preset is None:
        return
    chosen = preset(request.preset)
    images, calls = audit_plan.size(request, targets, studies, lines)
    control = "" if audit_plan.control(request, targets, studies) is None else " with the negative control"
    fewer = f"fewer with {planned.fewer(request, studies)}"
    say(f"preset {chosen.name}: {chosen.meaning}", error=True)
    say(
        f"budget: {counted(images, 'image')}{control}, {counted(calls, 'call')}; {fewer}; --dry-run stops here",
        error=True,
    )
    if chosen.advice and not request.truth:
        say(chosen.advice, error=True)


def _audit(
    request: AuditRequest, targets: Sequence[Target], quiet: bool, pairs: tuple[PairwiseQuestion, ...]
) -> AuditResult:
    seen = request.ratings
    check_ratings(seen.perceived, seen.prune, seen.ratings)
    designed, lines = planned.designs(request, targets)
    if not quiet:
        _announce_preset(request, targets, designed, lines)
    studies = planned.complete(designed, request, targets, request.checks.open(), pairs)
    _check_report(request, studies)
    required = gates.required_for(seen.require_validation, [(part.world, part.design.levels) for part in studies])
    folder = Path("runs") / slug(model_name(request, targets)) if request.run.out is None else Path(request.run.out)
    places = planned.places(studies, folder, STUDIES)
    with engines.opened(engines.EngineSettings(request.run.engine, request.run.workers), quiet=quiet) as engine:
        resume_or_clear(folder, dict(zip(places, studies, strict=True)), overwrite=request.run.overwrite)
        for part, place in zip(studies, places, strict=True):
            refuse_links_in(folder, place)
            study.run(part, place, quiet=quiet, engine=engine)
            mark_unfinished(folder)
            if part is planned.controlled(studies, request):
                study.run_control(planned.of_plain_world(part), place, quiet=quiet, engine=engine)
            gates.store(place, None if planned.is_of_photographs(part) else required)
        if lines is not None:
            study.run(lines, folder / INTERPOLATION, quiet=quiet, engine=engine)
    mark_finished(folder)
    working_folders.discard(folder / SETTINGS)  # of an earlier command with other ones
    reporting.rate(folder, seen.perceived, seen.prune, seen.ratings)
    with announcing_stages(quiet=quiet):
        return _with_costs(reporting.report(folder, settings=request.report), targets)


def _check_report(request: AuditRequest, studies: Sequence[study.Study]) -> None:
    """Raises BadInput or UnknownName for settings of a report that do not fit, before any image is made."""
    settings, rated = request.report, names_in(request.ratings.perceived, request.ratings.ratings)
    observed = planned.observed(studies)
    counted_by = [{*part.counted_by, *(rated if part.counted_by else ())} for part in studies]
    report_options.check_error_conditions(as_names(settings.by), counted_by)
    seen = rated - set(observed)
    report_options.parse_bins(
        [text for text in as_names(settings.bins) if text.partition("=")[0] not in seen], observed
    )
    possible = {name for part in studies for target in part.targets for name in offered_by(target)}
    parse_margins(report_options.listed_margins(settings.margin), {*OUTCOMES, PREFERRED, *possible})
    report_options.check_covariates(as_names(settings.covariates), [*observed, *sorted(rated)])
    report_options.check_thresholds(settings.at_thresholds)


def _with_costs(result: AuditResult, targets: Sequence[Target]) -> AuditResult:
    spent = costs.spent(targets)
    if spent is None:
        return result
    return replace(result, numbers=replace(result.numbers, calls=spent.calls, cost=spent.cost))


def _listed(target: TargetLike | Sequence[TargetLike]) -> tuple[TargetLike, ...]:
    return tuple(target) if isinstance(target, Sequence) and not isinstance(target, str) else (target,)
