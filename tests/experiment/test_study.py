"""The main job in small: an audit from design to report, its resumption, and its refusals."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import audited
import auditing
import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from places import SUPPORT

import transect
from transect.analysis.reporting import report
from transect.designs import transect_design
from transect.errors import BadInput, CorruptedPart, FolderOfAnotherSpec, RunFolderError, TooManyFailures, UnknownName
from transect.experiment import opened_targets, study
from transect.targets.guard import Limits

SMALL = {"subjects": 12, "image_size": 32, "seed": 3, "quiet": True, "control": False}
TABLES = ["images", "predictions"]


def tables(folder: Path) -> dict[str, bytes]:
    """Every table and result of a run, by path: all that must be byte-identical."""
    files = [path for table in TABLES for path in folder.rglob(f"{table}/**/*.parquet")]
    files += [folder / name for name in ("effects.parquet", "results.json", "report.html", "run.json")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(files)}


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """The folder of an audit of brightness, of which tests take a copy."""
    folder = tmp_path_factory.mktemp("reported") / "run"
    auditing.audit(audited.brightness, vary={"glasses": (0, 1)}, out=folder, **SMALL)
    return folder


@pytest.fixture
def run(reported, tmp_path):
    return shutil.copytree(reported, tmp_path / "run")


def study_of(targets: list) -> study.Study:
    """Twelve subjects with and without glasses, as a study of the targets."""
    world = transect.generators.load("faceworld", image_size=32)
    design = transect_design(["glasses=0,1"], world.attributes, subjects=12)
    return study.Study(
        "small", world, design, tuple(opened_targets.resolve_targets(targets)), limits=Limits(max_failures=1)
    )


def command(out: Path, subjects: int = 240) -> list[str]:
    base = [sys.executable, "-m", "transect", "audit", "audited:slow", "--vary", "background_lightness=0,1"]
    return [*base, "--vary", "glasses=0,1", "--subjects", str(subjects), "--size", "32", "--out", str(out), "--json"]


def start(arguments: list[str]) -> subprocess.Popen:
    """A run in a process of its own, which hears SIGINT even where this one was started in a shell's background."""
    environment = {**os.environ, "PYTHONPATH": str(SUPPORT)}
    hear = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(arguments, env=environment, preexec_fn=hear, **pipes)


def test_a_planted_effect_is_found_and_everything_is_written(tmp_path):
    """A target that scores the picture's brightness: a light background must raise it, glasses must not."""
    varied = {"background_lightness": (0, 1), "glasses": (0, 1)}
    settings = {**SMALL, "control": True, "outcomes": ["score"]}
    result = auditing.audit(audited.brightness, vary=varied, out=tmp_path, **settings)
    effects = {effect.attribute: effect for effect in result.effects}
    # From dark to light the background gains .8 stops on about a third of the picture.
    assert effects["background_lightness"].low > 0.02
    assert abs(effects["glasses"].estimate) < 0.02
    assert effects["background_lightness"].n_subjects == 12
    assert effects["background_lightness"].n_images == 48
    images = pq.read_table(tmp_path / "images")
    assert images.num_rows == 48
    assert images["intended.background_lightness"].to_pylist() == images["true.background_lightness"].to_pylist()
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith(".")) == [
        "effects.parquet", "images", "log.jsonl", "manifest.json", "negative-control", "predictions", "report-numbers.html",
        "report.html", "results.json", "run.json", "run.lock",
    ]  # fmt: skip


def test_the_estimate_is_what_the_pictures_say(tmp_path):
    """Oracle by loops: mean over subjects of mean score at level 1 minus mean score at level 0.

    The attributes are not in the order of the alphabet: the cells must keep the order of the design.
    """
    few = {**SMALL, "subjects": 5, "outcomes": ["score"]}
    result = auditing.audit(audited.brightness, vary={"smile": (0, 1), "glasses": (0, 1)}, out=tmp_path, **few)
    world = transect.generators.load("faceworld", image_size=32)
    subjects = 3 * 2**32 + np.arange(5)
    differences = []
    for subject in subjects:
        score = {
            (g, s): audited.brightness(
                world.render(world.set(world.sample([int(subject)]), {"glasses": g, "smile": s})).pixels
            )[0]
            for g in (0, 1)
            for s in (0, 1)
        }
        differences.append(np.mean([score[1, s] - score[0, s] for s in (0, 1)]))
    glasses = next(effect for effect in result.effects if effect.attribute == "glasses")
    assert glasses.estimate == pytest.approx(np.mean(differences), abs=1e-12)


