"""Diffusion pipelines as generators, on tiny random ones that the test makes: prompts, edits, refusals, no code run."""

import json
import pickle
import shutil

import auditing
import numpy as np
import pytest
import small_pipelines
from PIL import Image

from transect import generators
from transect.errors import BadInput
from transect.generators.diffusion.settings import read_settings
from transect.records import SUBJECTS_PER_SEED
from transect.testing import check_controls, check_generator

TEXT = """
pipeline = "text"
prompt = "a photo of a {age} person {glasses}"
steps = 2
[attributes.age]
levels = { young = "young", old = "old" }
[attributes.glasses]
levels = { no = "without glasses", yes = "with glasses" }
"""
EDIT = """
pipeline = "text"
mode = "edit"
source = "folder:faces"
steps = 4
image_size = 16
[attributes.glasses]
prompt = "a photo of a person with glasses"
strongest = 1.0
[attributes.age]
prompt = "a photo of a old person"
strongest = 1.0
"""
INSTRUCT = """
pipeline = "instruct"
mode = "instruct"
source = "folder:faces"
steps = 2
image_size = 16
[attributes.smile]
prompt = "make the person smiling"
strongest = 1.0
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with two pipelines, three pictures of noise, and a TOML file for each mode."""
    pytest.importorskip("diffusers", reason="the extra `diffusers` is not installed")
    pytest.importorskip("transformers", reason="the extra `diffusers` is not installed")
    folder = tmp_path_factory.mktemp("diffusion")
    small_pipelines.save_text(folder / "text")
    small_pipelines.save_instruct(folder / "instruct")
    (folder / "faces").mkdir()
    for row in range(3):
        noise = np.random.default_rng(row).integers(0, 256, (16, 16, 3), dtype=np.uint8)
        Image.fromarray(noise).save(folder / "faces" / f"{row}.png")
    for name, text in (("text", TEXT), ("edit", EDIT), ("instruct", INSTRUCT)):
        (folder / f"{name}.toml").write_text(text)
    return folder


def world(place, name="text"):
    return generators.load(f"diffusers:{place / name}.toml")


@pytest.mark.integration
def test_prompted_images_are_a_generator_and_controls(place):
    generator = world(place)
    assert (generator.name, generator.image_size, generator.latent_dim) == ("diffusers:text", 16, 2)
    check_generator(generator)
    check_controls(generator, generator.sample(range(4)))


@pytest.mark.integration
def test_one_seed_one_subject_and_prompt_pairs_differ_in_their_words_alone(place):
    generator = world(place)
    subject = generator.sample([5])
    young, old = (generator.set(subject, {"age": level, "glasses": 1.0}) for level in (0.0, 1.0))
    seen = []
    run = generator._pipeline.__call__

    def spy(self, **arguments):
        seen.append((arguments["prompt"], arguments["generator"].initial_seed()))
        return run(**arguments)

    kind = type(generator._pipeline)
    generator._pipeline.__class__ = type(kind.__name__, (kind,), {"__call__": spy})
    first, second = generator.render(young).pixels, generator.render(old).pixels
    generator._pipeline.__class__ = kind
    assert [prompt for prompt, _ in seen] == ["a photo of a young person with glasses", "a photo of a old person with glasses"]  # fmt: skip
    assert seen[0][1] == seen[1][1]  # the same noise
    assert not np.array_equal(first, second)
    assert np.array_equal(generator.render(young).pixels, first)


def test_an_edit_starts_from_the_photograph_and_level_nought_leaves_it(place):
    generator = world(place, "edit")
    subjects = generator.sample([SUBJECTS_PER_SEED + 2, SUBJECTS_PER_SEED])
    assert generator.read(subjects).to_pydict() == {"glasses": [0.0, 0.0], "age": [0.0, 0.0]}
    as_they_are = generator.render(subjects).pixels
    for row, number in enumerate((2, 0)):
        assert np.array_equal(as_they_are[row], np.asarray(Image.open(place / "faces" / f"{number}.png")))
    check_controls(generator, generator.sample(range(3)))
    edited = [generator.render(generator.set(subjects, {"glasses": level})).pixels for level in (0.25, 1.0, 1.0)]
    assert np.array_equal(edited[1], edited[2])
    assert not np.array_equal(edited[0], edited[1])
    assert not np.array_equal(edited[0], as_they_are)
    both = generator.render(generator.set(subjects, {"glasses": 1.0, "age": 1.0})).pixels
    assert not np.array_equal(both, edited[1])
    with pytest.raises(BadInput, match="expected 0 or at least 0.25, one of the steps, got 0.1"):
        generator.set(subjects, {"glasses": 0.1})
    with pytest.raises(BadInput, match="expected at most 3 subjects"):
        generator.sample([3])


def test_an_instruction_edits_by_guidance(place):
    generator = world(place, "instruct")
    check_generator(generator, seeds=[0, 1, 2])
    subjects = generator.sample([0])
    weak, strong = (generator.render(generator.set(subjects, {"smile": level})).pixels for level in (0.2, 1.0))
    assert not np.array_equal(weak, strong)


