"""The images to invert; and inverted photographs as a generator's subjects, on their own backgrounds if one asks.

An edit in the latent space moves the whole picture. With the photograph put back outside a mask of the face, bitwise,
only what is inside can have caused a change of the answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Int, UInt8
from PIL import Image

from transect.datasets import is_dataset, open_dataset
from transect.datasets.features import InvertedCodes, as_named, check_generator, read_codes
from transect.errors import BadInput
from transect.generators.faceworld.chance import check_seeds
from transect.generators.photographs.masks import Mask, Shown, composite, feathered, open_mask
from transect.protocols import Generator, HasLayers, MapsSpaces
from transect.records import SUBJECTS_PER_SEED, Images, Latents
from transect.runs import bounds
from transect.runs.capabilities import description
from transect.runs.pictures import content_of, open_rgb, refused
from transect.runs.table_inputs import check_file_names
from transect.texts import words_of

if TYPE_CHECKING:
    from transect.datasets.labelled import LabelledImages


ENDINGS: Final = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff")


@final
@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands for an image that could not be read where it is stored. reason: what is said of it."""

    reason: str


@final
@dataclass(frozen=True)
class Pictures:
    """Images by id, in order. sha256: of all together; fit: cut to a square and resized; notes: what was left out."""

    ids: tuple[str, ...]
    sha256: str
    size: int
    fit: bool
    _sources: Sequence[Path | bytes | np.ndarray | Unreadable] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def open(cls, images: str | Path | np.ndarray | Images, size: int, *, fit: bool = False) -> Pictures:
        """A folder's files by name, a run's or data set's images by id, or pixels by row; none is decoded yet."""
        if is_dataset(images):
            if fit:
                raise BadInput(
                    "--fit applies to a folder of images, got a data set; write READER:PATH?crop=center instead"
                )
            return cls.of_dataset(open_dataset(str(images), image_size=size, labelled=False))
        if not isinstance(images, str | Path):
            return _of_pixels(images if isinstance(images, Images) else Images(images), size, fit)
        source = Path(images)
        if not source.is_dir():
            raise BadInput(
                f"{source}: no such folder of images or of a run; check --images, or give a data set as READER:PATH"
            )
        if (source / "run.json").exists():
            return _of_run(source, size, fit)
        files = tuple(sorted(path for path in source.iterdir() if path.suffix.lower() in ENDINGS and path.is_file()))
        if not files:
            raise BadInput(f"{source}: no images ({', '.join(ENDINGS)}); give a folder with some")
        check_file_names(files)
        ids = tuple(path.name for path in files)
        return cls(ids, digest_of(ids, map(content_of, files)), size, fit, files)

    @classmethod
    def of_dataset(cls, dataset: LabelledImages, *, whole: bool = False) -> Pictures:
        """A data set's photographs as it was opened; whole: as stored, with the crop and without margins."""
        encoded = (dataset.pictures.encoded(row) for row in range(len(dataset)))
        contents = map(content_of, encoded)
        digest = hashlib.sha256(f"{digest_of(dataset.ids, contents)} {dataset.framing()}".encode()).hexdigest()
        rows = _RowsOf(dataset, whole)
        return cls(dataset.ids, digest, dataset.image_size, dataset.fitted, rows, tuple(dataset.notes()))

    def stored(self, row: int) -> Path | bytes | np.ndarray:
        """The image of a row as it is stored: file, bytes or pixels. Raises BadInput for one not read."""
        source = self._sources[row]
        if isinstance(source, Unreadable):
            raise BadInput(source.reason)
        return source

    def carried(self, rows: Sequence[int]) -> Pictures:
        """Those rows alone, with the bytes of their files, so that any worker can open them; sha256 is that of all."""
        ids = tuple(self.ids[row] for row in rows)
        return replace(self, ids=ids, _sources=tuple(self._carried(row) for row in rows), notes=())

    def _carried(self, row: int) -> bytes | np.ndarray | Unreadable:
        """A picture that cannot be read is refused where it is opened, in its turn."""
        try:
            source = self.stored(row)
            return source if isinstance(source, np.ndarray) else content_of(source, self.ids[row])
        except BadInput as error:
            return Unreadable(str(error))
        except OSError as error:
            return Unreadable(str(refused(self.ids[row], error)))

    def readable(self, rows: Sequence[int]) -> tuple[UInt8[np.ndarray, "m h w 3"], tuple[str, ...]]:
        """The images of those rows, black where one cannot be read, and why. Raises BadInput for another size."""
        images, reasons = [], []
        for row in rows:
            try:
                image = self._open_image(row)
            except BadInput as error:
                images.append(np.zeros((self.size, self.size, 3), np.uint8))
                reasons.append(str(error))
            else:
                images.append(self._fitted(image, row))
                reasons.append("")
        return np.stack(images), tuple(reasons)

    def pixels(self, rows: Sequence[int]) -> UInt8[np.ndarray, "m h w 3"]:
        """The images of those rows. Raises BadInput, naming it, for a broken one or one of another size."""
        images = [self._fitted(self._open_image(row), row) for row in rows]
        return np.stack(images) if images else np.zeros((0, self.size, self.size, 3), np.uint8)

    def stored_size(self, row: int) -> tuple[int, int]:
        """Width and height of the image of a row as it is stored; of a data set as it is fitted."""
        return self._open_image(row).size

    def framed(self, whole: UInt8[np.ndarray, "a b 3"], row: int) -> UInt8[np.ndarray, "h w 3"]:
        """A picture of the stored size of that row's, cut and resized as the row's is."""
        return self._fitted(Image.fromarray(whole), row)

    def _fitted(self, image: Image.Image, row: int) -> UInt8[np.ndarray, "h w 3"]:
        if image.size == (self.size, self.size):
            return np.asarray(image)
        if not self.fit:
            dimensions = f"{image.width} x {image.height}"
            raise BadInput(
                f"{self.ids[row]}: expected {self.size} x {self.size} pixels for this generator, got {dimensions};"
                " add --fit to cut the middle square and resize it"
            )
        # Cut before resizing: a filter on the whole image would mix in pixels that are cut off.
        side = min(image.size)
        left, top = (image.width - side) // 2, (image.height - side) // 2
        square = image.crop((left, top, left + side, top + side))
        return np.asarray(square.resize((self.size, self.size), Image.Resampling.LANCZOS))

    def _open_image(self, row: int) -> Image.Image:
        source = self.stored(row)
        if isinstance(source, np.ndarray):
            return Image.fromarray(source)
        return open_rgb(source, self.ids[row])


