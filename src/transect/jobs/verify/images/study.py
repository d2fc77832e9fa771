"""The proving ground with images, stage by stage: train, intervene for the truth, observe, experiment, compare.

The tables of every stage are stored in one folder under names that hold the renderer's version and all sizes that they
depend on. Rerun the command to resume after an interruption.
"""

from __future__ import annotations

from pathlib import Path

from transect.generators.faceworld.renderer import RENDERER_VERSION
from transect.generators.faceworld.world import FaceWorld
from transect.jobs.verify.cache import Cache, Figures
from transect.jobs.verify.figures import ImagesFigures, ModelPerformance, record_of
from transect.jobs.verify.images.asking import Model, intervened, observed
from transect.jobs.verify.images.comparison import estimates, overall, summary, true_effects
from transect.jobs.verify.images.sizes import FIRST_SEEDS, POPULATION, Sizes
from transect.runs.parts import resumable
from transect.runs.progress import Progress


def compare_methods(sizes: Sizes, out: Path, *, model: Model | None = None, quiet: bool = False) -> ImagesFigures:
    """The model's true effects and the estimates of every method.

    out: the folder that keeps pictures, network and tables. model: what is audited (default: a network trained on the
    confounded population).

    Raises FolderInUse, RunFolderError, and Interrupted when stopped: call again to resume.
    """
    with Cache(out) as cache, resumable(out):
        return _compare(sizes, cache, model, quiet)


def _compare(sizes: Sizes, cache: Cache, requested: Model | None, quiet: bool) -> ImagesFigures:
    world = FaceWorld(image_size=sizes.image_size, population=POPULATION)
    model = requested or _trained(sizes, world, cache, quiet)
    key = {"world": world.describe(), "model": dict(model.settings)}
    performed = cache.figures("performance", {**key, "held_out": sizes.held_out}, lambda: _perform(sizes, world, model))
    truth = intervened(cache, world, model, "truth", FIRST_SEEDS["truth"], sizes.truth, quiet=quiet)
    pools = (
        observed(cache, world, model, FIRST_SEEDS["observed"], sizes.observed, quiet=quiet),
        intervened(cache, world, model, "experiment", FIRST_SEEDS["experiment"], sizes.experiment, quiet=quiet),
    )
    effects = true_effects(truth)
    drawn_from = {**key, "observed": sizes.observed, "experiment": sizes.experiment}
    with Progress("budgets", len(sizes.budgets), quiet=quiet) as progress:
        rows = summary(
            estimates(cache, drawn_from, pools, sizes, progress), {row.attribute: row.effect for row in effects}
        )
    return ImagesFigures(
        renderer_version=RENDERER_VERSION,
        sizes=sizes.as_dict(),
        interventions=sizes.interventions,
        model=record_of(ModelPerformance, performed),
        truth=tuple(effects),
        rows=tuple(rows),
        overall=tuple(overall(rows)),
    )


def _trained(sizes: Sizes, world: FaceWorld, cache: Cache, quiet: bool) -> Model:
    from transect.jobs.verify.images.model import trained_model

    return trained_model(sizes, world, cache, quiet=quiet)


def _perform(sizes: Sizes, world: FaceWorld, model: Model) -> Figures:
    from transect.jobs.verify.images.model import performance

    return performance(sizes, world, model)
