"""Generators: z ► image, and how an attribute is set. `load` opens one by its name and imports nothing heavy before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import parse_qsl

from transect.errors import BadInput, UnknownName
from transect.runs.trust import check_trusted

if TYPE_CHECKING:
    from transect.generators.faceworld.world import FaceWorld
    from transect.generators.stylegan2.generator import Options
    from transect.protocols import Generator

__all__ = ["FaceWorld", "available", "load"]

_AVAILABLE = {
    "faceworld": "rendered faces with exact controls: a structural causal model, nothing to download",
    "faceworld-latent": "the same faces, used like a learned generator: latents z, set along fitted directions",
    "reference": "a small StyleGAN2 trained on those faces, set along directions that ship with it",
    "diffusers:file.toml": "a diffusion pipeline, prompted, or editing or painting photographs, as the TOML file says",
    "photographs:reader:path": "your photographs with camera, covers and appearance set; see: transect list datasets",
}
_DIFFUSERS = "diffusers:"
_PHOTOGRAPHS = "photographs:"
_OPTIONS = ("label", "truncation", "noise")
"""Options of a StyleGAN2 after its file, as in file.safetensors?label=3&truncation=0.7."""
_CHECKPOINTS = (".safetensors", ".pt", ".pth", ".pkl")


def available() -> dict[str, str]:
    """The generators that `load` knows: name -> meaning in one line.

    >>> list(available())
    ['faceworld', 'faceworld-latent', 'reference', 'diffusers:file.toml', 'photographs:reader:path']
    """
    return dict(_AVAILABLE)


def load(
    name_or_path: str | Path,
    *,
    image_size: int | None = None,
    population: str | Path = "balanced",
    device: str = "cpu",
) -> Generator:
    """The generator of that name, of a network's safetensors file, diffusers:FILE.toml, or photographs:READER:PATH.

    image_size: pixels (FaceWorld: 128 by default; a network has its own; photographs are resized). population: for
    FaceWorld, a built-in name or the path of a TOML file. device: where a network computes: cpu, cuda, cuda:1, …
    A StyleGAN2's file and the reference take options: file.safetensors?label=3&truncation=0.7&noise=none, the class
    of a conditional network, from 1 (all its variety) down to 0 (its average), and const, none or seed. Raises
    UnknownName (generator, population, option) and BadInput (another file, another size than the network's, device,
    population's file, value of an option).

    >>> load("faceworld", image_size=64).image_size
    64
    """
    name = str(name_or_path)
    check_trusted(name)
    if name.startswith(_DIFFUSERS):
        from transect.generators.diffusion.generator import DiffusionGenerator

        return DiffusionGenerator(name.removeprefix(_DIFFUSERS), image_size=image_size, device=device)
    if name.startswith(_PHOTOGRAPHS):
        _check_unset("photographs", population=(population, "balanced"), device=(device, "cpu"))
        return _photographs(name.removeprefix(_PHOTOGRAPHS), image_size)
    path, options = _file_of(name)
    if path.suffix.lower() in _CHECKPOINTS:
        return _of_size(_network(path, device, options), image_size, str(path))
    if str(path) == "reference":
        from transect.generators.reference import reference

        _check_device(device)
        return _of_size(reference(device, **options), image_size, name)
    if name not in _AVAILABLE:
        raise UnknownName("generator", name, _AVAILABLE)
    from transect.generators.faceworld.world import FaceWorld, LatentWorld

    _check_unset("FaceWorld, which computes on the processor", device=(device, "cpu"))
    world = FaceWorld(image_size=128 if image_size is None else image_size, population=population)
    return world if name == "faceworld" else LatentWorld(world)


def _check_unset(world: str, **options: tuple[object, str]) -> None:
    """Refuses options that the world does not have, by name: what was given, and the default."""
    for option, (given, default) in options.items():
        if str(given) != default:
            raise BadInput(f"`{option}` does not apply to {world}, got {given}; leave it out")


def _photographs(source: str, image_size: int | None) -> Generator:
    from transect.datasets import OPTIONS
    from transect.generators.photographs.attributes import LIMITS
    from transect.generators.photographs.world import Photographs

    reader, colon, place = source.partition(":")
    if not (reader and colon and place):
        lacks = "path" if colon else "reader"
        raise BadInput(
            f"photographs:{source}: expected photographs:READER:PATH, got no {lacks}; give both, as in"
            " photographs:folder:faces"
        )
    known = (*OPTIONS, "marks", "experimental", *(limit.option for limit in LIMITS.values()))
    _, mark, query = source.rpartition("?")
    for name in (part.partition("=")[0] for part in query.split("&") if "=" in part):
        if mark and name not in known and not Path(place).exists():  # a folder may be called so
            raise UnknownName("option of photographs", name, known)
    source, marks = _option_of(source, "marks", "a finder's name")
    source, tried = _option_of(source, "experimental", "yes")
    if tried not in ("", "yes"):
        raise BadInput(f"experimental: expected yes, got {tried!r}; leave it out where it is not wanted")
    steps = {}
    for limit in LIMITS.values():
        source, given = _option_of(source, limit.option, limit.wanted)
        try:
            steps[limit.option] = float(given or limit.usual)
        except ValueError:
            text = f"{limit.option}: expected {limit.wanted}, got {given!r}; for example {limit.usual:g}"
            raise BadInput(text) from None
    return Photographs(
        source,
        image_size=image_size,
        marks=marks or "network",
        tone_steps=steps["tone_steps"],
        hair_steps=steps["hair_steps"],
        experimental=bool(tried),
    )


def _option_of(source: str, name: str, wanted: str) -> tuple[str, str]:
    """The data set without an option of photographs, as in folder:faces?marks=dlib:FILE, and it; "" where not given."""
    path, mark, query = source.rpartition("?")
    options = query.split("&") if mark else []
    named = [option.removeprefix(f"{name}=") for option in options if option.startswith(f"{name}=")]
    if not named or Path(source.partition(":")[2]).exists():  # a folder may be called so
        return source, ""
    if len(named) > 1 or not named[0]:
        raise BadInput(f"{source}: expected {name} once, with {wanted}, got {query!r}")
    others = "&".join(option for option in options if not option.startswith(f"{name}="))
    return (f"{path}?{others}" if others else path), named[0]


def _file_of(name: str) -> tuple[Path, Options]:
    """The path or `reference`, and the options after the name's question mark."""
    path, mark, query = name.rpartition("?")
    if not mark or (path != "reference" and Path(path).suffix.lower() not in _CHECKPOINTS):
        return Path(name), {}
    options: dict[str, object] = {}
    for option, value in parse_qsl(query, keep_blank_values=True):
        if option not in _OPTIONS:
            raise UnknownName("option of a StyleGAN2", option, _OPTIONS, "as in file.safetensors?label=3")
        if option in options:
            raise BadInput(f"{option} is given twice, the second time as {value!r}; leave one out")
        options[option] = _READ.get(option, str)(value)
    return Path(path), cast("Options", options)


def _label(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise BadInput(f"label: expected a class number of at least 0, got {text!r}")
    return int(text)


def _truncation(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise BadInput(f"truncation: expected a number from 0 to 1, got {text!r}")
    return value


_READ = {"label": _label, "truncation": _truncation}


def _of_size(network: Generator, image_size: int | None, name: str) -> Generator:
    if image_size not in (None, network.image_size):
        raise BadInput(
            f"image_size: {name} makes images of {network.image_size} pixels, got {image_size}; leave it out"
        )
    return network


def _check_device(name: object) -> None:
    """Raises BadInput unless it is the CPU or a GPU that PyTorch can use."""
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    names = ["cpu", *(["cuda"] if count else []), *(f"cuda:{number}" for number in range(count))]
    if name not in names:
        advice = "change it" if count else "PyTorch sees no CUDA GPU here: use cpu, or install PyTorch with CUDA"
        raise BadInput(f"device: expected {' or '.join(names)}, got {name!r}; {advice}")


def _network(path: Path, device: str, options: Options) -> Generator:
    from transect.runs import model_files

    if path.suffix.lower() != ".safetensors":
        raise BadInput(
            f"{path}: expected a safetensors file, got {path.suffix}; first: transect train convert {path}"
            f" {path.with_suffix('.safetensors').name}"
        )
    _check_device(device)
    if model_files.metadata_of(path).get("architecture") == "progressive":
        if options:
            names = ", ".join(options)
            raise BadInput(f"{path}: a progressive GAN takes no options, got {names}; leave them out")
        from transect.generators.progressive.generator import Progressive

        return Progressive.from_file(path, device=device)
    from transect.generators.stylegan2.generator import StyleGAN2

    return StyleGAN2.from_file(path, device=device, **options)


def __getattr__(name: str) -> object:
    if name != "FaceWorld":
        raise AttributeError(f"module 'transect.generators' has no attribute {name!r}")
    from transect.generators.faceworld.world import FaceWorld

    return FaceWorld
