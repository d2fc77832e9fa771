"""Finished runs that many tests read: each is made once per test session, by the first test of any worker that asks for it.

    def test_something(canonical):
        run = canonical("two_targets")       # the run's folder, which belongs to all tests: read it
        mine = copied(run, tmp_path)         # a folder of your own, to write to

A test that needs other settings plants them itself. Models, worlds and settings are fixed, so that a run is the same in
every session. `MAKERS` lists the runs; each maker's docstring says what is in it.
"""

import json
import os
import shutil
from dataclasses import fields
from pathlib import Path
from unittest import mock

import audited
import auditing
import numpy as np
import photograph_folders
from asked_questions import ROLE_OF_THREE, SMILE, SMILE_THRICE, TRUST
from commands import run_here
from filelock import FileLock
from PIL import Image

import transect
from transect.analysis.audit_result import AuditNumbers, AuditResult
from transect.records import Effect

EXPERIMENT = {"vary": {"skin_tone": (1, 10), "glasses": (0, 1)}, "image_size": 32, "control": False}
SUBJECTS = 40
"""Subjects of the experiments on skin tone and glasses."""


def blind(pixels):
    """Yes to one picture in ten, by a hash of its pixels: nothing that is set matters."""
    return (np.mod(pixels.reshape(len(pixels), -1).astype(np.int64).sum(axis=1) * 0.7548776662, 1.0) < 0.1) * 0.9


def bright(pixels):
    """Yes where the middle of the picture is bright: no on dark skin."""
    middle = pixels[:, 12:20, 12:20].mean(axis=(1, 2, 3)) / 255
    return np.where(middle > 0.55, 0.9, 0.1)


def always(pixels):
    """Yes to every picture."""
    return np.full(len(pixels), 0.9)