@pytest.mark.integration
@pytest.mark.parametrize("name", ["text", "edit"])
def test_an_audit_of_a_diffusion_generator(place, tmp_path, name):
    def brightness(pixels):
        return pixels.mean(axis=(1, 2, 3)) / 255

    result = auditing.audit(
        brightness, vary=["glasses"], subjects=3, generator=f"diffusers:{place / name}.toml", out=tmp_path / "run", quiet=True
    )  # fmt: skip
    assert {effect.attribute for effect in result.effects} >= {"glasses"}
    spec = json.loads((tmp_path / "run" / "run.json").read_text())
    described = spec.get("spec", spec)["generator"]
    assert len(described["pipeline_sha256"]) == 64
    assert str(place) not in (tmp_path / "run" / "run.json").read_text()


class Hostile:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return (open, (str(self.marker), "w"))


def copied(place, tmp_path):
    shutil.copytree(place / "text", tmp_path / "text")
    (tmp_path / "text.toml").write_text(TEXT)
    return tmp_path


@pytest.mark.parametrize("suffix", [".bin", ".pkl"])
def test_pickled_weights_are_refused_and_never_opened(place, tmp_path, suffix):
    folder, marker = copied(place, tmp_path), tmp_path / "ran"
    bad = folder / "text" / "unet" / f"diffusion_pytorch_model{suffix}"
    bad.write_bytes(pickle.dumps(Hostile(marker)))
    world(folder)  # next to safetensors it is ignored
    (folder / "text" / "unet" / "diffusion_pytorch_model.safetensors").unlink()
    with pytest.raises(BadInput, match=f"expected safetensors, found {suffix}; save with safe_serialization=True"):
        world(folder)
    decoy = folder / "text" / "unet" / "other.safetensors"
    decoy.write_bytes(b"")
    with pytest.raises(BadInput, match="cannot be opened for mode text"):
        world(folder)
    assert not marker.exists()


def test_pickled_words_of_a_text_encoder_are_never_opened_either(place, tmp_path):
    folder, marker = copied(place, tmp_path), tmp_path / "ran"
    encoder = folder / "text" / "text_encoder"
    (encoder / "model.safetensors").rename(encoder / "decoy.safetensors")
    (encoder / "pytorch_model.bin").write_bytes(pickle.dumps(Hostile(marker)))
    with pytest.raises(BadInput, match="cannot be opened for mode text"):
        world(folder)
    assert not marker.exists()


def test_programs_and_foreign_components_are_refused(place, tmp_path):
    folder = copied(place, tmp_path)
    index = json.loads((folder / "text" / "model_index.json").read_text())

    def with_index(**changed):
        (folder / "text" / "model_index.json").write_text(json.dumps({**index, **changed}))

    (folder / "text" / "unet" / "mine.py").write_text("raise SystemExit")
    with pytest.raises(BadInput, match="found a program; pipelines with code are not run"):
        world(folder)
    (folder / "text" / "unet" / "mine.py").unlink()
    with_index(unet=["mine", "Net"])
    with pytest.raises(BadInput, match="unet is from 'mine': expected only diffusers or transformers"):
        world(folder)
    with_index(_class_name=["pipeline", "Mine"])
    with pytest.raises(BadInput, match="expected a pipeline's name"):
        world(folder)
    with_index()
    config = folder / "text" / "text_encoder" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "auto_map": {"AutoModel": "mine.Net"}}))
    with pytest.raises(BadInput, match="custom code in auto_map"):
        world(folder)


def test_a_prompt_whose_end_would_be_cut_off_is_refused(place, tmp_path):
    folder = copied(place, tmp_path)
    (folder / "text.toml").write_text(TEXT.replace("a photo of", "a photo of " * 5))
    # 5 x 3 words, a, young, person, without, glasses, and the marks at both ends: 22 tokens, the encoder takes 16
    with pytest.raises(BadInput, match="prompt of 22 tokens: expected at most 16, the rest is cut off"):
        world(folder)


def test_sizes_that_do_not_fit(place):
    with pytest.raises(BadInput, match="images of 16 pixels, got 32"):
        generators.load(f"diffusers:{place / 'edit'}.toml", image_size=32)
    with pytest.raises(BadInput, match="expected a multiple of 2 pixels for this pipeline, got 17"):
        generators.load(f"diffusers:{place / 'text'}.toml", image_size=17)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (("{glasses}", ""), r"prompt: no slot \{glasses\} for \[attributes.glasses\]; add it"),
        (("{age}", "{age} {age.__class__}"), r"expected slots \{age\}, \{glasses\}, got \{age.__class__\}"),
        (('{ young = "young", old = "old" }', '{ young = "young" }'), "attributes.age: expected two levels or more"),
        (('old = "old"', 'old = "young"'), "attributes.age: expected different words for each level"),
        (("steps = 2", 'source = "folder:faces"'), "source: mode text"),
        (("steps = 2", 'mode = "edit"'), "source: no READER:PATH of the photographs to edit"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_fit_is_one_line(tmp_path, changed, message):
    path = tmp_path / "world.toml"
    path.write_text(TEXT.replace(*changed))
    with pytest.raises(BadInput, match=message):
        read_settings(path)
