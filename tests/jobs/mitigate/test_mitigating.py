"""`transect mitigate` as a user runs it, killed and resumed."""

import json
import shutil

import pytest
from filelock import FileLock
from published import fits
from typer.testing import CliRunner

import transect
from transect.cli.app import app
from transect.errors import BadInput, FolderInUse
from transect.mitigation import running
from transect.mitigation.settings import parse_config
from transect.runs.json_records import plain

CONTENT = {
    "seeds": [0, 1],
    "attackers": ["logistic"],
    "rounds": 1,
    "data": {
        "size": 32,
        "train": 60,
        "check": 40,
        "test": 40,
        "labels": {"smile": "smile>0.5", "mouth <open>": "mouth_open>0.1"},
    },
    "network": {"widths": [4, 4]},
    "training": {"epochs": 1, "batch": 20},
    "audit": {"subjects": 6},
    "mitigations": [
        {"kind": "noise", "name": "noise", "levels": [1.0]},
        {"kind": "adversarial", "name": "critic", "module": "blocks.1", "epochs": 1, "critic_epochs": 1},
        {
            "kind": "adversarial",
            "name": "mask",
            "module": "image",
            "critic": "image",
            "critic_width": 4,
            "mask_widths": [4, 4],
            "epochs": 1,
            "critic_epochs": 1,
        },
        {"kind": "erasure", "name": "leace"},
        {"kind": "thresholds", "name": "thresholds"},
        {"kind": "balanced", "name": "balanced", "alpha": 1.0},
        {
            "kind": "adversarial",
            "name": "turned round on balanced",
            "start": "balanced",
            "module": "blocks.0",
            "critic": "convolution",
            "critic_width": 4,
            "reverse": True,
            "epochs": 1,
            "critic_epochs": 1,
        },
        {"kind": "reweighed", "name": "reweighed"},
        {"kind": "group_dro", "name": "worst group"},
        {"kind": "hide", "name": "blurred box", "region": "box", "how": "blur"},
        {"kind": "hide", "name": "blackout", "region": "face"},
        {"kind": "crf", "name": "together"},
        {"kind": "rba", "name": "constrained", "start": "together"},
        {
            "kind": "adversarial",
            "name": "together, critic",
            "start": "together",
            "module": "blocks.1",
            "epochs": 1,
            "critic_epochs": 1,
        },
    ],
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mitigate")
    said = []
    numbers = running.run(parse_config(CONTENT, "x"), folder, said.append)
    return folder, plain(numbers), said


@pytest.mark.integration
def test_every_mitigation_has_its_row(finished):
    folder, found, _ = finished
    names = [row["name"] for row in found["mitigations"]]
    assert names[:5] == ["plain", "noise 1", "critic", "mask", "leace"]
    assert len(names) == 15
    assert len(list(folder.glob("units/*/masks.png"))) == 2  # one for each seed of the adversary at the image
    assert found["finished"]
    plain = found["mitigations"][0]
    assert plain["f1_lost"]["estimate"] == 0.0
    assert plain["f1"]["estimate"] == pytest.approx(sum(seed["f1"] for seed in plain["seeds"]) / 2, abs=1e-5)
    balanced = next(row for row in found["mitigations"] if row["name"] == "balanced")
    assert 0 < balanced["seeds"][0]["notes"]["training pictures"] < 60
    turned = next(row for row in found["mitigations"] if row["name"] == "turned round on balanced")
    assert turned["seeds"][0]["notes"] == balanced["seeds"][0]["notes"]  # it learns from the same pictures


@pytest.mark.integration
def test_a_killed_run_resumes_to_the_same_figures(finished, tmp_path):
    """Two units are lost, one of them half: only they are made again, and the results are the same to the byte."""
    folder, _, first = finished
    copy = tmp_path / "again"
    shutil.copytree(folder, copy)
    lost = next((copy / "units").glob("critic-0-*"))
    shutil.rmtree(lost)
    half = next((copy / "units").glob("leace-1-*"))
    (half / "answers.npz").write_bytes((half / "answers.npz").read_bytes()[:100])
    (half / "figures.json").unlink()
    said = []
    running.run(parse_config(CONTENT, "x"), copy, said.append)
    assert {line.split(":")[0] for line in said} == {"critic, seed 0", "leace, seed 1"}
    assert len(first) > len(said)
    assert (copy / "mitigate.json").read_bytes() == (folder / "mitigate.json").read_bytes()


@pytest.mark.integration
def test_the_command_prints_and_writes(finished, tmp_path):
    folder, found, _ = finished
    config = tmp_path / "mitigate.toml"
    kept = {**CONTENT, "mitigations": CONTENT["mitigations"][:1]}
    config.write_text(as_toml(kept))
    answer = CliRunner().invoke(app, ["mitigate", str(config), "--out", str(folder), "--json"])
    assert answer.exit_code == 0, answer.output
    printed = json.loads(answer.stdout)
    page = f"report: {folder / 'mitigate.html'}"
    assert answer.stderr.splitlines()[-1] == page
    assert printed["mitigations"][0] == found["mitigations"][0]
    assert (folder / "mitigate.html").exists()
    shown = CliRunner().invoke(app, ["mitigate", str(config), "--out", str(folder)])
    assert "noise 1" in shown.output
    assert shown.stdout.splitlines()[-1] == page
    assert "answers changed" in shown.output
    with_lock = FileLock(folder / "run.lock")
    with with_lock, pytest.raises(FolderInUse, match="in use"):
        running.run(parse_config(kept, "x"), folder, str)


def test_python_takes_mappings_and_returns_a_result_with_a_schema(finished, tmp_path, capsys):
    """The folder is finished: nothing is trained again."""
    folder, found, _ = finished
    result = transect.mitigate(CONTENT, folder, quiet=True)
    assert capsys.readouterr() == ("", "")
    assert result.to_json() == found
    fits(result)
    table = result.table.to_pylist()
    assert [row["name"] for row in table] == [row["name"] for row in found["mitigations"]]
    assert table[0]["f1"] == found["mitigations"][0]["f1"]["estimate"]
    assert (result.report(tmp_path), (tmp_path / "mitigate.json").exists()) == (tmp_path / "mitigate.html", True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "adversarial", "module": "blocks.9"}, "late: module 'blocks.9': expected one of blocks.1, blocks.0"),
        (
            {"kind": "adversarial", "module": "blocks.1", "critic": "image"},
            "late: critic: expected image if and only if where is image",
        ),
        ({"kind": "balanced", "alpha": float("inf")}, r"alpha: .*finite number"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_trained(finished, tmp_path, change, said):
    """A name that is wrong in the last mitigation shall not cost the hours of those before it."""
    content = {key: value for key, value in CONTENT.items() if key != "mitigations"}
    content |= {"training": {"epochs": 1, "batch": 20}, "mitigations": [{"name": "late", **change}]}
    shutil.copytree(finished[0] / "pictures", tmp_path / "pictures")
    with pytest.raises(BadInput, match=said):
        running.run(parse_config(content, "x"), tmp_path, str)
    assert not (tmp_path / "units").exists()


def as_toml(content):
    top = "".join(f"{key} = {json.dumps(content[key])}\n" for key in ("seeds", "attackers", "rounds"))
    labels = "".join(f"{json.dumps(name)} = {json.dumps(text)}\n" for name, text in content["data"]["labels"].items())
    for name in ("data", "network", "training", "audit"):
        body = "".join(f"{key} = {json.dumps(value)}\n" for key, value in content[name].items() if key != "labels")
        top += f"[{name}]\n{body}"
        top += f"[data.labels]\n{labels}" if name == "data" else ""
    for one in content["mitigations"]:
        top += "[[mitigations]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in one.items())
    return top
