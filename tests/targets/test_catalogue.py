"""The table of targets, and what it costs."""

import subprocess
import sys
from pathlib import Path

import cv2.data

from transect.targets import available, resolve


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