@pytest.mark.integration
def test_rates_and_truth_agree_with_the_tables(tmp_path):
    """Where the truth is what was set, the error of a cell is 1 - answer or answer, cell by cell."""
    result = auditing.audit(
        audited.brightness, vary={"smile": (0, 1), "glasses": (0, 1)}, truth="smile>0.5", outcomes=["answer", "error"],
        out=tmp_path, **SMALL,
    )  # fmt: skip
    rate = {(r["outcome"], *sorted(r["cell"].items())): r["rate"] for r in result.results["rates"] if r["order"] == 2}
    for glasses in (0.0, 1.0):
        cell = {smile: (("glasses", glasses), ("smile", smile)) for smile in (0.0, 1.0)}
        assert rate["error", *cell[0.0]] == pytest.approx(rate["answer", *cell[0.0]])
        assert rate["error", *cell[1.0]] == pytest.approx(1 - rate["answer", *cell[1.0]])
    assert len(rate) == 8


@pytest.mark.integration
def test_several_targets_share_the_images(tmp_path):
    both = [audited.brightness, "audited:raises_on_bright"]
    result = auditing.audit(both, vary={"glasses": (0, 1)}, out=tmp_path, max_failures=1, **SMALL)
    assert {effect.target for effect in result.effects} == {"brightness", "audited:raises_on_bright"}
    bright = pq.read_table(tmp_path / "predictions" / "audited-raises_on_bright").to_pydict()
    assert any(bright["failed"])
    assert set(bright["reason"]) <= {"", "raised ValueError: too bright"}
    counted = [e.excluded for e in result.effects if e.target == "audited:raises_on_bright"]
    assert all(sum(excluded.values()) > 0 for excluded in counted)


def test_too_many_failures_stop_the_run_and_keep_what_is_done(tmp_path):
    with pytest.raises(TooManyFailures, match="raises_always failed on .* no answer today"):
        auditing.audit(audited.raises_always, vary={"glasses": (0, 1)}, out=tmp_path, **SMALL)
    assert pq.read_table(tmp_path / "images").num_rows == 24


def test_the_report_is_made_again_from_the_tables(run):
    before = tables(run)
    (run / "report.html").unlink()
    report(run)
    assert tables(run) == before


def test_a_corrupted_part_is_named_and_made_anew_after_deletion(run):
    before = tables(run)
    part = run / "images" / "part-00000.parquet"
    part.write_bytes(part.read_bytes()[:-1] + b"x")
    for again in (
        lambda: report(run),
        lambda: auditing.audit(audited.brightness, vary={"glasses": (0, 1)}, out=run, **SMALL),
    ):
        with pytest.raises(CorruptedPart, match=r"part-00000\.parquet is damaged: delete that file"):
            again()
    part.unlink()
    auditing.audit(audited.brightness, vary={"glasses": (0, 1)}, out=run, **SMALL)
    assert tables(run) == before


def test_changed_code_is_another_target(tmp_path):
    """Its answers must never appear under the name of what was asked before."""
    study.run(study_of([lambda pixels: pixels.mean(axis=(1, 2, 3)) / 255]), tmp_path, quiet=True)
    with pytest.raises(FolderOfAnotherSpec, match=r"the code of <lambda> has changed: .*, or put the model back"):
        study.run(study_of([lambda pixels: pixels.max(axis=(1, 2, 3)) / 255]), tmp_path, quiet=True)


def test_a_threshold_of_zero_is_a_threshold(tmp_path):
    """Every score is at least 0, so every answer is yes: the overall rate is 1."""
    few = {**SMALL, "subjects": 3, "outcomes": ["answer"], "out": tmp_path}
    result = auditing.audit(audited.brightness, threshold=0.0, vary={"glasses": (0, 1)}, **few)
    assert next(rate["rate"] for rate in result.results["rates"] if rate["order"] == 0) == 1.0


def test_no_folder_of_this_machine_is_told(tmp_path):
    """A model file and a population somewhere in a home: only their names may be stored."""
    home = tmp_path / "home-of-ada"
    home.mkdir()
    (home / "mine.toml").write_text('name = "mine"\n')
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.script(Flat()).save(str(home / "flat.pt"))
    out = tmp_path / "run"
    auditing.audit(
        f"torch:{home / 'flat.pt'}", vary={"glasses": (0, 1)}, population=str(home / "mine.toml"), out=out, **SMALL
    )
    assert (out / "predictions" / "torch-flat.pt").is_dir()
    for path in out.rglob("*"):
        assert path.is_dir() or b"home-of-ada" not in path.read_bytes(), path


class Flat(torch.nn.Module):
    def forward(self, pixels):
        return pixels.mean(dim=[1, 2, 3])


