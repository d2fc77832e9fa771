"""The conformance suite: good plug-ins pass, and for every clause there is one that breaks it alone."""

import itertools
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from transect.errors import BadInput, UnknownName
from transect.generators import FaceWorld
from transect.records import Annotations, Attribute, Images, Latents, Predictions, Question, Task
from transect.targets import as_target
from transect.testing import ContractBroken, check_controls, check_generator, check_rater, check_target


def force(record, **changes):
    """A record with values that it would not allow."""
    made = replace(record)
    for key, value in changes.items():
        object.__setattr__(made, key, value)
    return made


# Targets


class MeanTarget:
    """Keeps the contract: the mean of an image, as a probability; none for all black."""

    name, task = "mean", Task.BINARY

    def predict(self, images):
        scores = images.pixels.mean(axis=(1, 2, 3), dtype=np.float64)[:, None] / 255
        black = scores[:, 0] == 0
        return Predictions(
            Task.BINARY, np.where(black[:, None], np.nan, scores), tuple("black" * int(one) for one in black)
        )


class Nameless(MeanTarget):
    name = ""


class Taskless(MeanTarget):
    task = "classification"


class Raising(MeanTarget):
    def predict(self, images):
        raise ValueError("no")


class Hanging(MeanTarget):
    def predict(self, images):
        time.sleep(20)


class Untyped(MeanTarget):
    def predict(self, images):
        return super().predict(images).scores


class Uncounted(MeanTarget):
    def predict(self, images):
        answer = super().predict(images)
        return Predictions(answer.task, answer.scores[:-1], answer.failures[:-1])


class SinglePrecision(MeanTarget):
    def predict(self, images):
        answer = super().predict(images)
        return force(answer, scores=answer.scores.astype(np.float32))


class SilentNaN(MeanTarget):
    def predict(self, images):
        return replace(super().predict(images), failures=("",) * len(images))


class ScoredFailure(MeanTarget):
    def predict(self, images):
        answer = super().predict(images)
        return replace(answer, scores=np.nan_to_num(answer.scores))


class NeverAnswering(MeanTarget):
    def predict(self, images):
        n = len(images)
        return Predictions(Task.BINARY, np.full((n, 1), np.nan), ("refused",) * n)


class Painting(MeanTarget):
    def predict(self, images):
        answer = super().predict(images)
        images.pixels[0] = 7
        return answer


class Forgetful(MeanTarget):
    calls = itertools.count()

    def predict(self, images):
        answer = super().predict(images)
        return replace(answer, scores=answer.scores / (1 + next(self.calls)))


class Sorting(MeanTarget):
    def predict(self, images):
        answer = super().predict(images)
        rows = np.argsort(answer.scores[:, 0])
        return Predictions(answer.task, answer.scores[rows], tuple(answer.failures[row] for row in rows))


class BatchNormalizing(MeanTarget):
    def predict(self, images):
        answer = super().predict(images)
        return replace(answer, scores=answer.scores / np.nanmax(answer.scores, initial=0.5))


class Contiguous(MeanTarget):
    """Reads the memory as if it had no gaps."""

    def predict(self, images):
        n = len(images)
        values = np.lib.stride_tricks.as_strided(images.pixels, (n, 64), (images.pixels.strides[0], 1))
        return Predictions(Task.BINARY, values.mean(axis=1)[:, None] / 255, ("",) * n)


class OneSize(MeanTarget):
    def predict(self, images):
        if images.pixels.shape[1:3] != (64, 64):
            raise ValueError("64x64 only")
        return super().predict(images)


