"""`transect leakage`: its JSON, its table, and its refusals in one line with exit code 2."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import typer
from commands import run_here
from leaky_data import planted
from typer.testing import CliRunner

from transect.errors import TransectError
from transect.job import command as command_of
from transect.jobs.leakage import Leakage


@pytest.fixture
def labels(tmp_path):
    data = planted(n=1200)
    table = pa.table(
        {
            "id": list(data.ids),
            "verb": data.labels.category,
            "gender": data.protected,
            "split": data.split.tolist(),
            "obj_a": (data.labels.category < 2).astype(int),
            "obj_b": (data.labels.category % 2).astype(int),
            "one": np.zeros(1200, dtype=int),
        }
    )
    pa.parquet.write_table(table, tmp_path / "labels.parquet")
    return tmp_path / "labels.parquet"


def run(*arguments):
    """Exit code, standard output and standard error of the command."""
    done = run_here("leakage", *map(str, arguments))
    return done.returncode, done.stdout, done.stderr


def test_json_has_every_key_of_the_contract(labels):
    command = ("--labels", labels, "--label", "verb", "--protected", "gender", "--split", "split", "--json")
    code, out, err = run(*command, "--attacker", "bayes")
    assert (code, err) == (0, "")
    value = json.loads(out)
    keys = {"dataset_leakage", "null", "at_accuracy", "model_leakage", "amplification", "attacker", "noise", "n"}
    assert keys <= value.keys()
    assert 55 < value["dataset_leakage"]["low"] < value["dataset_leakage"]["estimate"] < 75 + 10
    assert (value["attacker"], value["n"]) == ("bayes", 300)


@pytest.mark.integration
def test_the_order_of_the_rows_does_not_matter(labels, tmp_path):
    """Those of the answers neither: identifiers say which are whose."""
    said = tmp_path / "said.parquet"
    table = pa.parquet.read_table(labels).slice(0, 120)
    app, rng = typer.Typer(), np.random.default_rng(0)
    app.command()(command_of(Leakage))
    answers = np.where(rng.random(120) < 0.7, table["verb"].to_numpy(), 0)
    shown = []
    for order in (np.arange(120), rng.permutation(120)):
        pa.parquet.write_table(table.take(order), labels)
        other = rng.permutation(120)
        pa.parquet.write_table(pa.table({"id": table["id"].take(other), "verb": answers[other]}), said)
        command = ("--labels", str(labels), "--label", "verb", "--protected", "gender", "--predictions", str(said))
        shown.append(CliRunner().invoke(app, [*command, "--attacker", "mlp-1", "--rounds", "1", "--json"]))
    assert [one.exit_code for one in shown] == [0, 0]
    assert shown[0].stdout == shown[1].stdout


def test_several_labels_by_pattern_and_predictions(labels, tmp_path):
    table = pa.parquet.read_table(labels)
    pa.parquet.write_table(table.select(["id", "obj_a", "obj_b"]), tmp_path / "said.parquet")
    command = ("--labels", labels, "--label", "obj_*", "--protected", "gender", "--split", "split")
    code, out, _ = run(*command, "--attacker", "logistic", "--predictions", tmp_path / "said.parquet", "--json")
    assert code == 0
    value = json.loads(out)
    assert value["labels"] == 2
    assert [level["f1"] for level in value["at_accuracy"]] == [100, 80, 60]  # the model's, and the curve
    assert value["model_f1"] == 100
    assert value["amplification"]["estimate"] == 0


def test_balanced_splits_are_said_and_written(labels, tmp_path):
    command = ("--protected", "gender", "--split", "split", "--attacker", "bayes", "--label", "verb", "--json")
    code, out, _ = run("--labels", labels, *command, "--alpha", "1", "--out", tmp_path / "out")
    assert code == 0
    (cost,) = json.loads(out)["overview"]["costs"]
    marked = pa.parquet.read_table(tmp_path / "out" / "balanced.parquet")
    kept = marked.filter(marked["in_alpha1"])
    taught = kept.filter(pa.compute.equal(kept["split"], "train"))
    assert len(taught) == cost["kept"] == cost["bound"]
    counts = np.zeros((4, 2), dtype=int)
    np.add.at(counts, (taught["verb"].to_numpy(), taught["gender"].to_numpy()), 1)
    assert (counts[:, 0] == counts[:, 1]).all()
    again = run("--labels", tmp_path / "out" / "balanced.parquet", *command, "--where", "in_alpha1")[1]
    # As many of each class in every verb, in training and in test: labels say nothing, and every guess is a tie.
    assert json.loads(again)["dataset_leakage"]["estimate"] == 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--protected", "one"), "protected attribute one: expected at least two classes, got only '0' in 1200 rows"),
        (("--attacker", "bayes", "--label", "obj_*"), "attacker bayes: expected one category for each item"),
        (("--f1", "2"), "F1 of 2 %: expected"),
        (("--id", "verb"), "occurs twice in train and train"),
    ],
)
def test_bad_input_is_one_line(labels, arguments, message):
    given = {"--labels": labels, "--label": "verb", "--protected": "gender", "--split": "split", "--attacker": "bayes"}
    given |= dict(zip(arguments[::2], arguments[1::2], strict=True))
    app = typer.Typer()
    app.command()(command_of(Leakage))
    done = CliRunner().invoke(app, [str(word) for pair in given.items() for word in pair])
    assert isinstance(done.exception, TransectError)
    assert done.exception.exit_code == 2
    assert message in str(done.exception)
    assert "\n" not in str(done.exception)
