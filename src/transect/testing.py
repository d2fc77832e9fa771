"""Does a plug-in keep its contract? One check per protocol of `transect.protocols`, for the plug-in's author to run.

Each check raises ContractBroken at the first clause that does not hold; the message names the clause, what was
expected and what was found.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np
import pyarrow as pa

from transect.errors import BadInput, UnknownName
from transect.protocols import Controls, Generator, Rater, Target, World
from transect.records import Annotations, Attribute, Images, Latents, Predictions, Question, Task
from transect.runs.capabilities import faults as world_faults
from transect.targets.capabilities import faults as target_faults
from transect.targets.guard import attempt
from transect.targets.output import as_predictions, row_fault, structure_fault

__all__ = ["ContractBroken", "check_controls", "check_generator", "check_rater", "check_target", "check_world"]

RELATIVE, ABSOLUTE = 1e-4, 1e-5
"""How far scores may differ between batches: matrix products sum in another order in another batch size."""
PIXELS = 1e-2
"""How far corners of boxes may differ between batches, for the same reason."""

FACE_QUESTION = Question("smile", "How much does the person smile?", ("not at all", "a little", "broadly"))


class ContractBroken(AssertionError):
    """A plug-in breaks its protocol."""


def check_target(target: object, *, image_size: int = 64, images: Images | None = None, timeout: float = 30.0) -> None:
    """Check a target on pictures of noise, gradients and flat color, or on the images given.

    Clauses: identity, optional members (where the target has them: threshold, labels, positive, describe, metered,
    quote, calls_made, call_counts, asked_again, close, patience, box_convention), exceptions, timeouts, type, count
    and shape, dtype, NaN, answers (some image has one), frozen input, determinism, order, batch invariance,
    memory layout, size handling (three other sizes). timeout: seconds per call. Returns None; raises ContractBroken.

    >>> from transect.targets import as_target
    >>> check_target(as_target(lambda pixels: pixels.mean(axis=(1, 2, 3)) / 255))
    >>> check_target(as_target(lambda pixels: np.linspace(0, 1, len(pixels))))
    Traceback (most recent call last):
    transect.testing.ContractBroken: order: expected answers in the order of the images, got scores [0.] instead of ...
    """
    if not isinstance(target, Target):
        _lacking(target, Target, "name", "task", "predict")
    _check_name(target.name)
    if target.task not in list(Task):
        _broken("identity", f"a task of {', '.join(Task)}", repr(target.task))
    for fault in target_faults(target):
        _broken(*fault)
    images = images or Images(_pictures(image_size, image_size))
    rows = np.arange(len(images))

    def ask(pictures: Images, clause: str = "") -> Predictions:
        return _ask(target, pictures, timeout, clause)

    first = ask(images)
    if len(first) and all(first.failures):
        _broken("answers", "an answer for some image", first.failures[0])
    _check_same("determinism", "the same answer to the same images", first, ask(images), rows)
    _check_same("order", "answers in the order of the images", first, ask(images.take(rows[::-1])), rows[::-1])
    for row in rows:
        alone = ask(images.take(rows[row : row + 1]))
        _check_same("batch invariance", "the same answer alone and in a batch", first, alone, rows[row : row + 1])
    strided = Images(np.repeat(images.pixels, 2, axis=2)[:, :, ::2], images.face_boxes, images.landmarks)
    _check_same("memory layout", "the same answer for pixels that are not contiguous", first, ask(strided), rows)
    for height, width in ((image_size + 1,) * 2, (2 * image_size,) * 2, (image_size, image_size * 3 // 4)):
        ask(Images(_pictures(height, width)), f"size handling ({height}x{width} pixels)")


def check_generator(generator: object, *, seeds: Sequence[int] = (0, 1, 2, (3 << 32) + 5)) -> None:
    """Check a generator on two or more different seeds.

    Clauses: identity, sample (type, seeds, latent_dim), one seed one subject, render (type, shape, dtype), face boxes,
    frozen input, determinism, order, batch invariance (bitwise), global randomness (neither used nor changed), subjects
    look different. Returns None; raises ContractBroken.
    """
    if not isinstance(generator, Generator):
        _lacking(generator, Generator, "name", "image_size", "latent_dim", "sample", "render")
    _check_name(generator.name)
    latents = _sample(generator, seeds)
    _check_subjects(generator, latents)
    before = _content(latents)
    images = _render(generator, latents)
    if _content(latents) != before:
        _broken("frozen input", "render to leave the latents as they are", "changed latents")
    state = _global_random_state()
    again = _render(generator, _sample(generator, seeds))
    if not np.array_equal(again.pixels, images.pixels):
        _broken("determinism", "the same seeds to give the same images", "other images the second time")
    if _global_random_state() != state:
        _broken("global randomness", "its own random generators", "draws from numpy's or torch's global one")
    _check_rows_alone(generator, latents, images)


def check_controls(controls: object, latents: Latents, *, tolerance: float = 1e-6) -> None:
    """Check controls on some latents (two rows or more).

    tolerance: how far a value read back may be from the one set, as a share of the attribute's range; learned
    directions need more than exact ones. Clauses: identity, attributes, read (columns, dtype, range), set (value,
    subject, one value or one per row), hold, frozen input, batch invariance, unknown attribute, out of range.
    Returns None; raises ContractBroken.
    """
    if not isinstance(controls, Controls):
        _lacking(controls, Controls, "attributes", "read", "set")
    _check_attributes(controls.attributes)
    values = _read(controls, latents)
    for attribute in controls.attributes:
        for value in attribute.bounds:
            _check_set(controls, latents, attribute, value, tolerance)
        others = [other for other in controls.attributes if other.name != attribute.name]
        moved = _set(controls, latents, {attribute.name: attribute.bounds[1]}, [other.name for other in others])
        after = _read(controls, moved)
        for other in others:
            clause = f"hold ({attribute.name} set)"
            _check_near(clause, other, after[other.name], values[other.name], tolerance)
    _check_refusals(controls, latents)


def check_world(world: object, *, seeds: Sequence[int] = (0, 1, 2), tolerance: float = 1e-6) -> None:
    """Check a world: as a generator, as controls, and the optional members that it has.

    Clauses: those of `check_generator` and `check_controls`, then describe, validity, usual_levels, truths and
    sample_unedited (`transect.protocols`). Returns None; raises ContractBroken.
    """
    if not isinstance(world, World):
        _lacking(world, World, "name", "image_size", "latent_dim", "attributes", "sample", "render", "read", "set")
    _check_name(world.name)
    check_generator(world, seeds=seeds)
    latents = _sample(world, seeds)
    check_controls(world, latents, tolerance=tolerance)
    for fault in world_faults(world, latents):
        _broken(*fault)


def check_rater(rater: object, *, images: Images | None = None, question: Question = FACE_QUESTION) -> None:
    """Check a rater on one question about some images.

    Clauses: identity, type, question, columns (equal lengths), image (row numbers), raters (names), completeness (each
    image has a row; no answer is NaN), values (a level's number, or any number where there are no levels), frozen
    input. Returns None; raises ContractBroken.
    """
    if not isinstance(rater, Rater):
        _lacking(rater, Rater, "name", "rate")
    _check_name(rater.name)
    images = images or Images(_pictures(64, 64))
    before = images.pixels.tobytes()
    answers = rater.rate(images, question)
    if images.pixels.tobytes() != before:
        _broken("frozen input", "pixels as they were", "changed pixels")
    if not isinstance(answers, Annotations):
        _broken("type", "Annotations", type(answers).__name__)
    if answers.question != question:
        _broken("question", f"answers to {question.name!r}", f"answers to {answers.question.name!r}")
    _check_rows(answers, len(images))
    values = answers.value[~np.isnan(answers.value)]
    levels = len(answers.question.levels)
    sound = np.isin(values, np.arange(levels)) if levels else np.isfinite(values)
    if not sound.all():
        wanted = f"levels from 0 to {levels - 1}, or NaN" if levels else "finite numbers, or NaN"
        _broken("values", wanted, f"{values[~sound][0]:g}")


def _broken(clause: str, expected: str, got: str) -> NoReturn:
    raise ContractBroken(f"{clause}: expected {expected}, got {got}")


def _lacking(plugin: object, protocol: type, *parts: str) -> NoReturn:
    missing = [part for part in parts if not hasattr(plugin, part)]
    _broken("identity", f"a {protocol.__name__} with {', '.join(parts)}", f"no {', '.join(missing)}")


def _check_name(name: object) -> None:
    if not (isinstance(name, str) and name):
        _broken("identity", "a name", repr(name))


def _pictures(height: int, width: int) -> np.ndarray:
    """uint8 [5, height, width, 3]: noise, coarse noise, a gradient, black and white."""
    rng = np.random.Generator(np.random.Philox(20250101))
    noise = rng.integers(0, 256, (height, width, 3))
    coarse = np.kron(rng.integers(0, 256, (height // 8 + 1, width // 8 + 1, 3)), np.ones((8, 8, 1)))[:height, :width]
    gradient = np.broadcast_to(np.linspace(0, 255, width)[None, :, None], (height, width, 3))
    flat = np.zeros((height, width, 3))
    return np.stack([noise, coarse, gradient, flat, flat + 255]).astype(np.uint8)


def _ask(target: Target, images: Images, timeout: float, clause: str) -> Predictions:
    before = images.pixels.tobytes()
    answer, reason = attempt(lambda: as_predictions(target.predict(images), target, len(images)), timeout)
    if reason:
        _broken(clause or ("timeouts" if reason.startswith("timed out") else "exceptions"), "an answer", reason)
    if images.pixels.tobytes() != before:
        _broken("frozen input", "pixels as they were", "changed pixels")
    fault = structure_fault(answer, Task(target.task), len(images))
    if not isinstance(answer, Predictions) or fault:
        _broken(clause or "type, count and shape", "Predictions for each image", fault)
    if answer.scores.dtype != np.float64:
        _broken("dtype", "scores as float64", str(answer.scores.dtype))
    _check_numbers(answer)
    return answer


def _check_numbers(answer: Predictions) -> None:
    for row, reason in enumerate(answer.failures):
        boxes = () if answer.boxes is None else answer.boxes[row]
        if reason and not (np.isnan(answer.scores[row]).all() and len(boxes) == 0):
            _broken("NaN", "NaN scores and no boxes for an image that failed", f"scores for {reason!r}")
        fault = "" if reason else row_fault(answer, row)
        if fault:
            _broken("NaN", "valid numbers, or a failure with its reason", fault)


def _check_same(clause: str, expected: str, first: Predictions, other: Predictions, rows: np.ndarray) -> None:
    """Row i of `other` is row rows[i] of `first`, up to rounding."""
    for i, row in enumerate(rows):
        if first.failures[row] != other.failures[i]:
            _broken(clause, expected, f"failure {other.failures[i]!r} instead of {first.failures[row]!r} (image {row})")
        if not np.allclose(first.scores[row], other.scores[i], RELATIVE, ABSOLUTE, equal_nan=True):
            _broken(clause, expected, f"scores {other.scores[i][:3]} instead of {first.scores[row][:3]} (image {row})")
        if first.boxes is not None and other.boxes is not None and not _same_boxes(first.boxes[row], other.boxes[i]):
            _broken(clause, expected, f"other boxes (image {row})")


def _same_boxes(first: np.ndarray, other: np.ndarray) -> bool:
    return first.shape == other.shape and bool(
        np.allclose(first[:, :4], other[:, :4], rtol=0, atol=PIXELS)
        and np.allclose(first[:, 4], other[:, 4], RELATIVE, ABSOLUTE, equal_nan=True)
    )


def _sample(generator: Generator, seeds: Sequence[int]) -> Latents:
    latents = generator.sample(list(seeds))
    if not isinstance(latents, Latents):
        _broken("sample", "Latents", type(latents).__name__)
    if list(latents.seeds) != list(seeds):
        _broken("sample", f"the seeds {list(seeds)} in order", f"{latents.seeds.tolist()}")
    numbers = latents.values[0].size
    if len(latents.values) != len(seeds) or numbers != generator.latent_dim:
        _broken("sample", f"{len(seeds)} rows of latent_dim = {generator.latent_dim}", f"{latents.values.shape}")
    return latents


def _check_subjects(generator: Generator, latents: Latents) -> None:
    for row, seed in enumerate(latents.seeds):
        alone = _sample(generator, [int(seed)])
        if not np.array_equal(alone.values[0], latents.values[row]):
            _broken("one seed, one subject", f"the same latents for seed {seed} alone and in a batch", "other latents")
    if len(np.unique(latents.values.reshape(len(latents), -1), axis=0)) < len(latents):
        _broken("one seed, one subject", "other latents for another seed", "the same latents twice")


def _render(generator: Generator, latents: Latents) -> Images:
    images = generator.render(latents)
    if not isinstance(images, Images):
        _broken("render", "Images", type(images).__name__)
    shape = (len(latents), generator.image_size, generator.image_size, 3)
    if images.pixels.dtype != np.uint8 or images.pixels.shape != shape:
        _broken("render", f"pixels uint8 {list(shape)}", f"{images.pixels.dtype} {list(images.pixels.shape)}")
    boxes = images.face_boxes
    if boxes is not None and (boxes.shape != (len(latents), 4) or not (boxes[:, :2] < boxes[:, 2:]).all()):
        _broken("face boxes", "x0 < x1 and y0 < y1 for each image, or None", f"an array {list(boxes.shape)}")
    return images


def _check_rows_alone(generator: Generator, latents: Latents, images: Images) -> None:
    rows = np.arange(len(latents))
    if not np.array_equal(_render(generator, latents.take(rows[::-1])).pixels, images.pixels[::-1]):
        _broken("order", "images in the order of the latents", "other images for reversed latents")
    for row in rows:
        if not np.array_equal(_render(generator, latents.take(rows[row : row + 1])).pixels[0], images.pixels[row]):
            _broken("batch invariance", "bitwise the same image alone and in a batch", f"a different one (seed {row})")
    if len({picture.tobytes() for picture in images.pixels}) < len(images):
        _broken("subjects look different", "another image for another seed", "the same image twice")


def _content(latents: Latents) -> tuple[object, ...]:
    settings = sorted((name, column.tobytes()) for name, column in latents.settings.items())
    return latents.seeds.tobytes(), latents.values.tobytes(), tuple(settings)


def _global_random_state() -> tuple[object, ...]:
    torch = sys.modules.get("torch")
    _, keys, position, *_ = np.random.get_state(legacy=True)
    of_torch = bytes(torch.get_rng_state().numpy()) if torch else b""
    return np.asarray(keys).tobytes(), position, of_torch


def _check_attributes(attributes: tuple[Attribute, ...]) -> None:
    if not attributes or not all(isinstance(attribute, Attribute) for attribute in attributes):
        _broken("attributes", "a tuple of one or more Attribute", repr(attributes)[:80])
    names = [attribute.name for attribute in attributes]
    if len(set(names)) < len(names):
        _broken("attributes", "each name once", ", ".join(names))


def _read(controls: Controls, latents: Latents) -> dict[str, np.ndarray]:
    table = controls.read(latents)
    if not isinstance(table, pa.Table) or table.num_rows != len(latents):
        _broken("read", f"an Arrow table of {len(latents)} rows", f"{type(table).__name__} of {len(table)}")
    values = {}
    for attribute in controls.attributes:
        if attribute.name not in table.column_names or table[attribute.name].type != pa.float64():
            _broken("read", f"a float64 column {attribute.name}", ", ".join(f"{f.name} {f.type}" for f in table.schema))
        column = values[attribute.name] = table[attribute.name].to_numpy()
        low, high = attribute.bounds
        if not ((column >= low) & (column <= high)).all():
            _broken("read", f"{attribute.name} from {low:g} to {high:g}", f"{column.min():g} to {column.max():g}")
    return values


def _set(
    controls: Controls, latents: Latents, values: dict[str, float | np.ndarray], hold: Sequence[str] = ()
) -> Latents:
    before = _content(latents)
    moved = controls.set(latents, values, hold=hold)
    if not isinstance(moved, Latents) or not np.array_equal(moved.seeds, latents.seeds):
        _broken("set", f"Latents of the same subjects after {', '.join(values)} was set", "other subjects")
    if _content(latents) != before:
        _broken("frozen input", "set to leave the latents as they are", "changed latents")
    return moved


def _check_set(controls: Controls, latents: Latents, attribute: Attribute, value: float, tolerance: float) -> None:
    name = attribute.name
    moved = _set(controls, latents, {name: value})
    _check_near("set", attribute, _read(controls, moved)[name], np.full(len(latents), value), tolerance)
    alone = _set(controls, latents.take(slice(0, 1)), {name: value})
    if _content(alone) != _content(moved.take(slice(0, 1))):
        _broken("batch invariance", f"the same latents after {name} = {value:g} alone and in a batch", "other latents")
    column = np.where(np.arange(len(latents)) % 2, *attribute.bounds)
    moved = _set(controls, latents, {name: column})
    _check_near("set (one value per row)", attribute, _read(controls, moved)[name], column, tolerance)


def _check_near(clause: str, attribute: Attribute, got: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    low, high = attribute.bounds
    worst = int(np.abs(got - wanted).argmax())
    if not np.abs(got - wanted)[worst] <= tolerance * (high - low):
        _broken(clause, f"{attribute.name} = {wanted[worst]:g}", f"{got[worst]:g} (row {worst})")


def _check_refusals(controls: Controls, latents: Latents) -> None:
    attribute = controls.attributes[0]
    unknown, beyond = {"no such attribute": 0.0}, {attribute.name: attribute.bounds[1] + 1.0}
    _expect("unknown attribute", UnknownName, lambda: controls.set(latents, unknown))
    _expect("out of range", BadInput, lambda: controls.set(latents, beyond))


def _expect(clause: str, kind: type[Exception], work: Callable[[], object]) -> None:
    try:
        work()
    except kind:
        return
    except Exception as error:
        _broken(clause, kind.__name__, type(error).__name__)
    _broken(clause, kind.__name__, "no error")


def _check_rows(answers: Annotations, n: int) -> None:
    if not len(answers.image) == len(answers.rater) == len(answers.value):
        lengths = f"{len(answers.image)}, {len(answers.rater)}, {len(answers.value)}"
        _broken("columns", "image, rater and value of one length", lengths)
    if answers.image.dtype.kind != "i" or not ((answers.image >= 0) & (answers.image < n)).all():
        _broken("image", f"numbers of images from 0 to {n - 1}", f"{answers.image[:5]} as {answers.image.dtype}")
    if not all(isinstance(name, str) and name for name in answers.rater):
        _broken("raters", "a name for each row", repr(answers.rater[:5]))
    missing = sorted(set(range(n)) - set(answers.image.tolist()))
    if missing:
        _broken("completeness", "a row for each image (NaN for no answer)", f"none for image {missing[0]}")
