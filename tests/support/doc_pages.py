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
    "docs/how-to/audit-your-own-model.md": Page(
        INSTALL | {"transect audit models/expression": "tests/targets/test_huggingface.py audits such a folder"},
        (files.package, expression),
    ),
    "docs/how-to/plan-and-project.md": Page(small={"--subjects": 8}),
    "docs/how-to/read-data-sets.md": Page(made=(files.celeba,)),
    "docs/how-to/match-photographs.md": Page(
        {"transect recognition dlib:": "dlib's weights are the reader's own; tests/jobs/recognition"},
        (files.attributes_table, smile_model),
    ),
}
