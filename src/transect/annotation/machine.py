"""Machines as raters, the built-in attribute network and CLIP asked in words, and the table of what they say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float
from scipy.special import softmax

from transect.annotation.questions import RaterQuestion, load
from transect.annotation.sources import Pictures, home_of, is_texts, source_of
from transect.errors import BadInput, UnknownName
from transect.records import Annotations, Images, Question
from transect.runs.folder import write_atomically, write_table
from transect.runs.human_answers import with_questions
from transect.runs.model_files import sha256
from transect.runs.pictures import pixels_of_png
from transect.runs.table_inputs import csv_of
from transect.targets.hf.loading import Options, open_folder
from transect.targets.hf.opening import open_text_images

CLIP: Final = (
    "Radford et al. 2021, Learning transferable visual models from natural language supervision, arXiv:2103.00020"
)


@final
class AttributeRater:
    """Answers by the built-in network, trained on FaceWorld alone: the level whose value is nearest to its reading."""

    name = "machine-attributes"

    def __init__(self, questions: Sequence[RaterQuestion], device: str = "cpu") -> None:
        from transect.perceptual.features import WEIGHTS

        self._asked, self._device = {each.name: each for each in questions}, device
        self.facts = {"rater": self.name, "weights": WEIGHTS.name, "weights_sha256": sha256(WEIGHTS)}

    def rate(self, images: Images, question: Question) -> Annotations:
        """The level of each image. Raises BadInput for a question about no attribute that the network reads."""
        from transect.perceptual.features import read

        if question.name not in self._asked:
            raise UnknownName("question", question.name, self._asked)
        rated = self._asked[question.name]
        readings = read(images.pixels, device=self._device)
        if rated.attribute not in readings or rated.levels[0].value is None:
            raise BadInput(
                f"question {question.name}: expected levels of an attribute that the network reads, got "
                f"{rated.attribute or 'none'}; use clip:FOLDER"
            )
        apart = np.abs(readings[rated.attribute][:, None] - np.asarray(rated.values))
        return _annotations(self.name, question, apart.argmin(axis=1))


@final
class ClipRater:
    """Answers by CLIP: the level whose words lie nearest to the image (zero-shot, Radford et al. 2021).

    folder: a CLIP as `save_pretrained` writes it, with its tokenizer; safetensors alone, no network, no code of its
    own.
    """

    def __init__(
        self, folder: Path, device: str = "cpu", template: str = "a photo of a face, {question} {level}"
    ) -> None:
        self._model = open_text_images(f"hf:{folder}", Options(device=device))
        self.name, self._template = f"machine-clip-{folder.name}", template
        files = open_folder(str(folder)).digests()
        weights = {"weights_sha256": files.get("model.safetensors"), "files": files}
        self.facts: dict[str, object] = {"rater": self.name, **weights, "template": template}

    def shares(self, images: Images, question: Question) -> Float[np.ndarray, "n levels"]:
        """How probable each level is by the model's own scale; rows add up to 1."""
        if not question.levels:
            raise BadInput(f"question {question.name}: no levels to choose from; ask with levels")
        texts = [self._template.format(question=question.text, level=level) for level in question.levels]
        return np.asarray(softmax(self._model.logits(images.pixels, texts), axis=1))

    def rate(self, images: Images, question: Question) -> Annotations:
        """The most probable level of each image. Raises BadInput for a question without levels."""
        return _annotations(self.name, question, self.shares(images, question).argmax(axis=1))


def open_rater(text: str, questions: Sequence[RaterQuestion], device: str = "cpu") -> AttributeRater | ClipRater:
    """The machine that a text names: attributes, or clip:FOLDER. Raises UnknownName for another."""
    kind, _, folder = text.partition(":")
    if kind == "clip" and folder:
        return ClipRater(Path(folder), device)
    if text == "attributes":
        return AttributeRater(questions, device)
    raise UnknownName("rater", text, ("attributes", "clip:FOLDER"))


def _annotations(name: str, question: Question, levels: np.ndarray) -> Annotations:
    n = len(levels)
    return Annotations(question, np.arange(n), (name,) * n, levels.astype(np.float64))


MACHINE: Final = b"transect.machine"
"""Metadata of the table: which machine answered, and its weights."""
_PICTURES_AT_ONCE: Final = 64


def write(
    place: str | Path, rater: str, questions: tuple[str, ...], out: Path | None = None, device: str = "cpu"
) -> dict[str, Any]:
    """Ask a machine about every image and write id, study where there are several, and a column per question.

    Values are in the units of each question's attribute, as `--perceived` takes them. Questions that it cannot answer
    are left out and named.
    """
    path = out or home_of(place) / "machine.parquet"
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise BadInput(f"--out {path}: expected a name that ends in .csv or .parquet")
    if is_texts(place):
        raise BadInput(f"{place}: expected images, got texts, which a judge model codes; see --judge of transect audit")
    asked_questions, pictures = load(questions).question, Pictures(source_of(place))
    machine = open_rater(rater, asked_questions, device)
    answers: dict[str, list[np.ndarray]] = {}
    left_out = {question.name: "about pairs" for question in asked_questions if question.pairs}
    for batch in _batches(pictures):
        for question in asked_questions:
            if question.name not in left_out:
                _ask(machine, question, batch, answers, left_out)
    if not answers:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out.items())
        raise BadInput(f"--rater {rater}: no question that it can answer ({reasons})")
    columns: dict[str, list[str] | np.ndarray] = {"id": [picture.id for picture in pictures.all]}
    if len(pictures.sources) > 1:
        columns["study"] = [picture.study for picture in pictures.all]
    columns |= {name: np.concatenate(parts) for name, parts in answers.items()}
    table = pa.table(columns).replace_schema_metadata({MACHINE: json.dumps(machine.facts).encode()})
    answered = [question for question in asked_questions if question.name in answers]
    table = with_questions(table, {question.name: question.asked(question.values) for question in answered})
    if path.suffix.lower() == ".csv":
        write_atomically(path, csv_of(table))
    else:
        write_table(path, table)
    return {
        "out": str(path),
        "rows": len(table),
        "questions": ", ".join(answers),
        "left_out": left_out,
        **machine.facts,
    }


def _batches(pictures: Pictures) -> Iterator[Images]:
    """All images in order, up to 64 of one size together."""
    held: list[np.ndarray] = []
    for picture in pictures.all:
        pixels = pixels_of_png(pictures.png(picture.study, picture.id))
        if held and (pixels.shape != held[0].shape or len(held) == _PICTURES_AT_ONCE):
            yield Images(np.stack(held))
            held = []
        held.append(pixels)
    yield Images(np.stack(held))


def _ask(
    machine: AttributeRater | ClipRater,
    question: RaterQuestion,
    batch: Images,
    answers: dict[str, list[np.ndarray]],
    left_out: dict[str, str],
) -> None:
    try:
        ratings = machine.rate(batch, question.record)
    except BadInput as error:
        if not isinstance(machine, AttributeRater) or question.name in answers:
            raise
        left_out[question.name] = str(error)
        return
    answers.setdefault(question.name, []).append(np.asarray(question.values)[ratings.value.astype(int)])
