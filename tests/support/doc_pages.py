"""What each documentation page needs to run from the top: files of the reader, small sizes, commands that are not run."""

from dataclasses import dataclass, field

import page_files as files

INSTALL = {"pip install": "installs packages"}
GPU = "needs a GPU"
HOURS = "takes hours; its options are checked against the reference"


@dataclass
class Page:
    """skip: commands that are not run, and why. made: files of the reader. small: sizes. extra: options added."""

    skip: dict = field(default_factory=dict)
    made: tuple = ()
    small: dict = field(default_factory=dict)
    extra: dict = field(default_factory=dict)


def expression():
    files.onnx_model("expression.onnx", 3)


def my_model():
    files.onnx_model("my_model.onnx")


def smile_model():
    files.onnx_model("smile.onnx")


PAGES = {
    "README.md": Page(
        {
            "make ": "test_readme_names_the_commands_that_ci_runs",
            "transect audit torch:": "run on the page audit-your-own-model.md",
            "transect audit expression.onnx": "run on the page audit-your-own-model.md",
        }
    ),
    "docs/tutorials/audit-a-detector.md": Page(INSTALL),
    "docs/reference/python.md": Page(),
    "docs/how-to/audit-your-own-model.md": Page(
        INSTALL | {"transect audit models/expression": "tests/targets/test_huggingface.py audits such a folder"},
        (files.package, expression),
    ),
    "docs/how-to/plan-and-project.md": Page(small={"--subjects": 8}),
    "docs/how-to/read-data-sets.md": Page(made=(files.celeba,)),
    "docs/how-to/invert-photographs.md": Page(
        {
            "transect invert --generator ffhq.safetensors --images faces --out runs/vgg": "VGG16's weights are a download",
            "transect audit my_model.onnx": "its directions are made on the page walk-a-latent-space.md",
            "transect directions fit mine": "needs labels of hundreds of photographs: tests/jobs/directions",
        },
        (files.stylegan2, files.faces),
        extra={
            "transect invert --generator ffhq.safetensors --images faces --out runs/inverted": "--steps 3 --fit --out runs/first",
            "transect invert --generator reference": "--steps 3",
        },
    ),
    "docs/how-to/search-for-failures.md": Page(
        extra={
            "transect search opencv:haarcascade_frontalface_default --budget 240 --size 96 --space": "--out runs/conditions"
        }
    ),
    "docs/how-to/use-a-stylegan2.md": Page(
        {"transect generators convert": "official pickles: tests/generators/stylegan2/test_checkpoint_reading.py"},
        (files.stylegan2, files.seed_labels),
    ),
    "docs/how-to/walk-a-latent-space.md": Page(
        {
            "transect directions fit smiles": "asks a model about 2,000 images: tests/jobs/directions",
            "transect audit my_model.onnx --task binary --generator ffhq.safetensors --directions faces.safetensors "
            "--vary smile --check": "four models of the reader's: tests/experiment/test_edits.py",
            "transect directions fit local": "minutes: tests/jobs/directions/test_directions_command.py",
            "transect directions show local": "its file is not made here",
            "transect audit my_model.onnx --task binary --directions local": "its file is not made here",
        },
        (files.stylegan2, my_model, files.seed_labels),
        extra={
            "transect directions fit d.safetensors": "--subjects 200",
            "transect audit my_model.onnx --task binary --directions d": "--size 48",
        },
    ),
    "docs/how-to/walk-and-rate.md": Page(
        {
            "transect report runs/smile --prune": "its ratings are not in seen.csv: tests/ratings/test_prune_rules.py",
        },
        (my_model, files.rated_images),
        small={"--subjects": 4},
        extra={"transect audit": "--size 48"},
    ),
    "docs/how-to/write-a-target.md": Page(),
    "docs/how-to/write-a-population.md": Page(),
    "docs/how-to/train-a-classifier.md": Page(
        {
            "transect train classifier 'celeba": GPU,
            "transect train classifier 'fairface": GPU,
        },
        small={"--count": 200},
        extra={"transect train classifier faceworld": "--size 32 --epochs 2 --arch resnet18"},
    ),
    "docs/how-to/match-photographs.md": Page(
        {"transect recognition dlib:": "dlib's weights are the reader's own; tests/jobs/recognition"},
        (files.attributes_table, smile_model),
    ),
}
