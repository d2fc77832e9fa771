"""Configs of a few bytes that ask for more than the weights hold: one line, before memory is taken."""

import json
import subprocess
import sys

import pytest
from tiny_open_models import vit_classifier

pytest.importorskip("transformers")

WORK = """
import resource, sys, time
from transect.errors import BadInput
from transect.targets import resolve

resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
for folder in sys.argv[2:]:
    begun = time.monotonic()
    try:
        resolve(f"hf:{folder}")
        print("opened")
    except BadInput as error:
        print(error)
    assert time.monotonic() - begun < 20
"""


@pytest.mark.integration
@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of address space")
def test_what_is_larger_than_the_weights_is_refused_within_four_gibibytes(tmp_path):
    changes = {
        "layers": ("config.json", {"num_hidden_layers": 10**7}),
        "more_layers": ("config.json", {"num_hidden_layers": 1050}),
        "wide": ("config.json", {"intermediate_size": 10**9}),
        "image": ("config.json", {"image_size": 10**6}),
        "size": ("preprocessor_config.json", {"size": {"height": 10**6, "width": 10**6}}),
        "edge": ("preprocessor_config.json", {"size": {"shortest_edge": 10**5}}),
        "as_saved": ("config.json", {}),
    }
    for name, (file, settings) in changes.items():
        path = vit_classifier(tmp_path / name, ["a", "b"]) / file
        path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))
    command = [sys.executable, "-c", WORK, str(4 << 30), *(str(tmp_path / name) for name in changes)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = dict(zip(changes, done.stdout.splitlines(), strict=True))
    fit, pictures = "config.json does not fit the weights", "expected pictures of at most 178,956,970 pixels"
    expected = {"layers": fit, "more_layers": fit, "wide": fit, "image": fit, "size": pictures, "edge": pictures}
    assert {name: expected.get(name, "opened") in line for name, line in lines.items()} == dict.fromkeys(
        changes, True
    ), lines
