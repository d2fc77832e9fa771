"""What a user may state about an open model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from transect.errors import BadInput, UnknownName
from transect.records import Task
from transect.targets.preprocess import Preprocess

DTYPES: Final = ("float32", "float16", "bfloat16")
PLACE: Final = "{}"
"""Where a template takes the label."""
TEMPLATE: Final = "This is a photo of {}."
"""What Transformers' own pipeline asks without a template."""


@final
@dataclass(frozen=True, slots=True)
class Options:
    """None or empty stands for what the model's files say.

    labels: names in words, which make a model of images and texts a classifier. templates: sentences with {} for the
    label; of several, the scores are averaged. device: as PyTorch names it. dtype: of weights and inputs.
    allow_download: whether a model that is not in the cache may be downloaded.

    Raises BadInput for a template without {}, templates without labels, or one thing twice; UnknownName for a dtype.
    """

    task: Task | None = None
    labels: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    positive: str | None = None
    threshold: float | None = None
    preprocess: Preprocess | None = None
    device: str = "cpu"
    dtype: str = "float32"
    allow_download: bool = False

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise UnknownName("dtype", str(self.dtype), DTYPES)
        for template in self.templates:
            if template.count(PLACE) != 1:
                raise BadInput(f"template: expected one {PLACE} for the label, got {template!r}; add it")
        if self.templates and not self.labels:
            raise BadInput("template: expected labels to put into it, got none; add --labels, or leave templates out")
        for name, values in (("labels", self.labels), ("template", self.templates)):
            twice = sorted({value for value in values if values.count(value) > 1})
            if twice or "" in values:
                raise BadInput(f"{name}: expected each once and none empty, got {(twice or [''])[0]!r}; correct them")