def thumbnail(pixels):
    """The picture in 8 x 8, as a vector."""
    n, h, w, _ = pixels.shape
    return pixels.reshape(n, 8, h // 8, 8, w // 8, 3).mean(axis=(2, 4)).reshape(n, -1) / 255 - 0.5


class Canonical:
    """The folders of the canonical runs by name, under a folder that all workers of a test session share."""

    def __init__(self, base: Path):
        self.base = base
        base.mkdir(parents=True, exist_ok=True)

    def __call__(self, name: str) -> Path:
        """The folder of a run; it is made where no test of this session has asked for it yet."""
        folder, done = self.base / name / name, self.base / name / "done"
        with FileLock(self.base / f"{name}.lock"):
            if not done.exists():
                shutil.rmtree(folder.parent, ignore_errors=True)  # of a worker that was stopped
                folder.parent.mkdir()
                with mock.patch("transect.targets.resolution.ISOLATE", False):
                    MAKERS[name](folder, self)
                done.touch()
        return folder


def shared_base(factory) -> Path:
    """The folder that the workers of a session share; alone, a session has its own."""
    own = factory.getbasetemp()
    return (own.parent if os.environ.get("PYTEST_XDIST_WORKER") else own) / "canonical"


def copied(run: Path, tmp_path: Path) -> Path:
    """A copy of a canonical run, to write to; what lies beside the run (files of ratings, photographs) is copied too."""
    shutil.copytree(run.parent, tmp_path / "canonical", dirs_exist_ok=True)
    return tmp_path / "canonical" / run.name


def audit_result(run: Path) -> AuditResult:
    """The result of a finished audit, as `transect.audit` returned it."""
    results = json.loads((run / "results.json").read_text())
    floats = {each.name for each in fields(Effect) if "float" in str(each.type)}
    effects = []
    for row in results["effects"]:
        named = {"origin" if name == "from" else name: value for name, value in row.items() if name != "study"}
        effects.append(Effect(**{k: float("nan") if v is None and k in floats else v for k, v in named.items()}))
    return AuditResult(AuditNumbers(tuple(effects)), run, results)


def small(out, _):
    """A score of six subjects with and without glasses: the smallest run with a report. Target audited:brightness."""
    auditing.audit("audited:brightness", vary=["glasses=0,1"], subjects=6, image_size=32, control=False, out=out)


def face_shapes(out, _):
    """A score of eight subjects at two face shapes (0, 1), for questions to raters. Target audited:brightness."""
    auditing.audit("audited:brightness", vary=["face_shape=0,1"], subjects=8, image_size=32, control=False, out=out)


def rated(out, _):
    """A score of six subjects at five smiles; three raters (../answers.csv) answer 0, 0.5 or 1; a rule leaves fakes out."""
    from rating_files import csv

    from transect.analysis import finished_run
    from transect.ratings import rating_tables as ratings

    auditing.audit("audited:brightness", vary=["smile=0:1:5"], subjects=6, image_size=32, control=False, out=out)
    made = finished_run.read(out)
    smiles = zip(made.images["id"].to_pylist(), made.true["smile"], strict=True)
    seen = [(i, r, min(max(round(2 * s + (r == "c") * 0.4) / 2, 0), 1)) for i, s in smiles for r in "abc"]
    columns = dict(zip(("id", "rater", "smile"), map(list, zip(*seen, strict=True)), strict=True))
    answers = csv(out.parent / "answers.csv", **columns, fakeness=[float(k < 15) for k in range(len(seen))])
    ratings.attach(out, None, ["fakeness>=0.75"], answers)


def two_targets(out, _):
    """`blind`, on which nothing has an effect, and `bright`, which misses dark skin; truth face; a negative control."""
    settings = EXPERIMENT | {"control": True, "truth": "face", "outcomes": ["answer", "miss", "score"]}
    auditing.audit([blind, bright], **settings, subjects=SUBJECTS, out=out)


def detectors(out, _):
    """Two stock face detectors, OpenCV's and dlib's, on eight rendered subjects of 64 pixels; truth face."""
    settings = EXPERIMENT | {"image_size": 64, "truth": "face", "outcomes": ["miss", "score"]}
    names = ["opencv:haarcascade_frontalface_default", "dlib:hog-face"]
    auditing.audit(names, **settings, subjects=8, out=out)


def one_target(out, _):
    """`bright` alone, which misses dark skin; truth face, misses."""
    auditing.audit([bright], **EXPERIMENT, truth="face", outcomes=["miss"], subjects=SUBJECTS, out=out)


def never_wrong(out, _):
    """`always` on the images of `one_target`: it misses nothing."""
    auditing.audit([always], **EXPERIMENT, truth="face", outcomes=["miss"], subjects=SUBJECTS, out=out)


def celebrities(out, _):
    """`bright` in another world: other subjects, of the population celebrity-like."""
    settings = EXPERIMENT | {"truth": "face", "outcomes": ["miss"], "population": "celebrity-like", "seed": 1}
    auditing.audit([bright], **settings, subjects=SUBJECTS, out=out)


def compared(out, canonical):
    """The report of `transect compare` on one_target and never_wrong."""
    transect.compare([canonical("one_target"), canonical("never_wrong")]).report(out)


def replicated(out, canonical):
    """The report of `transect replicate` on one_target and celebrities."""
    transect.replicate([canonical("one_target"), canonical("celebrities")]).report(out)


def observed(out, _):
    """Forty faces as they come, compared by yaw and glasses, beside an experiment of six subjects; truth glasses."""
    settings = {"observe": 40, "truth": "glasses", "image_size": 32, "control": False, "subjects": 6, "threshold": 0.4}
    varied = ["glasses=0,1", "skin_tone=1:10:2"]
    auditing.audit(audited.brightness, vary=varied, compare=["yaw", "glasses"], **settings, out=out)


PHOTOGRAPHED = [3, 1, 2, 4, 1, 5, 2, 2, 1, 3, 2, 4]
"""How many photographs there are of each person of `photographs`."""


def photographs(out, _):
    """Pictures of twelve people (in ../faces) at three exposures, with and without a board; truth smile, binary."""
    folder = photograph_folders.people(out.parent / "faces", PHOTOGRAPHED, 40)
    auditing.audit(
        audited.brightness, vary=["exposure=-2,0,2", "board=none,top"], subjects=30, truth="smile", task="binary",
        generator=f"photographs:folder:{folder}", out=out,
    )  # fmt: skip


def embedding(out, _):
    """Verification by `thumbnail`: twelve subjects at two tones, with and without glasses; a negative control."""
    asked = {"task": "embedding", "false_match_rate": 0.05, "within": ["skin_tone"]}
    varied = ["skin_tone=2,9", "glasses=none,thick frame"]
    auditing.audit(thumbnail, vary=varied, subjects=12, image_size=32, **asked, out=out)


QUESTIONS = (
    f'title = "First look"\n{SMILE_THRICE}\n{ROLE_OF_THREE}\n'
    + """[[question]]
name = "age"
kind = "number"
prompt = "Give one number: the age in years, {low} to {high}."
low = 0
high = 120
unit = "years"

[[question]]
name = "alt"
kind = "text"
prompt = "Describe this picture."

[[question.code]]
name = "hat"
labels = ["hat"]
"""
)
SAID = {"refuses": (0.05, 0.45), "yes": (0.3, 0.7), "prefers": (0.9, 0.4), "first": 0.3, "numbers": (40, 30)}
"""What the speaker of `words` does on bright and on dark pictures."""


def words(out, _):
    """A speaker with planted habits (`SAID`) on sixty subjects of TonedWorld; its questions are in ../mine.toml."""
    from stub_speaker import StubSpeaker
    from toned_world import TonedWorld

    questions = out.parent / "mine.toml"
    questions.write_text(QUESTIONS)
    speaker = StubSpeaker(name="biased", scores_options=True, odd="you see", odd_yes=0.3, **SAID)
    settings = {"vary": ["tone", "hat"], "subjects": 60, "control": False, "generator": TonedWorld()}
    auditing.audit(speaker, **settings, questions=str(questions), out=out)


PAIR_QUESTIONS = SMILE + TRUST + 'paraphrases = ["Who seems more honest? Say {options}."]\nneither = true\n'


def pairs(out, _):
    """Two images at once: a speaker prefers the darker of two in 80 % of pairs and likes 20 % equally."""
    from pair_speaker import PairSpeaker
    from toned_world import TonedWorld

    questions = out.parent / "mine.toml"
    questions.write_text(PAIR_QUESTIONS)
    settings = {"vary": ["tone", "hat"], "subjects": 60, "control": False, "generator": TonedWorld()}
    speaker = PairSpeaker(darker=0.8, ties=0.2)
    auditing.audit(speaker, **settings, outcomes=["answer"], questions=str(questions), out=out)


def searched(out, _):
    """`transect search` for panes on which `panes.Counting` fails: dark and large ones."""
    from panes import Counting, Panes

    transect.search(Counting(), truth="face", budget=240, generator=Panes(), out=out)


def matched(out, _):
    """`transect match` of 200 rows of two groups on two covariates; its pairs are out/pairs.parquet."""
    rng = np.random.default_rng(0)
    young = (rng.random(200) < 0.5).astype(float)
    treated = (rng.random(200) < 0.25 + 0.5 * young).astype(int)
    table = {"male": treated, "young": young, "smile": rng.random(200), "miss": (rng.random(200) < 0.3).astype(float)}
    transect.match(table, "male", outcomes=["miss"], covariates=["young", "smile"]).report(out)


def leaked(out, _):
    """`transect leakage` of 400 rows in whose categories a protected attribute is planted."""
    from leaky_data import planted

    from transect.attacks.cases import LeakageOptions

    data = planted(n=400)
    table = {
        "id": list(data.ids),
        "verb": data.labels.category,
        "gender": np.where(data.protected == 1, "woman", "man"),
        "split": data.split.tolist(),
    }
    options = LeakageOptions(permutations=5, alphas=(2,))
    transect.leakage(table, "gender", "verb", split="split", attacker="logistic", options=options, quiet=True).report(
        out
    )


def whole(out, _):
    """Everything at once, as a user types it: experiment, walk, observation of photographs, ratings, rules, shares.

    Beside it: faces (twenty flat photographs of ten people), seen.csv (what people saw), clinic.csv (shares). The target is
    audited:brightness with a threshold of 0.4; truth earrings.
    """
    faces = flat_photographs(out.parent / "faces")
    command(
        "audit", "audited:brightness", "--threshold", 0.4, "--truth", "earrings", "--size", 32, "--subjects", 12,
        "--vary", "earrings", "--vary", "skin_tone=1:10:3", "--steps", "skin_tone=-1,0,1",
        "--dataset", f"folder:{faces}", "--no-control", "--interpolate", 6, "--boundary", 0.3, 0.6, "--out", out,
    )  # fmt: skip
    lines = ["id,study,skin_tone,fakeness,earrings"]
    for k, row in enumerate(_images(out, "experiment")):
        lines.append(f"{row['id']},experiment,{row['intended.skin_tone'] + 0.1:.2f},{0.9 if k == 0 else 0.1},")
    # of the walk people say that earrings come on at its last step; nobody was asked anything else
    for row in _images(out, "steps-skin_tone"):
        lines.append(f"{row['id']},steps-skin_tone,,,{0.9 if row['cell'] == 2 else 0.2}")
    (out.parent / "seen.csv").write_text("\n".join([*lines, "99-0000,experiment,1,0.1,"]))
    (out.parent / "clinic.csv").write_text("earrings,skin_tone,share\noff,1,.5\non,10,.5\n")
    command("report", out, "--perceived", out.parent / "seen.csv")
    command("report", out / "studies" / "experiment", "--prune", "fakeness>=0.75")
    command("report", out, "--shares", out.parent / "clinic.csv")


def flat_photographs(folder):
    """Twenty flat pictures of ten people; darker skin on the brighter ones; one is nobody's age."""
    folder.mkdir()
    lines = ["file,subject,earrings,skin_tone,age"]
    for k in range(20):
        Image.fromarray(np.full((40, 40, 3), 60 + 9 * k, np.uint8)).save(folder / f"{k}.png")
        lines.append(f"{k}.png,person {k // 2},{'on' if k % 3 else 'off'},{1 + k / 2:g},{'' if k == 7 else 20 + 3 * k}")
    (folder / "labels.csv").write_text("\n".join(lines))
    return folder


def command(*arguments):
    """What `transect` prints with --json."""
    done = run_here(*map(str, arguments), "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _images(run, study):
    import pyarrow.parquet as pq

    folder = run / "studies" / study / "images"
    return [row for part in sorted(folder.glob("*.parquet")) for row in pq.read_table(part).to_pylist()]


MAKERS = {
    maker.__name__: maker
    for maker in (
        small, face_shapes, rated, two_targets, detectors, one_target, never_wrong, celebrities, compared, replicated, observed,
        photographs, embedding, words, pairs, searched, matched, leaked, whole,
    )
}  # fmt: skip
