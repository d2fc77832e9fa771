"""`transect train` as a user has it: one line for what is wrong, a kill that costs nothing, files that load."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from transect.cli.app import app
from transect.errors import BadInput, RunFolderError, TransectError
from transect.generators import load
from transect.generators.encoder import Encoder
from transect.generators.faceworld.world import FaceWorld
from transect.inversion.encoder import open_encoder
from transect.inversion.protocol import invertible

TINY = ["--size", "32", "--count", "40", "--channels", "128", "--max-channels", "8", "--z-dim", "8", "--every", "16"]


def call(*arguments):
    return CliRunner().invoke(app, ["train", *map(str, arguments)], catch_exceptions=False)


@pytest.mark.integration
def test_gan_then_encoder(tmp_path):
    done = call("gan", "faceworld", "--out", tmp_path / "g", "--images", 32, "--json", *TINY)
    made = load(json.loads(done.stdout)["generator"])
    assert (made.image_size, made.latent_dim) == (32, 8)
    assert sorted(one.name for one in (tmp_path / "g" / "sheets").iterdir()) == ["000000016.png", "000000032.png"]
    path = tmp_path / "g" / "generator.safetensors"
    done = call("encoder", path, "--out", tmp_path / "e", "--space", "w", "--images", 64, "--size", 32, "--json")
    encoder = Encoder.from_file(json.loads(done.stdout)["encoder"])
    assert encoder.encode(made.render(made.sample([1]))).values.shape == (1, 8)
    # Another truncation is another generator: its encoder has a folder of its own, and says for what it was made.
    other = [f"{path}?truncation=0.5", "--space", "w", "--images", 64, "--size", 32, "--json"]
    with pytest.raises(RunFolderError, match="a training with different settings: .*generator: truncation was "):
        call("encoder", *other, "--out", tmp_path / "e")
    file = Path(json.loads(call("encoder", *other, "--out", tmp_path / "o").stdout)["encoder"])
    with pytest.raises(BadInput, match=r"with the options {}, found {\"truncation\": 0.5}; make one"):
        open_encoder(file, invertible(load(path)), "w")
    assert open_encoder(file, invertible(load(f"{path}?truncation=0.5")), "w")


def test_a_conditional_gan_is_a_world_with_one_control(tmp_path, monkeypatch):
    monkeypatch.setattr("transect.perceptual.judging.obedience.__defaults__", (40,))
    call("gan", "faceworld", "--arch", "conditional", "--condition", "glasses!=none", "--condition", "age=40",
                   "--images", 16, "--out", tmp_path, *TINY)  # fmt: skip
    made = load(tmp_path / "generator.safetensors")
    assert [(one.name, one.levels) for one in made.attributes] == [
        ("glasses", ("none", "any")),
        ("age", ("below 40", "from 40")),
    ]


def test_a_distilled_gan_has_faceworlds_latents(tmp_path):
    tiny = [*TINY, "--distil", 16, "--blend", 0, "--teacher-weight", 5]
    tiny[tiny.index("--z-dim") + 1] = str(FaceWorld().latent_dim)
    done = call("gan", "faceworld", "--out", tmp_path, "--images", 32, "--json", *tiny)
    assert load(json.loads(done.stdout)["generator"]).latent_dim == FaceWorld().latent_dim
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [("teacher_distance" in line, "critic_loss" in line) for line in lines] == [(True, False), (True, True)]
    plan = json.loads((tmp_path / "training.json").read_text())["plan"]
    assert plan["likeness"].startswith("features.safetensors ")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["gan", "faceworld", "--size", "48"], "power of two of at least 8, got 48"),
        (["gan", "faceworld", "--arch", "conditional", "--condition", "age"], "increasing cuts"),
        (["gan", "faceworld", "--grow", "4:4"], "sizes of at least 8"),
        (["gan", "faceworld", "--distil", "8", "--z-dim", "8"], "--z-dim: expected the teacher's"),
        (["encoder", "nothing.safetensors"], "no such file"),
        (["gan", "faceworld", "--count", "2", "--arch", "conditional", "--condition", "age=18.01"], "no pictures of"),
    ],
)
def test_bad_input_is_told_before_anything_is_made(tmp_path, arguments, line):
    done = CliRunner().invoke(app, ["train", *arguments, "--out", str(tmp_path / "out")])
    assert isinstance(done.exception, TransectError)
    assert done.exception.exit_code == 2
    assert line in str(done.exception)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_two_processes_share_one_training(tmp_path):
    """Hugging Face Accelerate starts them; one folder, one line for every step, one answer, and a resume."""
    launch = "-m accelerate.commands.launch --cpu --num_processes 2 --num_machines 1 --mixed_precision no"
    command = [
        sys.executable,
        *launch.split(),
        *["--dynamo_backend", "no", "-m", "transect", "train", "gan", "faceworld"],
    ]
    for images in ("32", "64"):
        arguments = ["--out", str(tmp_path), "--images", images, "--json", *TINY]
        done = subprocess.run([*command, *arguments], check=True, capture_output=True, text=True, timeout=300)
        assert json.loads(done.stdout)["generator"] == str(tmp_path / "generator.safetensors")
    lines = [json.loads(line)["step"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert lines == [1, 2, 3, 4]
    assert load(tmp_path / "generator.safetensors").image_size == 32


@pytest.mark.slow
def test_kill_minus_nine_costs_nothing(tmp_path):
    """Killed by the system in the middle, then called again: the same files as without."""
    arguments = ["gan", "faceworld", "--images", "640", *TINY]
    call(*arguments, "--out", tmp_path / "whole")
    command = [sys.executable, "-m", "transect", "train", *arguments, "--out", str(tmp_path / "again")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=dict(os.environ))
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("again/state-*/index.json")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "again" / "sheets" / "000000640.png").exists(), "it was over before it was killed"
    subprocess.run(command, check=True, capture_output=True)
    files = [
        {p.relative_to(f): p.read_bytes() for p in f.rglob("*") if p.is_file()}
        for f in (tmp_path / "whole", tmp_path / "again")
    ]
    assert files[0] == files[1]
