"""Where an optional library is not installed, the message is the line that installs it."""

import sys

import pytest

from transect.errors import MissingExtra
from transect.targets import resolve


@pytest.mark.parametrize(
    ("module", "spec", "extra"),
    [
        ("cv2", "opencv:haarcascade_frontalface_default", "opencv"),
        ("dlib", "dlib:hog-face", "dlib"),
        ("onnxruntime", "onnx:model.onnx", "onnx"),
    ],
)
def test_the_message_is_the_pip_line(monkeypatch, module, spec, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra) as error:
        resolve(spec)
    assert str(error.value) == f"{spec} needs an optional part: pip install 'transect[{extra}]'"
    assert error.value.exit_code == 2