class Bare:
    """Generator and controls with nothing beside the contract: FaceWorld without describe and validity."""

    name = "bare"

    def __init__(self):
        self._world = transect.generators.FaceWorld(image_size=32)
        self.image_size, self.latent_dim = 32, self._world.latent_dim
        self.sample, self.render, self.read, self.set = (
            self._world.sample, self._world.render, self._world.read, self._world.set,
        )  # fmt: skip
        self.attributes = self._world.attributes


@pytest.mark.integration
def test_a_generator_object_needs_no_more_than_its_contract(tmp_path):
    few = {"subjects": 3, "quiet": True, "vary": {"glasses": (0, 1)}}
    result = auditing.audit(audited.brightness, generator=Bare(), out=tmp_path / "bare", **few)
    assert result.results["world"]["statement"] == "The generator bare states no validity figures."
    world = transect.generators.FaceWorld(image_size=32, population="celebrity-like")
    result = auditing.audit(audited.brightness, generator=world, out=tmp_path / "world", **few)
    assert result.results["studies"][0]["population"] == "celebrity-like"


def test_a_changed_spec_is_refused(run):
    record = run / "run.json"
    record.write_text(record.read_text().replace('"threshold": 0.5', '"threshold": 0.1'))
    with pytest.raises(RunFolderError, match=r"run\.json was changed after it was written"):
        report(run)


def test_refusals(tmp_path):
    with pytest.raises(UnknownName, match="unknown generator 'faceword': did you mean faceworld"):
        auditing.audit(audited.brightness, generator="faceword", vary={"glasses": (0, 1)}, out=tmp_path, **SMALL)
    with pytest.raises(BadInput, match="outcome 'miss' is not offered for a binary target: .*; give `truth`"):
        auditing.audit(audited.brightness, vary={"glasses": (0, 1)}, outcomes=["miss"], out=tmp_path, **SMALL)
    with pytest.raises(BadInput, match="two targets are named 'brightness': give each a different name"):
        auditing.audit([audited.brightness, audited.brightness], vary={"glasses": (0, 1)}, out=tmp_path, **SMALL)
    with pytest.raises(BadInput, match="`hold` smile: no varied attribute changes smile; drop it"):
        auditing.audit(audited.brightness, vary={"glasses": (0, 1)}, hold=["smile"], out=tmp_path, **SMALL)
    assert not any(tmp_path.iterdir())


SMALL_PARTS = "import transect.experiment.study; transect.experiment.study.IMAGES_PER_PART = 16; from transect.cli.app import main; main()"


@pytest.mark.slow
def test_kill_nine_at_random_moments_and_resume_is_byte_identical(tmp_path):
    """Parts of 16 images; every kill lands in a run that has begun to work, one more lands while the page is made."""
    kills, parts = 10, 60

    def begin(name):
        arguments = command(tmp_path / name, 4 * parts)
        return start([sys.executable, "-c", SMALL_PARTS, *arguments[3:]])

    whole = begin("whole")
    _, errors = whole.communicate()
    assert whole.returncode == 0, errors

    draw = random.Random(20)
    events = tmp_path / "killed" / "log.jsonl"

    def finished():
        return len(list(tmp_path.glob("killed/predictions/*/*.parquet")))

    for kill in range(kills):
        run, before, more = begin("killed"), finished(), draw.randint(0, 3)
        while run.poll() is None and (count(events, "cost") <= kill or finished() < before + more):
            time.sleep(0.01)  # until this start has taken the folder, and none to three parts are done
        time.sleep(draw.uniform(0, 0.1))
        run.send_signal(signal.SIGKILL)
        run.communicate()
        assert run.returncode == -signal.SIGKILL, "the run was over before the kill: make it longer"
    assert 0 < finished() < parts, "the kills fell before or after the work"

    last = begin("killed")
    while last.poll() is None and len(list(tmp_path.glob(f"killed/predictions/*/part-{parts - 1:05}.parquet"))) == 0:
        time.sleep(0.01)
    last.send_signal(signal.SIGKILL)
    last.communicate()
    assert last.returncode == -signal.SIGKILL, "the page was there before the kill"
    end = begin("killed")
    _, errors = end.communicate()
    assert end.returncode == 0, errors
    assert tables(tmp_path / "killed") == tables(tmp_path / "whole")


def count(log: Path, event: str) -> int:
    """How often an event stands in a log whose last line may be cut."""
    return log.read_text().count(f'"event": "{event}"') if log.exists() else 0


@pytest.mark.integration
def test_interruption_says_how_to_go_on(tmp_path):
    run = start(command(tmp_path / "run"))
    while not list(tmp_path.glob("run/images/*.parquet")) and run.poll() is None:
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 130, errors
    assert errors.strip().splitlines()[-1].startswith("transect: interrupted; finished parts are kept in")
