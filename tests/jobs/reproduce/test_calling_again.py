"""What a command wrote is made again by the same command; what cannot be has its reason in one line."""

import json
import shutil
import typing
from pathlib import Path

import numpy as np
import pytest
from commands import refused, run_here
from PIL import Image
from published import fits

import transect
from transect.cli.declared import DeclaredCommand, declared, place_of
from transect.errors import BadInput
from transect.job import opened
from transect.jobs import reproduce as calling
from transect.options import settings
from transect.runs import command_record
from transect.runs.trust import only

ORIGINAL_CALL = calling.call
TRUSTED = {"search": "audited:brightness", "retrieve": "hf:clip"}
"""Models of a command, which open on the reader's word alone."""
GLASSES = [1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1]
AGES = [31.5, 30, 44, 45, 60, 61, 22, 23, 70, 69, 35, 38]
COMMANDS = {
    "match": ("--treatment", "glasses", "--features", "{data}/places.npy", "--table", "{data}/people.csv",
              "--out", "{out}/pairs.parquet", "--report", "{out}"),
    "leakage": ("--labels", "{data}/people.csv", "--protected", "glasses", "--label", "group", "--attacker", "bayes",
                "--permutations", "3", "--out", "{out}"),
    "match neighbours": ("--features", "{data}/places.npy", "--table", "{data}/people.csv", "--k", "2", "--report", "{out}"),
    "recognition": ("--table", "{data}/people.csv", "--identity", "who", "--group", "group", "--embeddings",
                    "{data}/places.npy", "--threshold", "1.5", "--out", "{out}"),
    "render": ("--data-set", "--subjects", "2", "--size", "32", "--vary", "smile=0,1", "--out", "{out}"),
    "search": ("audited:brightness", "--truth", "smile>0.5", "--budget", "20", "--goal", "rate", "--size", "32",
               "--vary", "smile=0:1", "--out", "{out}"),
    "match readings": ("{data}/photographs", "--out", "{out}"),
    "invert": ("--generator", "reference", "--images", "{data}/photographs", "--fit", "--steps", "2", "--distance",
               "pixels", "--out", "{out}"),
    "invert encode": ("--generator", "reference", "--images", "{data}/photographs", "--fit", "--encoder-samples", "20",
               "--distance", "pixels", "--out", "{out}"),
    "mitigate": ("{data}/mitigate.toml", "--out", "{out}"),
    "replicate": ("{data}/here", "{data}/there", "--margin", "0.5", "--out", "{out}"),
    "retrieve": ("{data}/shown", "--model", "hf:{data}/clip", "--queries", "{data}/queries.txt", "--first", "3", "--out",
                 "{out}"),
}  # fmt: skip
OFTEN = ("match", "render", "search")
"""Those that run with each change; the others are made twice in the second stage, and those that compute long at night."""
SLOW = ("invert", "invert encode", "mitigate")
MITIGATION = """
seeds = [0]
attackers = ["logistic"]
rounds = 1
data = { source = "faceworld", size = 32, train = 60, check = 40, test = 40 }
network = { widths = [4, 4] }
training = { epochs = 1, batch = 20 }
audit = { subjects = 6 }
mitigations = [{ kind = "noise", name = "noise", levels = [1.0] }]
"""


