"""Writes the folder that tests/runs/folders keeps: python tests/support/small_folders.py VERSION, after a change of the schema."""

import json
import shutil
import sys
from pathlib import Path

FOLDERS = Path(__file__).parents[1] / "runs" / "folders"
NUMBERS = "numbers.json"
COLUMNS = ("name", "outcome", "estimate", "low", "high", "p", "n_subjects")


def brightness(pixels):
    """Score: mean value of the picture, 0 to 1."""
    return pixels.mean(axis=(1, 2, 3)) / 255


def numbers_of(run):
    """What a report of the run says: a row per effect, and the share of answers with a score above a half."""
    opened = run.results
    effects = [{name: effect[name] for name in COLUMNS} for effect in opened["effects"]]
    return {"effects": effects, "images": opened["studies"][0]["images"]}


def write(version):
    """The folder of that version: four faces of 32 pixels at two levels, without the report."""
    import transect

    folder = FOLDERS / f"version-{version}"
    request = transect.AuditRequest(control=False, seed=3)
    result = transect.audit(
        brightness, request, vary=["light_level=-4,0"], subjects=4, image_size=32, out=folder, quiet=True
    )
    (folder / NUMBERS).write_text(json.dumps(numbers_of(result), indent=1) + "\n")
    kept = {"run.json", NUMBERS, "images", "predictions", ".digests"}
    for path in folder.iterdir():
        if path.name not in kept:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


if __name__ == "__main__":
    write(int(sys.argv[1]))