BROKEN_TARGETS = [
    (Nameless, "identity: expected a name, got ''"),
    (
        Taskless,
        "identity: expected a task of binary, multiclass, multilabel, detection, regression, embedding, got 'cl",
    ),
    (object, "identity: expected a Target with name, task, predict, got no name, task, predict"),
    (Raising, "exceptions: expected an answer, got raised ValueError: no"),
    (Hanging, "timeouts: expected an answer, got timed out after 0.5 s"),
    (
        Untyped,
        "type, count and shape: expected Predictions for each image, got wrong type: expected Predictions, got nd",
    ),
    (Uncounted, "type, count and shape: expected Predictions for each image, got wrong count"),
    (SinglePrecision, "dtype: expected scores as float64, got float32"),
    (SilentNaN, "NaN: expected sound numbers, or a failure with its reason, got score is NaN"),
    (ScoredFailure, "NaN: expected NaN scores and no boxes for an image that failed, got scores for 'black'"),
    (NeverAnswering, "answers: expected an answer for some image, got refused"),
    (Painting, "frozen input: expected pixels as they were, got changed pixels"),
    (Forgetful, "determinism: expected the same answer to the same images, got scores"),
    (Sorting, "order: expected answers in the order of the images, got"),
    (BatchNormalizing, "batch invariance: expected the same answer alone and in a batch, got scores"),
    (Contiguous, "memory layout: expected the same answer for pixels that are not contiguous, got scores"),
    (OneSize, "size handling (65x65 pixels): expected an answer, got raised ValueError: 64x64 only"),
]


def test_a_good_target_passes():
    check_target(MeanTarget())
    check_target(MeanTarget(), image_size=33)


