"""Hands an audit to MLflow and to Weights & Biases, each through its own library, without a server by default."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

import pyarrow as pa

from transect.errors import BadInput, MissingExtra
from transect.jobs.export.words import cell
from transect.texts import words_of

_NOT_IN_A_NAME: Final = re.compile(r"[^\w\-. /]+")
_LONGEST: Final = 250
_Mode = Literal["online", "offline", "disabled", "shared"]
_FILES: Final = ("results.json", "report.html", "effects.parquet")


def metrics(results: Mapping[str, Any]) -> dict[str, float]:
    """Every effect and every overall rate with the ends of its interval, by study, target, outcome and name.

    What is not estimable is left out here, and stands in the tables with its reason.
    """
    found: dict[str, float] = {}
    several = len(results["studies"]) > 1
    for row in results["effects"]:
        name = "/".join(["effect", *([row["study"]] if several else []), row["target"], row["outcome"], row["name"]])
        found |= _with_ends(name, row["estimate"], row, {"p_adjusted": row["p_adjusted"]})
    for row in results["rates"]:
        if row["order"] == 0:
            name = "/".join(
                ["rate", *([row["study"]] if several else []), row["target"], row["outcome"], cell(row, results)]
            )
            found |= _with_ends(name, row["rate"], row, {})
    return found


def _with_ends(
    name: str, value: float | None, row: Mapping[str, Any], more: Mapping[str, float | None]
) -> dict[str, float]:
    """Names with the letters that both services take."""
    clean = _NOT_IN_A_NAME.sub(" ", name).replace("//", "/")[: _LONGEST - 20].strip()
    numbers = {clean: value, f"{clean}/low": row["low"], f"{clean}/high": row["high"]}
    numbers |= {f"{clean}/{key}": number for key, number in more.items()}
    return {key: float(number) for key, number in numbers.items() if number is not None}


def settings(results: Mapping[str, Any]) -> dict[str, str]:
    """What identifies the run: versions, seeds, subjects, targets. No setting of a server is among them."""
    studies = results["studies"]
    return {
        "transect_version": results["transect_version"],
        "question": results["question"][:_LONGEST],
        "studies": ", ".join(study["name"] for study in studies)[:_LONGEST],
        "targets": ", ".join(dict.fromkeys(t["name"] for s in studies for t in s["targets"]))[:_LONGEST],
        "subjects": ", ".join(str(study["subjects"]) for study in studies),
        "seeds": ", ".join(str(study["seed"]) for study in studies),
        "spec_hashes": ", ".join(study["spec_hash"] for study in studies)[:_LONGEST],
        "correction": results["family"]["method"],
    }


def artifacts(run: Path) -> list[Path]:
    """The files of the run that are kept with it."""
    return [run / name for name in _FILES if (run / name).is_file()]


def to_mlflow(results: Mapping[str, Any], run: Path, out: Path, project: str) -> str:
    """Log to MLFLOW_TRACKING_URI, or else to the database mlflow.db in `out`; returns where the run is."""
    try:
        from mlflow import MlflowClient
        from mlflow.entities import Metric, Param
        from mlflow.exceptions import MlflowException
    except ImportError:
        raise MissingExtra("mlflow", "an export to MLflow") from None
    out.mkdir(parents=True, exist_ok=True)
    stated = os.environ.get("MLFLOW_TRACKING_URI", "")
    uri = stated or f"sqlite:///{(out / 'mlflow.db').resolve()}"
    place = None if stated else (out / "artifacts").resolve().as_uri()
    try:
        client = MlflowClient(tracking_uri=uri)
        known = client.get_experiment_by_name(project)
        experiment = (
            client.create_experiment(project, artifact_location=place) if known is None else known.experiment_id
        )
        made = client.create_run(experiment, run_name=results["title"][:_LONGEST])
        number = made.info.run_id
        logged = [Metric(key, value, made.info.start_time, 0) for key, value in metrics(results).items()]
        client.log_batch(number, metrics=logged, params=[Param(*pair) for pair in settings(results).items()])
        for path in artifacts(run):
            client.log_artifact(number, str(path))
        client.set_terminated(number)
    except MlflowException as failure:
        said = words_of(failure).replace(stated or uri, "its store")  # an address may hold a password
        raise BadInput(f"MLflow refused the run: expected a store that takes it, got: {said}") from None
    return f"run {number} of experiment {project}" + ("" if stated else f" in {uri}")


def to_wandb(results: Mapping[str, Any], tables: Mapping[str, pa.Table], run: Path, out: Path, project: str) -> str:
    """Log to Weights & Biases in the mode of WANDB_MODE, or else offline in `out`; returns where the run is."""
    try:
        import wandb
    except ImportError:
        raise MissingExtra("wandb", "an export to Weights & Biases") from None
    out.mkdir(parents=True, exist_ok=True)
    quiet = wandb.Settings(silent=True, console="off")
    try:
        logged = wandb.init(project=project, dir=str(out), mode=_mode(), config=settings(results), settings=quiet)
        logged.name = results["title"][:_LONGEST]
        logged.summary.update(metrics(results))
        logged.log({name: wandb.Table(columns=table.column_names, data=_rows(table)) for name, table in tables.items()})
        kept = wandb.Artifact("transect-run", type="audit")
        for path in artifacts(run):
            kept.add_file(str(path))
        logged.log_artifact(kept)
        place = logged.dir
        logged.finish()
    except wandb.errors.Error as failure:
        raise BadInput(f"Weights & Biases refused: expected a run that starts, got: {words_of(failure)}") from None
    folder = Path(place).parent
    uploaded = f"offline run in {folder}; upload it with: wandb sync {folder}"
    return uploaded if _mode() == "offline" else f"run in {folder}"


def _mode() -> _Mode:
    """How Weights & Biases logs: offline, unless its own variable says otherwise. Raises BadInput for another word."""
    mode = os.environ.get("WANDB_MODE", "offline")
    if mode not in get_args(_Mode):
        raise BadInput(f"WANDB_MODE: expected one of {', '.join(get_args(_Mode))}, got {mode!r}; change or unset it")
    return cast("_Mode", mode)


def _rows(table: pa.Table) -> Sequence[Sequence[object]]:
    return [list(row.values()) for row in table.to_pylist()]
