"""Generators by name: what there is, what is refused, and that nothing heavy is imported to say so."""

from __future__ import annotations

import subprocess
import sys

import pytest

from transect import generators
from transect.errors import BadInput, UnknownName
from transect.protocols import Controls, Generator


def test_load_gives_a_generator_and_its_controls():
    world = generators.load("faceworld", image_size=48, population="celebrity-like")
    assert isinstance(world, Generator)
    assert isinstance(world, Controls)
    assert isinstance(world, generators.FaceWorld)
    assert (world.name, world.image_size) == ("faceworld", 48)
    assert world.describe()["population"] == "celebrity-like"


def test_unknown_generator_offers_the_nearest():
    with pytest.raises(
        UnknownName, match="unknown generator 'faceword': did you mean faceworld or faceworld-latent\\?"
    ):
        generators.load("faceword")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("weights/ffhq.pkl", "first: transect train convert weights/ffhq.pkl ffhq.safetensors"),
        ("g.PT", "expected a safetensors file, got .PT"),
        ("g.safetensors", "no such file"),
    ],
)
def test_checkpoints_are_converted_first(name, message):
    with pytest.raises(BadInput, match=message):
        generators.load(name)


@pytest.mark.parametrize("name", ["reference", "g.safetensors"])
def test_devices_that_are_not_there_are_one_line(name):
    with pytest.raises(BadInput, match=r"device: expected cpu.*, got 'cuda:99'"):
        generators.load(name, device="cuda:99")


def test_a_device_is_of_networks_alone():
    with pytest.raises(
        BadInput, match="`device` does not apply to FaceWorld, which computes on the processor, got cuda"
    ):
        generators.load("faceworld", device="cuda")


def test_listing_generators_and_every_help_text_import_no_slow_library():
    """Each of them takes a second or more; the command line imports what a command needs when it runs."""
    code = (
        "import sys; from transect import generators; generators.available(); import transect.cli.app;"
        "from transect.generators.faceworld.attributes import ATTRIBUTES;"
        "sys.exit(', '.join({'torch', 'scipy', 'matplotlib', 'sklearn', 'PIL'} & set(sys.modules)) or 0)"
    )
    process = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (process.returncode, process.stderr) == (0, "")