@pytest.mark.parametrize(("kind", "message"), BROKEN_TARGETS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_target_that_breaks_one_clause(kind, message):
    with pytest.raises(ContractBroken) as broken:
        check_target(kind(), timeout=0.5 if kind is Hanging else 30)
    assert str(broken.value).startswith(message)
    assert "\n" not in str(broken.value)


def boxes_by_row(pixels, shift):
    return [[[0, 0, 2, 2 + shift * row, 0.9]] for row in range(len(pixels))]


def test_boxes_are_compared_too():
    check_target(as_target(lambda pixels: boxes_by_row(pixels, 0), task="detection"))
    with pytest.raises(ContractBroken, match=r"order: .*got other boxes \(image 4\)"):
        check_target(as_target(lambda pixels: boxes_by_row(pixels, 1), task="detection"))


# Generators


class Blocks:
    """Keeps the contract: a picture of noise from each subject's latents."""

    name, image_size, latent_dim = "blocks", 8, 4

    def sample(self, seeds):
        values = [np.random.Generator(np.random.Philox(int(seed))).standard_normal(4) for seed in seeds]
        return Latents(np.asarray(seeds, np.int64), np.array(values).reshape(-1, 4))

    def render(self, latents):
        tile = np.kron(latents.values.reshape(-1, 2, 2), np.ones((1, 4, 4)))
        pixels = np.repeat((128 + 40 * tile).clip(0, 255).astype(np.uint8)[..., None], 3, axis=3)
        return Images(pixels, np.tile([1.0, 1, 7, 7], (len(latents), 1)))


class Seedless(Blocks):
    def sample(self, seeds):
        return replace(super().sample(seeds), seeds=np.arange(len(seeds)))


class Wider(Blocks):
    latent_dim = 5


class SampledAsArray(Blocks):
    def sample(self, seeds):
        return super().sample(seeds).values


class SeededByBatch(Blocks):
    def sample(self, seeds):
        made = super().sample(seeds)
        return replace(made, values=made.values - made.values.mean())


class OneSubject(Blocks):
    def sample(self, seeds):
        return replace(super().sample(seeds), values=np.ones((len(seeds), 4)))


class FloatPixels(Blocks):
    def render(self, latents):
        images = super().render(latents)
        return force(images, pixels=images.pixels / 255)


class RenderedAsArray(Blocks):
    def render(self, latents):
        return super().render(latents).pixels


class EmptyBoxes(Blocks):
    def render(self, latents):
        return replace(super().render(latents), face_boxes=np.zeros((len(latents), 4)))


class Consuming(Blocks):
    def render(self, latents):
        images = super().render(latents)
        latents.values[:] = 0
        return images


class Moody(Blocks):
    calls = itertools.count()

    def render(self, latents):
        images = super().render(latents)
        return replace(images, pixels=images.pixels // (1 + next(self.calls)))


class GloballyRandom(Blocks):
    def render(self, latents):
        np.random.random()
        return super().render(latents)


class Reversing(Blocks):
    def render(self, latents):
        images = super().render(latents)
        rows = np.argsort(images.pixels[:, 0, 0, 0], kind="stable")
        return images.take(rows)


class Exposing(Blocks):
    def render(self, latents):
        images = super().render(latents)
        return replace(images, pixels=images.pixels // 2 + np.uint8(images.pixels.max() // 4))


class Alike(Blocks):
    def render(self, latents):
        images = super().render(latents)
        return replace(images, pixels=np.zeros_like(images.pixels))


BROKEN_GENERATORS = [
    (object, "identity: expected a Generator with name, image_size, latent_dim, sample, render, got no name"),
    (Seedless, "sample: expected the seeds [0, 1, 2, 12884901893] in order, got [0, 1, 2, 3]"),
    (Wider, "sample: expected 4 rows of latent_dim = 5, got (4, 4)"),
    (SampledAsArray, "sample: expected Latents, got ndarray"),
    (SeededByBatch, "one seed, one subject: expected the same latents for seed 0 alone and in a batch, got other lat"),
    (OneSubject, "one seed, one subject: expected other latents for another seed, got the same latents twice"),
    (FloatPixels, "render: expected pixels uint8 [4, 8, 8, 3], got float64 [4, 8, 8, 3]"),
    (RenderedAsArray, "render: expected Images, got ndarray"),
    (EmptyBoxes, "face boxes: expected x0 < x1 and y0 < y1 for each image, or None, got an array [4, 4]"),
    (Consuming, "frozen input: expected render to leave the latents as they are, got changed latents"),
    (Moody, "determinism: expected the same seeds to give the same images, got other images the second time"),
    (GloballyRandom, "global randomness: expected random generators of its own, got draws from numpy's or torch's"),
    (Reversing, "order: expected images in the order of the latents, got other images for reversed latents"),
    (Exposing, "batch invariance: expected bitwise the same image alone and in a batch, got another (seed "),
    (Alike, "subjects look different: expected another image for another seed, got the same image twice"),
]


def test_a_good_generator_passes():
    check_generator(Blocks())
    check_generator(Blocks(), seeds=[5, 6])


@pytest.mark.parametrize(("kind", "message"), BROKEN_GENERATORS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_generator_that_breaks_one_clause(kind, message):
    with pytest.raises(ContractBroken) as broken:
        check_generator(kind())
    assert str(broken.value).startswith(message)


# Controls


class Chain:
    """Keeps the contract: `effect` follows `cause` (0 to 1) unless it is set or held; `hat` stands alone."""

    attributes = (
        Attribute("cause", "continuous", "a cause"),
        Attribute("effect", "continuous", "what follows", high=2.0),
        Attribute("hat", "binary", "wears a hat", levels=("off", "on")),
    )

    def read(self, latents):
        cause = self._column(latents, "cause", 1 / (1 + np.exp(-latents.values[:, 0])))
        effect = self._column(latents, "effect", cause + 1 / (1 + np.exp(-latents.values[:, 1])))
        hat = self._column(latents, "hat", (latents.values[:, 2] > 0).astype(float))
        return pa.table({"cause": cause, "effect": effect, "hat": hat})

    def set(self, latents, values, hold=()):
        held = self.read(latents).select(list(hold)).to_pydict()
        settings = dict(latents.settings)
        for name, value in {**held, **values}.items():
            known = {attribute.name: attribute for attribute in self.attributes}
            if name not in known:
                raise UnknownName("attribute", name, known)
            column = np.broadcast_to(np.asarray(value, dtype=np.float64), len(latents)).copy()
            settings[name] = np.array([known[name].check(one) for one in column])
        return replace(latents, settings=settings)

    @staticmethod
    def _column(latents, name, natural):
        given = latents.settings.get(name, np.full(len(latents), np.nan))
        return np.where(np.isnan(given), natural, given)


class Featureless(Chain):
    attributes = ()


class TwiceNamed(Chain):
    attributes = (Chain.attributes[0],) * 2


class ReadAsMapping(Chain):
    def read(self, latents):
        return super().read(latents).to_pydict()


class ReadWithout(Chain):
    def read(self, latents):
        return super().read(latents).drop_columns("hat")


class ReadAsFloat32(Chain):
    def read(self, latents):
        table = super().read(latents)
        return table.set_column(0, "cause", table["cause"].cast(pa.float32()))


class BeyondRange(Chain):
    attributes = (*Chain.attributes[:1], replace(Chain.attributes[1], high=0.5), Chain.attributes[2])


class Halfway(Chain):
    def set(self, latents, values, hold=()):
        made = super().set(latents, values, hold)
        name = next(iter(values))
        half = (made.settings[name] + super().read(latents)[name].to_numpy()) / 2
        return replace(made, settings={**made.settings, name: half})


class NewSubjects(Chain):
    def set(self, latents, values, hold=()):
        return replace(super().set(latents, values, hold), seeds=latents.seeds + 1)


class OneValue(Chain):
    def set(self, latents, values, hold=()):
        first = {name: np.ravel(value)[0] for name, value in values.items()}
        return super().set(latents, first, hold)


class Deaf(Chain):
    def set(self, latents, values, hold=()):
        return super().set(latents, values)


class Centering(Chain):
    def set(self, latents, values, hold=()):
        made = super().set(latents, values, hold)
        return replace(made, values=made.values - made.values.mean(axis=0))


class Overwriting(Chain):
    def set(self, latents, values, hold=()):
        made = super().set(latents, values, hold)
        latents.values[:] += 1e-9
        return replace(made, values=made.values.copy())


class Ignoring(Chain):
    def set(self, latents, values, hold=()):
        known = {attribute.name for attribute in self.attributes}
        return super().set(latents, {name: value for name, value in values.items() if name in known}, hold)


class Clipping(Chain):
    def set(self, latents, values, hold=()):
        bounds = {attribute.name: attribute.bounds for attribute in self.attributes}
        clipped = {name: np.clip(value, *bounds.get(name, (0, 1))) for name, value in values.items()}
        return super().set(latents, clipped, hold)


BROKEN_CONTROLS = [
    (object, "identity: expected a Controls with attributes, read, set, got no attributes, read, set"),
    (Featureless, "attributes: expected a tuple of one or more Attribute, got ()"),
    (TwiceNamed, "attributes: expected each name once, got cause, cause"),
    (ReadAsMapping, "read: expected an Arrow table of 4 rows, got dict of 3"),
    (ReadWithout, "read: expected a float64 column hat, got cause double, effect double"),
    (ReadAsFloat32, "read: expected a float64 column cause, got cause float"),
    (BeyondRange, "read: expected effect from 0 to 0.5, got"),
    (Halfway, "set: expected cause = 0, got"),
    (NewSubjects, "set: expected Latents of the same subjects after cause was set, got other subjects"),
    (OneValue, "set (one value per row): expected cause = 0, got 1 (row 1)"),
    (Deaf, "hold (cause set): expected effect = "),
    (Centering, "batch invariance: expected the same latents after cause = 0 alone and in a batch, got other latents"),
    (Overwriting, "frozen input: expected set to leave the latents as they are, got changed latents"),
    (Ignoring, "unknown attribute: expected UnknownName, got no error"),
    (Clipping, "out of range: expected BadInput, got no error"),
]


def chain_latents():
    return Latents(np.arange(4), np.random.default_rng(0).standard_normal((4, 3)))


def test_good_controls_pass():
    check_controls(Chain(), chain_latents())


@pytest.mark.parametrize(("kind", "message"), BROKEN_CONTROLS, ids=lambda value: getattr(value, "__name__", ""))
def test_controls_that_break_one_clause(kind, message):
    with pytest.raises(ContractBroken) as broken:
        check_controls(kind(), chain_latents())
    assert str(broken.value).startswith(message)


def test_controls_that_are_not_exact_need_a_tolerance():
    class Learned(Chain):
        def read(self, latents):
            table = super().read(latents)
            nearly = table["cause"].to_numpy() * 0.98 + 0.01
            return table.set_column(0, "cause", [nearly])

    with pytest.raises(ContractBroken, match=r"set: expected cause = 0, got 0.01"):
        check_controls(Learned(), chain_latents())
    check_controls(Learned(), chain_latents(), tolerance=0.02)


def test_face_world_keeps_both_contracts():
    world = FaceWorld(image_size=32)
    check_generator(world)
    check_controls(world, world.sample([0, 1, 2]))


# Raters


class Panel:
    """Keeps the contract: two raters, the second of whom skips the first image."""

    name = "panel"

    def rate(self, images, question):
        n = len(images)
        value = np.tile(np.arange(n) % max(len(question.levels), 1), 2).astype(float)
        value[n] = np.nan
        return Annotations(question, np.tile(np.arange(n), 2), ("a",) * n + ("b",) * n, value)


def altered(**changes):
    class Altered(Panel):
        def rate(self, images, question):
            answers = super().rate(images, question)
            return force(answers, **{key: change(getattr(answers, key)) for key, change in changes.items()})

    return Altered


class RatedAsArray(Panel):
    def rate(self, images, question):
        return super().rate(images, question).value


class Scribbling(Panel):
    def rate(self, images, question):
        images.pixels[:] = 0
        return super().rate(images, question)


BROKEN_RATERS = [
    (object, "identity: expected a Rater with name, rate, got no name, rate"),
    (RatedAsArray, "type: expected Annotations, got ndarray"),
    (
        altered(question=lambda _: Question("age", "How old?")),
        "question: expected answers to 'smile', got answers to 'a",
    ),
    (altered(value=lambda value: value[1:]), "columns: expected image, rater and value of one length, got 10, 10, 9"),
    (altered(image=lambda image: image + 1), "image: expected numbers of images from 0 to 4, got"),
    (altered(image=lambda image: image.astype(float)), "image: expected numbers of images from 0 to 4, got"),
    (altered(rater=lambda rater: ("",) * len(rater)), "raters: expected a name for each row, got"),
    (
        altered(image=lambda image: image.clip(1)),
        "completeness: expected a row for each image (NaN for no answer), got",
    ),
    (altered(value=lambda value: value + 0.5), "values: expected levels from 0 to 2, or NaN, got 0.5"),
    (Scribbling, "frozen input: expected pixels as they were, got changed pixels"),
]


def test_a_good_rater_passes():
    check_rater(Panel())
    check_rater(Panel(), question=Question("age", "How old is the person?"))


@pytest.mark.parametrize(("kind", "message"), BROKEN_RATERS)
def test_a_rater_that_breaks_one_clause(kind, message):
    with pytest.raises(ContractBroken) as broken:
        check_rater(kind())
    assert str(broken.value).startswith(message)


def test_numbers_must_be_finite():
    with pytest.raises(ContractBroken, match="values: expected finite numbers, or NaN, got inf"):
        check_rater(altered(value=lambda value: value + np.inf)(), question=Question("age", "How old?"))


def test_a_broken_contract_is_an_assertion():
    assert issubclass(ContractBroken, AssertionError)
    assert not issubclass(ContractBroken, BadInput)