@pytest.fixture(scope="module", autouse=True)
def in_this_process():
    """Commands are called in this process, and models are not isolated: a process each takes seconds."""

    def call(words, opened, *, quiet):
        with only(opened):
            done = run_here(*words)
        assert done.returncode == 0, done.stderr

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("transect.targets.resolution.ISOLATE", False)
        patch.setattr(calling, "call", call)
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    rows = [
        f"{glasses},{age},{'ab'[age % 2 > 0.5]},p{row // 2}"
        for row, (glasses, age) in enumerate(zip(GLASSES, AGES, strict=True))
    ]
    (folder / "people.csv").write_text("\n".join(["glasses,age,group,who", *rows]) + "\n")
    places = np.array([[age, row % 3, 1.0] for row, age in enumerate(AGES)])
    np.save(folder / "places.npy", places)
    (folder / "mitigate.toml").write_text(MITIGATION)
    for world in ("here", "there"):
        pairs = {"hat": GLASSES, "age": AGES, "miss": [1.0, *GLASSES[1:]] if world == "here" else GLASSES}
        transect.match(pairs, "hat", outcomes=["miss"], covariates=["age"]).report(folder / world)
    (folder / "photographs").mkdir()
    for shade in (60, 180):
        Image.new("RGB", (64, 64), (shade, shade // 2, 90)).save(folder / "photographs" / f"{shade}.png")
    return folder


def searchable(data):
    """A run, a CLIP and queries."""
    from tiny_open_models import clip

    if not (data / "clip").exists():
        clip(data / "clip")
        (data / "queries.txt").write_text("a photo of a doctor\na photo of a nurse\n")
        vary = {"glasses": (0, 2)}
        transect.audit(brightness, vary=vary, subjects=4, image_size=32, out=data / "shown", quiet=True)


def brightness(pixels):
    return pixels.mean(axis=(1, 2, 3)) / 255


def made(job, data, out):
    if job == "retrieve":
        searchable(data)
    words = [word.format(data=data, out=out) for word in COMMANDS[job]]
    out.mkdir()
    done = run_here(*job.split(), *words)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def matched(data):
    return made("match", data, data / "matched")


def kept():
    """The jobs whose command is made again, by module."""
    return {name: kind for name in declared() if (kind := opened(name)) and kind.KEPT}


def test_every_job_declares_each_of_its_options():
    """A new option, or a new job, is refused until somebody says what it opens."""
    names = {" ".join(filter(None, place_of(name))) for name in kept()}
    assert names >= set(COMMANDS)
    for job in names:
        options_are_declared(job)


def options_are_declared(job):
    rerun = calling._declared(job, Path())
    options = set()
    for parameter in DeclaredCommand(job.replace(" ", "_")).params:
        if parameter.name in ("json", "help_all", "engine", "workers", "dry_run") or parameter.name in rerun.writes:
            continue
        is_option = parameter.param_type_name == "option"
        kind = rerun.kind(parameter.opts[0] if is_option else "")
        assert kind in (("data", "model") if _is_path(parameter) else ("value", "data", "model")), parameter.name
        options |= {parameter.opts[0].removeprefix("--")} if is_option else set()
    assert {name.removeprefix("--") for name, kind in rerun.kinds.items() if name and kind} == options


def test_every_option_of_a_job_that_is_made_again_says_what_it_opens():
    found = kept().items()
    assert len(found) > 12
    assert [(name, each.shown) for name, kind in found for each in settings(kind) if not each.opens] == []


def _is_path(parameter):
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    return Path in (annotation, *typing.get_args(annotation))


def test_jobs_without_a_declaration_are_refused(tmp_path):
    others = [name.replace("_", " ") for name in declared() if name not in kept()]
    assert {"audit", "view", "reproduce", "check", "datasets sample", "export", "list runs", "train gan"} <= {*others}
    for job in (*others, "train", "os", "reproduce.run"):
        command_record.write(tmp_path, job, ())
        with pytest.raises(BadInput, match="expected a command that is made again"):
            calling.words_of(tmp_path, tmp_path / "again", {}, ())


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(job, marks=() if job in OFTEN else pytest.mark.slow if job in SLOW else pytest.mark.integration)
        for job in COMMANDS
    ],
)
def test_the_same_command_makes_the_same_bytes(job, data, tmp_path):
    run = made(job, data, tmp_path / "run")
    record = (run / command_record.FILE).read_text()
    assert str(data) not in record
    assert str(tmp_path) not in record
    named = {word.text: str(data / word.text) for word in command_record.read(run).words if word.sha256}
    trust = [TRUSTED[job]] if job in TRUSTED else []
    if trust:
        with pytest.raises(BadInput, match=f"if you trust it: `trust` '{trust[0]}'"):
            transect.reproduce(run, files=named, quiet=True)
    again = transect.reproduce(run, files=named, trust=trust, quiet=True)
    assert again.numbers.outcome == "same bytes", again
    assert again.numbers.tables
    assert sum(table.rows for table in again.numbers.tables) > 0
    assert again.numbers.versions == again.numbers.settings == again.numbers.left_out == ()
    fits(again)


def test_the_command_finds_files_beside_the_run(matched, data):
    done = run_here("reproduce", str(matched), "--out", str(data / "found"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Reproduced: every table and every number is the same, bit for bit.")
    assert (data / "found" / "reproduce.html").is_file()


@pytest.mark.parametrize(("factor", "outcome", "code"), [(1 + 1e-7, "within tolerance", 0), (1.01, "differs", 1)])
def test_another_number_is_named(matched, data, tmp_path, factor, outcome, code):
    def change(body):
        body["seconds"], body["peak_mb"] = 1e6, 1e6  # time and memory are not compared
        body["balance"][0]["before"] *= factor

    run = shutil.copytree(matched, tmp_path / "run")
    body = json.loads((run / "match.json").read_text())
    change(body)
    (run / "match.json").write_text(json.dumps(body))
    words = ("--file", f"people.csv={data}/people.csv", "--file", f"features={data}/places.npy")
    done = run_here("reproduce", str(run), *words, "--json")
    assert done.returncode == code, done.stderr
    found = json.loads(done.stdout)
    assert found["outcome"] == outcome
    (table,) = [table for table in found["tables"] if not table["same_bytes"]]
    assert table["table"] == "match.json"
    (column,) = table["columns"]
    assert (column["column"], column["differing"], column["beyond"]) == ("balance", 1, code)


def test_what_one_of_both_lacks_is_named(matched, data, tmp_path):
    run = shutil.copytree(matched, tmp_path / "run")
    (run / "pairs.parquet").rename(run / "mine.parquet")
    found = transect.reproduce(run, files={"table": data / "people.csv", "features": data / "places.npy"}, quiet=True)
    assert found.numbers.outcome == "same bytes"
    assert found.numbers.left_out == (
        "Not compared: mine.parquet: only the run has it; pairs.parquet: only the rerun has it.",
    )


def test_a_file_that_is_not_there_or_another_one_is_one_line(matched, data, tmp_path):
    run = shutil.copytree(matched, tmp_path / "run")
    assert refused("reproduce", str(run)) == (
        f"{run}: its places.npy is missing; say where it is: --file 'places.npy=PATH'"
    )
    other = tmp_path / "other.npy"
    np.save(other, np.zeros((12, 3)))
    line = refused("reproduce", str(run), "--file", f"features={other}")
    assert line == f"{other}: not the places.npy of the run; give the right file: --file 'places.npy=PATH'"
    assert not (tmp_path / "run-again").exists()


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("annotation.sqlite", "holds what people answered, which no command makes again"),
        ("match.json", "expected the command that made it, got none (command.json): a call in Python"),
    ],
)
def test_what_cannot_be_made_again_says_why(file, reason, tmp_path):
    (tmp_path / file).write_text("{}")
    assert refused("reproduce", str(tmp_path), "--out", "again").startswith(f"{tmp_path}: {reason}")


