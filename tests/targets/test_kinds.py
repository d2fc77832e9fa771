"""The kinds of target: what each declares, and what follows from it."""

import dataclasses
import re
import subprocess
import sys
import typing
from pathlib import Path

import cv2.data
import pytest

from tools import target_kinds
from transect.errors import BadInput
from transect.runs import trust
from transect.targets import available, kinds, resolve
from transect.targets.kinds import Kind

EACH = pytest.mark.parametrize("kind", kinds.kinds(), ids=lambda kind: kind.module)


@EACH
def test_a_kind_is_read_without_import_as_it_declares_itself(kind):
    assert kind == dataclasses.replace(kind.opened().KIND, module=kind.module)


def test_every_module_that_declares_a_kind_is_among_the_kinds():
    folder = Path(kinds.__file__).parent
    texts = {path: path.read_text() for path in folder.rglob("*.py")}
    declared = {
        ".".join(path.relative_to(folder).with_suffix("").parts)
        for path, text in texts.items()
        if "KIND: Final" in text
    }
    assert declared - {"kinds"} == set(kinds.MODULES)


@EACH
def test_each_kind_states_trust_and_is_listed_under_its_prefix(kind):
    assert kind.trust in typing.get_args(kinds.Trust)
    assert kind.listed
    assert kind.prefix or kind.named
    assert all(spec.startswith(kind.prefix) for spec, _, _ in kind.listed)
    assert {spec for spec, _, _ in kind.listed} <= {info.name for info in available()}
    assert bool(kind.needs) == bool(kind.extra)


@EACH
def test_each_spec_that_is_listed_is_of_its_kind(kind):
    for spec, _, _ in kind.listed:
        assert kinds.kind_of(spec)[0] == kind


@EACH
def test_each_option_of_a_kind_is_declared_with_its_help(kind):
    module = kind.opened()
    hints = typing.get_type_hints(module.Options, include_extras=True)
    assert all(typing.get_origin(hints[name]) is typing.Annotated for name in kind.options)
    assert callable(module.load)


@EACH
def test_the_reference_holds_each_spec_and_option(kind):
    page = target_kinds.PAGE.read_text()
    assert all(f"| `{spec}` | {task} |" in page for spec, task, _ in kind.listed)
    assert all(f"| `{name}` |" in page for name in kind.options)


@EACH
def test_in_a_rerun_only_what_ships_is_opened_without_the_readers_word(kind):
    with trust.only([]):
        for spec, _, _ in kind.listed:
            if kind.trust == "shipped":
                kinds.may_open(spec)
            else:
                with pytest.raises(BadInput, match="only the record names"):
                    kinds.may_open(spec)


@EACH
def test_each_kind_has_tests(kind):
    tests = "".join(path.read_text() for path in Path(__file__).parent.rglob("*.py") if path != Path(__file__))
    spec = f"{kind.prefix}:" if kind.prefix and ":" not in kind.prefix else kind.prefix or kind.named[0].strip("*")
    assert spec in tests or f"targets.{kind.module} " in tests


RUNS_CODE = re.compile(
    r"\b(import_object|InferenceSession|interpreter|jit\.load|pickle\.loads?|joblib\.load)\(|(?<![.\w])(exec|eval)\("
)


@EACH
def test_a_kind_that_runs_the_code_of_others_says_so(kind):
    """Then it gets a process of its own. A new way to run such code is a new name in the pattern."""
    assert kind.trust == "code" or not RUNS_CODE.search(Path(kind.opened().__file__).read_text())


def test_a_file_may_be_trusted_with_and_without_its_prefix():
    with trust.only(["net.onnx"]):
        kinds.may_open("net.onnx")
        kinds.may_open("onnx:net.onnx")
        with pytest.raises(BadInput):
            kinds.may_open("torch:net.onnx")


@pytest.mark.parametrize("missing", ["listed", "trust"])
def test_a_kind_cannot_be_declared_without_trust_or_line(missing):
    with pytest.raises(TypeError, match=missing):
        Kind(**{name: () for name in ("listed", "trust") if name != missing})


def test_every_cascade_of_the_wheel_is_listed_and_resolves():
    names = {info.name for info in available() if info.extra == "opencv"}
    shipped = {f"opencv:{path.stem}" for path in Path(cv2.data.haarcascades).glob("*.xml")}
    assert names == shipped
    assert all(info.installed for info in available() if info.extra != "timm")  # needs a torchvision of its PyTorch
    for name in sorted(names)[:3]:
        assert resolve(name).name == name


def test_listing_imports_nothing_heavy():
    code = (
        "import sys\nfrom transect.targets import available\nassert len(available()) > 20\n"
        "print(sorted({'numpy', 'torch', 'cv2', 'dlib', 'onnxruntime', 'jaxtyping', 'PIL'} & sys.modules.keys()))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
