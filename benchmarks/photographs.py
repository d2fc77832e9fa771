"""How many photographs per second is each edit worth, and how fast is the same effect written plainly?

    python benchmarks/photographs.py [--images 64] [--size 256] [--threads 2] [--quick]

Each edit of `--generator photographs:…` on pictures in memory, against a plain OpenCV and NumPy loop that makes the
same effect: values are decoded by a table, blurs, turns and balances are OpenCV's, and linear light is encoded by the
formula of IEC 61966-2-1. Both fill the batch that a model is asked with, with the same pictures up to two of 255 values
(noise: the same variance), which is checked. Ours uses as many threads as the world does, the peer OpenCV's own. The
best of the repeats counts, in turns. Last, whole renders of a folder of PNGs, with reading and resizing.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeAlias

import cv2
import numpy as np
from _records import FASTER, QUICK, record
from PIL import Image

from transect.generators.faceworld.reflectance import decode_srgb
from transect.generators.photographs import camera
from transect.generators.photographs.attributes import Edits
from transect.generators.photographs.world import Photographs

LEVELS: Final = {
    "board": 4.0, "rotation": 15.0, "scale": 1.3, "defocus": 0.03, "motion": 0.06, "exposure": 1.0,
    "noise": 3200.0, "white_balance": 4000.0, "contrast": 1.4, "resolution": 0.25, "crop": 0.8, "jpeg_quality": 40.0,
}  # fmt: skip
REPEATS: Final = 3 if QUICK else 7
REFLECT: Final = cv2.BORDER_REFLECT_101
Plain: TypeAlias = Callable[[np.ndarray], np.ndarray]
DECODING: Final = decode_srgb(np.arange(256) / 255).astype(np.float32)


def encoded(linear: np.ndarray) -> np.ndarray:
    """Linear light as sRGB, by the formula."""
    x = np.clip(linear, 0, 1)
    return np.rint(255 * np.where(x <= 0.0031308, 12.92 * x, 1.055 * x ** (1 / 2.4) - 0.055)).astype(np.uint8)


def decoded(picture: np.ndarray) -> np.ndarray:
    """Linear light of sRGB, by a table."""
    return cv2.LUT(picture, DECODING)


def of_scene(name: str, size: int) -> Plain:
    """A board."""
    left, top, right, bottom = camera.rectangle(int(LEVELS[name]), size, size)
    return lambda picture: cv2.rectangle(picture.copy(), (left, top), (right - 1, bottom - 1), (118, 118, 118), -1)


def of_frame(name: str, size: int) -> Plain:
    """A turn or a scale."""
    turned, scaled = (-LEVELS[name], 1.0) if name == "rotation" else (0.0, LEVELS[name])
    turn = cv2.getRotationMatrix2D(((size - 1) / 2, (size - 1) / 2), turned, scaled)
    return lambda picture: encoded(
        cv2.warpAffine(decoded(picture), turn, (size, size), borderValue=(DECODING[118].item(),) * 3)
    )


def of_lens(name: str, size: int) -> Plain:
    """A blur."""
    width = LEVELS[name] * size
    kernel = camera.disc(width) if name == "defocus" else camera.line(width)[None, :]
    return lambda picture: encoded(cv2.filter2D(decoded(picture), -1, kernel, borderType=REFLECT))


def of_tone(name: str, _: int) -> Plain:
    """One table of values."""
    light, level = DECODING.astype(float), LEVELS[name]
    table = encoded(light * 2**level if name == "exposure" else 0.18 * (light / 0.18) ** level)
    return lambda picture: cv2.LUT(picture, table)


def of_noise(name: str, _: int) -> Plain:
    """Shot and read noise."""
    full, rng = 15_000 * 100 / LEVELS[name], np.random.default_rng(0)

    def noisy(picture: np.ndarray) -> np.ndarray:
        linear = decoded(picture)
        deviation = np.sqrt(linear / full + (4 / full) ** 2)
        return encoded(linear + deviation * rng.standard_normal(linear.shape, dtype=np.float32))

    return noisy


def of_white(name: str, _: int) -> Plain:
    """One matrix on linear light."""
    matrix = camera.balance(LEVELS[name], 6500.0)
    return lambda picture: encoded(cv2.transform(decoded(picture), matrix))


def of_resolution(name: str, size: int) -> Plain:
    """Smaller, and as large as before."""
    small = (round(LEVELS[name] * size),) * 2
    return lambda picture: cv2.resize(cv2.resize(picture, small, interpolation=cv2.INTER_AREA), (size, size))


def of_crop(name: str, size: int) -> Plain:
    """Grey around the frame."""
    left, top, right, bottom = camera.window(LEVELS[name], size, size)

    def cropped(picture: np.ndarray) -> np.ndarray:
        framed = np.full(picture.shape, 128, dtype=np.uint8)
        framed[top:bottom, left:right] = picture[top:bottom, left:right]
        return framed

    return cropped


def of_file(name: str, _: int) -> Plain:
    """JPEG there and back."""
    quality = [cv2.IMWRITE_JPEG_QUALITY, int(LEVELS[name])]

    def compressed(picture: np.ndarray) -> np.ndarray:
        file = cv2.imencode(".jpg", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), quality)[1]
        return cv2.cvtColor(cv2.imdecode(file, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)

    return compressed


PLAIN: Final[dict[str, Callable[[str, int], Plain]]] = {
    "board": of_scene, "rotation": of_frame, "scale": of_frame, "defocus": of_lens,
    "motion": of_lens, "exposure": of_tone, "noise": of_noise, "white_balance": of_white, "contrast": of_tone,
    "resolution": of_resolution, "crop": of_crop, "jpeg_quality": of_file,
}  # fmt: skip
"""The edits as one would write them."""


def check(name: str, ours: np.ndarray, theirs: np.ndarray) -> None:
    """Both pipelines make the same effect."""
    apart = np.abs(ours.astype(int) - theirs)
    if name == "noise":
        assert abs(ours.std() - theirs.std()) < 1, (ours.std(), theirs.std())
    else:
        assert apart.max() <= 2, (name, apart.max())


def best(works: list[Callable[[], object]]) -> list[float]:
    """The best seconds of each, in turns, after one to warm up."""
    seconds = [float("inf")] * len(works)
    for repeat in range(REPEATS + 1):
        for place, work in enumerate(works):
            start = time.perf_counter()
            work()
            if repeat:
                seconds[place] = min(seconds[place], time.perf_counter() - start)
    return seconds


def compare(name: str, pictures: list[np.ndarray], pool: ThreadPoolExecutor, threads: int) -> tuple[float, float]:
    """Images per second of ours and of the plain loop."""
    edits, work = Edits(**{name: LEVELS[name]}), PLAIN[name](name, pictures[0].shape[0])
    check(name, camera.retaken(pictures[0], edits, 1), work(pictures[0]))

    shares = np.array_split(np.arange(len(pictures)), threads)
    batch = np.empty((len(pictures), *pictures[0].shape), dtype=np.uint8)

    def some(share: np.ndarray) -> None:
        for place in share.tolist():
            camera.retaken(pictures[place], edits, place, out=batch[place])

    def ours() -> None:
        list(pool.map(some, shares))

    def theirs() -> None:
        for place, picture in enumerate(pictures):
            batch[place] = work(picture)

    seconds = best([ours, theirs])
    return len(pictures) / seconds[0], len(pictures) / seconds[1]


def scenes(images: int, size: int) -> list[np.ndarray]:
    """Smooth pictures with fine texture."""
    rng = np.random.default_rng(0)
    made = []
    for _ in range(images):
        coarse = cv2.resize(
            rng.integers(20, 236, (12, 12, 3)).astype(np.uint8), (size, size), interpolation=cv2.INTER_CUBIC
        )
        fine = rng.integers(-12, 13, (size, size, 3))
        made.append(np.clip(coarse + fine, 0, 255).astype(np.uint8))
    return made


def whole(pictures: list[np.ndarray], threads: int) -> float:
    """Images per second of renders from a folder, all edits in turn."""
    with tempfile.TemporaryDirectory() as place:
        for row, picture in enumerate(pictures):
            Image.fromarray(picture).save(Path(place) / f"{row:04d}.png", compress_level=1)
        world = Photographs(f"folder:{place}", threads=threads)
        subjects = world.sample(np.arange(len(pictures))).repeat(len(LEVELS))
        cell = np.arange(len(subjects)) % len(LEVELS)
        columns = {
            name: np.where(cell == number, level, getattr(Edits(), name))
            for number, (name, level) in enumerate(LEVELS.items())
        }
        latents = world.set(subjects, columns)
        (seconds,) = best([lambda: world.render(latents)])
        return len(latents) / seconds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=8 if QUICK else 64)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="few images")
    asked = parser.parse_args()
    pictures = scenes(asked.images, asked.size)
    print(f"{asked.images} pictures of {asked.size} x {asked.size}, {asked.threads} threads, OpenCV {cv2.__version__}")
    print(f"{'edit':<15}{'images/s':>10}{'plain':>10}{'ratio':>8}")
    with ThreadPoolExecutor(asked.threads) as pool:
        for name in LEVELS:
            ours, theirs = compare(name, pictures, pool, asked.threads)
            print(f"{name:<15}{ours:>10.0f}{theirs:>10.0f}{ours / theirs:>8.2f}", flush=True)
            record(f"photographs: {name}", "a plain OpenCV loop", ours / theirs, FASTER, REPEATS)
    print(f"whole renders of a folder: {whole(pictures, asked.threads):.0f} images/s")


if __name__ == "__main__":
    main()
