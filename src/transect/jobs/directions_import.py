"""Import directions that others fitted, such as InterFaceGAN's boundaries, for audits along them.

Values are signed distances from the hyperplane. Their labels are unknown, and so is their quality.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Final, final

import numpy as np

from transect.controls.fitting import origin_of
from transect.controls.learned import FittedDirections, in_space
from transect.controls.normals import IMPORTED, chosen_normals, imported_directions, read_normals
from transect.errors import BadInput
from transect.experiment import worlds
from transect.job import Content, Job, Option, function
from transect.protocols import Generator
from transect.reports.directions import DirectionsNumbers, check_safetensors
from transect.runs import model_files
from transect.runs.table_inputs import as_names

SAMPLED: Final = 1000
"""Latents of the generator whose middle 99 % gives the range of each attribute."""


@final
@dataclass(frozen=True)
class Directions(Job[DirectionsNumbers]):
    """Directions that others fitted, from a file of normals, for audits of the generator that they belong to.

    file: .npy with one normal [d], [1, d] or several [k, d]; .npz with an array for each attribute, or coef [k, d],
    intercept [k] and name [k]; .pt with a tensor or a dictionary of tensors, of the same forms. attributes: a name for
    each normal in order, or of arrays with names those to take, as "smile" or "smile=stylegan_ffhq_smile_w". generator,
    space: whose latents they are of; the number of coordinates must fit.

    An attribute's value is the signed distance from the hyperplane, in units of the latent space, and through the
    origin where the file has no intercept; its range is the middle 99 % of 1,000 of the generator's latents. No label
    is known, so that quality is unknown. `numbers.fitted` has the directions.

    Raises BadInput for a file that holds something else, another number of coordinates or of names, or collinear
    directions; UnknownName for a name that the file does not have. Nothing that the file holds is run.

    Sources: Shen et al. 2020, arXiv:1907.10786; Balakrishnan et al. 2020, arXiv:2007.06570, §4.1.1.
    """

    OUT: ClassVar = None
    KEPT: ClassVar = False

    file: Annotated[
        str | Path,
        Option(
            "Normals: .npy, .npz or .pt with one vector or several, a row each.",
            metavar="FILE",
            argument=True,
            opens="model",
        ),
    ]
    attributes: Annotated[
        str | Sequence[str],
        Option(
            "Name of each normal, in order; of arrays with names NAME, or NAME=ITS_NAME; repeatable.",
            list[str],
            names=("--attribute",),
        ),
    ]
    _: KW_ONLY
    generator: Annotated[
        str | Path | Generator,
        Option("Whose latent space: faceworld (its latent view) or a network's FILE.safetensors.", str, opens="model"),
    ] = "faceworld"
    space: Annotated[str, Option("Latent space: the generator's own (z), or w or w+ of a StyleGAN2.")] = ""
    source: Annotated[
        str,
        Option(
            "Source of the labels behind the directions: people, or model:NAME (reports then warn).",
            names=("--labelled-by",),
        ),
    ] = ""
    out: Annotated[
        str | Path | None,
        Option("The safetensors file to write.", Path, opens="write", default=Path("directions.safetensors")),
    ] = None

    def place(self) -> None:
        """No page before one asks for it: `out` is a file."""

    def compute(self) -> DirectionsNumbers:
        """Read the normals, find their ranges, write the file."""
        check_safetensors(self.out)
        path, given = Path(self.file), self.generator
        name = str(given) if isinstance(given, Path) else given
        network = worlds.generator_of(name, None, None, None, learned=True)
        chosen = chosen_normals(read_normals(path), as_names(self.attributes), path)
        latents = in_space(network, network.sample(np.arange(SAMPLED)), self.space or network.sample([0]).space)
        rows = np.asarray(latents.values, dtype=np.float64).reshape(SAMPLED, -1)
        if rows.shape[1] != chosen.normals.shape[1]:
            raise BadInput(
                f"{path}: expected normals of {rows.shape[1]} numbers for space {latents.space} of {network.name}, got "
                f"{chosen.normals.shape[1]}; give the generator that they were made for, or --space"
            )
        labelled = self.source or IMPORTED
        facts = {"file": path.name, "file_sha256": model_files.sha256(path)}
        directions = imported_directions(chosen, rows, labelled)
        fitted = FittedDirections(directions, latents.space, origin_of(network, latents, labelled, 0, facts))
        fitted.controls()  # refuses collinear attributes
        note = f"ranges are those of {SAMPLED:,} latents of {network.name}; no label is known"
        return DirectionsNumbers.kept(fitted, (note,), self.out)

    def content(self, numbers: DirectionsNumbers) -> Content:
        """The figures of every attribute."""
        return numbers.content("Imported directions")


import_directions = function(Directions, "import_directions")