@final
@dataclass(frozen=True)
class _RowsOf(Sequence[np.ndarray]):
    """The photographs of a data set, each decoded when it is asked for; whole: with the crop, and not resized."""

    dataset: LabelledImages
    whole: bool

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, row: Any) -> Any:
        if not self.whole:
            return self.dataset.pixels([row])[0]
        pictures, crop = self.dataset.pictures, self.dataset.crop
        picture = open_rgb(pictures.encoded(row), pictures.name(row))
        return np.asarray(picture if crop is None else picture.crop(crop.box(*picture.size)))


def digest_of(ids: Iterable[str], contents: Iterable[bytes]) -> str:
    """SHA-256 of images by their ids and contents together, as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    for name, content in zip(ids, contents, strict=True):
        digest.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
    return digest.hexdigest()


def _of_pixels(images: Images, size: int, fit: bool) -> Pictures:
    if not len(images.pixels):
        raise BadInput("images: none given; give at least one")
    ids = tuple(str(row) for row in range(len(images.pixels)))
    digest = digest_of(ids, (image.tobytes() for image in images.pixels))
    return Pictures(ids, digest, size, fit, tuple(images.pixels))


def _of_run(folder: Path, size: int, fit: bool) -> Pictures:
    parts = sorted((folder / "images").glob("part-*.parquet"))
    try:
        tables = [bounds.read_parquet(part, columns=["id", "image"]) for part in parts]
        if any(not pa.types.is_binary(table["image"].type) or table["image"].null_count for table in tables):
            raise KeyError("image")
    except (OSError, pa.ArrowException, KeyError) as error:
        raise BadInput(f"{folder}: expected images of a run (id, image), got: {words_of(error)}") from None
    ids = [str(name) for table in tables for name in table["id"].to_pylist()]
    encoded = [bytes(content) for table in tables for content in table["image"].to_pylist()]
    if not ids:
        raise BadInput(f"{folder}: the run has no images; run its command first")
    return Pictures(tuple(ids), digest_of(ids, encoded), size, fit, tuple(encoded))


@final
@dataclass(frozen=True)
class Backgrounds:
    """The photographs of subjects, in their order. rows: of `pictures`, one of each subject."""

    pictures: Pictures
    rows: tuple[int, ...]
    mask: Mask

    @classmethod
    def open(cls, photographs: str | Path, mask: str, ids: Sequence[str], size: int) -> Backgrounds:
        """The photographs of those ids in a folder or data set, framed as `transect invert` frames them.

        mask: as `open_mask` reads it, its paths relative to the current folder. Raises BadInput where a photograph is
        not there, or the mask has no pixel on one.
        """
        of_data = is_dataset(photographs)
        labelled = open_dataset(str(photographs), image_size=size, labelled=False) if of_data else None
        pictures = Pictures.open(photographs, size, fit=labelled is None)
        named, _ = as_named(list(ids), list(pictures.ids))
        places = {name: row for row, name in enumerate(pictures.ids)}
        if missing := [name for name in named if name not in places]:
            more = f" or {len(missing) - 1} others" if missing[1:] else ""
            raise BadInput(
                f"--photographs {photographs}: expected the {len(ids)} photographs that were inverted, found "
                f"none named {missing[0]}{more}; give their folder or data set"
            )
        region = open_mask(mask, Path(), labelled, [str(name) for name in named])
        opened = cls(pictures, tuple(places[str(name)] for name in named), region)
        opened.check()
        return opened

    def check(self) -> None:
        """Raises BadInput for a photograph on which the mask has no pixel: nothing could be edited there."""
        for subject, row in enumerate(self.rows):
            if not self.inside(subject).any():
                raise BadInput(
                    f"--mask covers no pixel of {self.pictures.ids[row]}; change the mask, or leave the "
                    "photograph out of the inversion"
                )

    def photograph(self, subject: int) -> UInt8[np.ndarray, "s s 3"]:
        """The photograph of a subject, as it was inverted."""
        return np.asarray(self.pictures.pixels([self.rows[subject]])[0])

    def inside(self, subject: int) -> Bool[np.ndarray, "s s"]:
        """The pixels that the generator may draw."""
        return self.mask.of(self._shown(subject))

    def put_back(self, drawn: UInt8[np.ndarray, "s s 3"], subject: int) -> UInt8[np.ndarray, "s s 3"]:
        """What the generator draws inside the mask, and bitwise the photograph outside."""
        shown = self._shown(subject)
        return composite(shown.picture, drawn, feathered(self.mask.of(shown), self.mask.feather))

    def describe(self) -> dict[str, object]:
        """The photographs' SHA-256 and the mask, without a path."""
        return {"pictures_sha256": self.pictures.sha256, "mask": self.mask.describe()}

    def _shown(self, subject: int) -> Shown:
        row, pictures = self.rows[subject], self.pictures
        width, height = pictures.stored_size(row)

        def frame(whole: UInt8[np.ndarray, "a b 3"]) -> UInt8[np.ndarray, "h w 3"]:
            return pictures.framed(whole, row)

        return Shown(pictures.ids[row], row, width, height, self.photograph(subject), frame)