def test_calls_that_cost_money_are_not_made_again(tmp_path):
    command_record.write(tmp_path, "recognition", (command_record.Word("", "acme.toml", "0" * 64),))
    with pytest.raises(BadInput, match="asks an HTTP API, whose calls may cost money"):
        calling.words_of(tmp_path, tmp_path / "again", {}, ["acme.toml"])


@pytest.mark.parametrize(
    "word",
    [
        {"option": "--out", "text": "/etc"},
        {"option": "--table", "text": "../../people.csv", "sha256": "0"},
        {"option": "--table", "text": "/etc"},
    ],
)
def test_a_strangers_command_says_nowhere_where_to_write(word, tmp_path):
    command_record.write(tmp_path, "match", (command_record.Word(**word),))
    with pytest.raises(BadInput, match="restore the file"):
        calling.words_of(tmp_path, tmp_path / "again", {}, ())


def test_a_strangers_value_is_no_option(tmp_path):
    words = command_record.Word("", "--out=elsewhere"), command_record.Word("--truth", "--json")
    command_record.write(tmp_path, "search", words)
    words, opened = calling.words_of(tmp_path, Path("again"), {}, ["--out=elsewhere"])
    assert words == ["search", "--truth=--json", "--out=again", "--", "--out=elsewhere"]
    assert opened == ["--out=elsewhere"] * 2


def test_a_strangers_command_chooses_no_engine_address_or_model(tmp_path, monkeypatch):
    def refusal(job, **word):
        command_record.write(tmp_path, job, (command_record.Word(**word),))
        with pytest.raises(BadInput) as raised:
            calling.words_of(tmp_path, tmp_path / "again", {}, ())
        return str(raised.value)

    assert "expected no '--engine'" in refusal("invert encode", option="--engine", text="ray://192.0.2.1:6379")
    assert "expected no '--workers'" in refusal("invert encode", option="--workers", text="9")
    assert "which a rerun does not open" in refusal("invert encode", option="--images", text="s3://bucket/images")
    for spec in ("payload:f", "callable:os:abort", "dlib:face-recognition@/etc", "hf:stranger/model", "vlm:folder"):
        assert f"if you trust it: --trust '{spec}'" in refusal("search", option="", text=spec)
    scripted = {"option": "", "text": "model.pt", "sha256": "0", "before": "torch:"}
    assert "if you trust it: --trust 'torch:model.pt'" in refusal("search", **scripted)
    for job, option in (
        ("match readings", "--detector"),
        ("retrieve", "--model"),
        ("invert", "--weights"),
        ("invert", "--marks"),
    ):
        assert "only the record names" in refusal(job, option=option, text="torch:model.pt")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "api.toml").write_text("")
    assert "whose calls may cost money" in refusal("search", option="", text="api.toml")
    assert "which names a file here" in refusal("mitigate", option="", text="api.toml")


@pytest.mark.integration
def test_a_command_runs_in_a_process_of_its_own_and_no_file_here_shadows_a_library(matched, tmp_path, monkeypatch):
    for name in ("typer.py", "numpy.py", "transect.py"):
        (tmp_path / name).write_text("raise SystemExit('the file that lies here ran')\n")
    monkeypatch.chdir(tmp_path)
    files = {"table": matched.parent / "people.csv", "features": matched.parent / "places.npy"}
    words, opened = calling.words_of(matched, tmp_path / "again", files, ())
    (tmp_path / "again").mkdir()
    ORIGINAL_CALL(words, opened, quiet=True)
    assert (tmp_path / "again" / "match.json").is_file()
