"""MLflow and Weights & Biases through their own libraries, without a server: what was logged is read back by them."""

import json
import struct
import time

import pytest
from report_factory import make_gallery, make_results

import transect
from transect.reports import write
from transect.reports.exports.formats import metrics, settings
from transect.reports.exports.result_texts import results_of


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tracking") / "run"
    write(make_results(), make_gallery(), folder)
    return folder


def test_metrics_are_named_and_hold_the_ends_of_intervals(run):
    """The first effect of the factory by hand: three ends and an adjusted p, under names that services take."""
    results = results_of(run)
    found = metrics(results)
    effect = results.effects[0]
    names = [name for name, value in found.items() if value == effect.estimate]
    assert names
    base = names[0]
    assert (found[f"{base}/low"], found[f"{base}/high"]) == (effect.low, effect.high)
    assert found[f"{base}/p_adjusted"] == effect.p_adjusted
    estimable = sum(row.estimate is not None for row in results.effects)
    whole = sum(row.order == 0 and row.rate is not None for row in results.rates)
    ends = ("/low", "/high", "/p_adjusted")
    assert sum(not name.endswith(ends) for name in found) == estimable + whole
    assert all(
        set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-. /") for name in found
    )
    assert settings(results)["transect_version"] == results.transect_version


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")  # MLflow's and SQLAlchemy's own
def test_mlflow_reads_back_what_was_logged(run, tmp_path, monkeypatch):
    pytest.importorskip("mlflow", reason="needs the extra mlflow")
    from mlflow import MlflowClient

    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    made = transect.export(run, "mlflow", tmp_path, project="bias")
    again = transect.export(run, "mlflow", tmp_path, project="bias")
    assert made.headline().startswith("Logged to mlflow: run ")
    assert made.numbers.place != again.numbers.place
    client = MlflowClient(tracking_uri=f"sqlite:///{tmp_path / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("bias")
    logged = client.search_runs([experiment.experiment_id])
    assert len(logged) == 2
    results = results_of(run)
    assert logged[0].data.metrics == metrics(results)
    assert logged[0].data.params == settings(results)
    assert logged[0].info.status == "FINISHED"
    kept = {one.path for one in client.list_artifacts(logged[0].info.run_id)}
    assert kept == {"results.json", "report.html", "report-numbers.html"}


def records(log):
    """The records of a file of wandb: blocks of 32 KiB that hold parts, each with 4 bytes of checksum, length and kind.

    Kinds: 1 whole, 2 first, 3 middle, 4 last. The file begins with 7 bytes of its own.
    """
    at, parts = 7, b""
    while at + 7 <= len(log):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        length, kind = struct.unpack("<HB", log[at + 4 : at + 7])
        parts += log[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            yield parts
            parts = b""


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")  # wandb's own
def test_wandb_keeps_an_offline_run(run, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="needs the extra wandb")
    from wandb.proto import wandb_internal_pb2

    monkeypatch.setenv("WANDB_MODE", "offline")
    made = transect.export(run, "wandb", tmp_path, project="bias")
    assert "wandb sync" in made.numbers.place
    wandb.teardown()  # on a busy machine its service may still be writing when the run is finished
    (file,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    found, kinds, until = {}, set(), time.monotonic() + 60
    while not found and time.monotonic() < until:
        for data in records(file.read_bytes()):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            kinds.add(record.WhichOneof("record_type"))
            for item in record.summary.update:
                found[item.key or "/".join(item.nested_key)] = json.loads(item.value_json)
        time.sleep(0.1)
    assert found, f"no summary among the records of {file.stat().st_size} bytes: {sorted(map(str, kinds))}"
    expected = metrics(results_of(run))
    assert {name: value for name, value in found.items() if name in expected} == expected