PHOTOGRAPHS: Final = "photographs"
"""Key of a run's spec for the origin of its subjects."""
BACKGROUND: Final = "background"
"""Key below it for photographs that are put back outside a mask."""
_NO_PHOTOGRAPH: Final = SUBJECTS_PER_SEED >> 1


@final
class InvertedPhotographs:
    """A generator whose subject i is the i-th photograph whose inversion did not fail, as its code has it.

    The run's seed plays no part: there are no others to draw. What an image of a subject shows is the reconstruction,
    not the photograph; with `backgrounds` the reconstruction stands inside a mask, and all else is the photograph's,
    bitwise. Raises BadInput for codes of another generator, or none that are finite.
    """

    def __init__(self, generator: Generator, inverted: InvertedCodes, path: Path) -> None:
        check_generator(inverted, description(generator), path)
        finite = np.isfinite(inverted.codes).all(axis=1)
        if not finite.any():
            raise BadInput(f"{path}: expected inverted photographs, got {len(finite)} that failed; invert them again")
        self.generator, self.found, self.path = generator, inverted, path
        self.ids = tuple(name for name, is_finite in zip(inverted.ids, finite, strict=True) if is_finite)
        self.left_out = tuple(name for name, is_finite in zip(inverted.ids, finite, strict=True) if not is_finite)
        self._codes = inverted.codes[finite]
        self.name, self.image_size, self.latent_dim = generator.name, generator.image_size, self._codes.shape[1]
        self.layers = generator.layers if isinstance(generator, HasLayers) else None
        self.backgrounds: Backgrounds | None = None

    @classmethod
    def open(
        cls, generator: Generator, path: str | Path, photographs: str | Path | None = None, mask: str | None = None
    ) -> InvertedPhotographs:
        """The photographs of a file of `transect invert`. photographs, mask: see `Backgrounds.open`."""
        if (photographs is None) != (mask is None):
            given = "--mask alone" if photographs is None else "--photographs alone"
            raise BadInput(f"expected --photographs and --mask, which keep a photograph's background, got {given}; give"
                           " both or neither")  # fmt: skip
        opened = cls(generator, read_codes(Path(path)), Path(path))
        if photographs is not None and mask is not None:
            opened.backgrounds = Backgrounds.open(photographs, mask, opened.ids, opened.image_size)
        return opened

    @property
    def subjects(self) -> int:
        """Number of photographs."""
        return len(self.ids)

    def check_subjects(self, wanted: int) -> None:
        """Raises BadInput for more subjects than photographs."""
        if wanted > self.subjects:
            lost = f" ({len(self.left_out):,} more failed)" if self.left_out else ""
            raise BadInput(
                f"--latents {self.path}: expected at most {self.subjects:,} subjects, the number of inverted "
                f"photographs{lost}, got {wanted:,}; give --subjects {self.subjects}"
            )

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """The codes of those subjects. Raises BadInput beyond the last photograph."""
        numbers = check_seeds(seeds)
        rows = numbers % SUBJECTS_PER_SEED
        self.check_subjects(int(rows.max(initial=0)) + 1)
        return Latents(numbers, self._codes[rows], self.found.space)

    def sample_unedited(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """Subjects that are not photographs: the generator's own draws, by which limits of edits are set."""
        drawn = self.generator.sample(seeds)
        if self.backgrounds is None:
            return drawn
        # A seed whose place is that of no photograph: these have no background of their own.
        return replace(drawn, seeds=drawn.seeds | _NO_PHOTOGRAPH)

    def to_space(self, latents: Latents, space: str) -> Latents:
        """As the generator maps z; w cannot be mapped back. Raises BadInput where there is none."""
        if latents.space == "z" and isinstance(self.generator, MapsSpaces):
            return self.generator.to_space(latents, space)
        raise BadInput(
            f"--latents {self.path}: expected codes of space {space}, as the directions are, got {latents.space};"
            f" invert with --space {space}, or fit directions in {'w' if latents.space == 'w+' else latents.space}"
        )

    def render(self, latents: Latents) -> Images:
        """The generator's images, with backgrounds inside the masks of the photographs alone."""
        drawn = self.generator.render(latents)
        if self.backgrounds is None:
            return drawn
        pixels = drawn.pixels.copy()
        for row, subject in enumerate((latents.seeds % SUBJECTS_PER_SEED).tolist()):
            if subject < self.subjects:
                pixels[row] = self.backgrounds.put_back(pixels[row], subject)
        return Images(pixels)

    def edit_masks(self, latents: Latents) -> Bool[np.ndarray, "n s s"]:
        """The pixels of each row that are the generator's; outside, the image is bitwise the photograph."""
        masks = np.ones((len(latents), self.image_size, self.image_size), dtype=np.bool_)
        for row, subject in enumerate((latents.seeds % SUBJECTS_PER_SEED).tolist()):
            if self.backgrounds is not None and subject < self.subjects:
                masks[row] = self.backgrounds.inside(subject)
        return masks

    def describe(self) -> dict[str, object]:
        """The generator's description, and the photographs'."""
        facts: dict[str, object] = {"sha256": self.found.sha256, "space": self.found.space, "count": self.subjects}
        facts["failed"] = len(self.left_out)
        facts |= {} if self.backgrounds is None else {BACKGROUND: self.backgrounds.describe()}
        return {**description(self.generator), PHOTOGRAPHS: facts}
