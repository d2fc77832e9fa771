"""A run made again has the same bytes; what differs, and what cannot be rerun, is named."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest
from commands import refused, run_here
from hostile_server import serving, write
from published import fits
from small_folders import FOLDERS

import transect
from transect.errors import BadInput
from transect.experiment.rebuilt_audits import Given, open_world_of
from transect.jobs.reproduce import RERUN_MARK
from transect.records import Design
from transect.runs.folder import RunFolder, read_record, spec_hash
from transect.runs.pictures import png
from transect.runs.tables import decode

NAMED = ("--name", "ours")
SETTINGS = ("--threshold", "0.3", "--batch", "3", "--margin", "0.1", "--seed", "5", "--size", "32", "--subjects", "4")


def once(*arguments):
    done = run_here(*map(str, arguments))
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module", autouse=True)
def in_this_process():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("transect.targets.resolution.ISOLATE", False)
        yield


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """An experiment, steps and pairs of subjects, with settings that are not the usual ones, and a name of our own."""
    out = tmp_path_factory.mktemp("audited") / "run"
    varied = ("--vary", "light_level=-4,0", "--steps", "smile=0,1", "--no-control")
    once("audit", "audited:brightness", *NAMED, *varied, *SETTINGS, "--out", out, "--json")
    return out


@pytest.fixture(scope="module")
def again(audited):
    out = audited.parent / "again"
    return transect.reproduce(audited, out=out, targets=["ours=audited:brightness"], quiet=True)


def interrupted(audited, out):
    """The rerun as it was before it ended, so that nothing is made again."""
    shutil.copytree(audited.parent / "again", out)
    (out / RERUN_MARK).touch()
    return out


@pytest.mark.integration
def test_nothing_passes_for_made_again(audited, again, tmp_path):
    """A finished run, or a finished rerun, in the place of the rerun is no rerun."""
    for place in (shutil.copytree(audited, tmp_path / "copy"), audited.parent / "again"):
        with pytest.raises(BadInput, match="expected an empty folder, or an interrupted rerun, got other files"):
            transect.reproduce(audited, out=place, targets=["ours=audited:brightness"], quiet=True)


@pytest.mark.integration
def test_the_same_run_has_the_same_bytes(audited, again):
    assert again.numbers.outcome == "same bytes"
    names = ["effects.parquet", "results.json"]
    names += [
        f"studies/{study}/{table}"
        for study in ("experiment", "steps-smile")
        for table in ("images", "predictions/ours")
    ]
    assert [table.name for table in again.numbers.tables] == names
    assert [table.rows for table in again.numbers.tables[2:]] == [8, 8, 8, 8]
    assert all(table.same_bytes and not table.columns for table in again.numbers.tables)
    assert again.numbers.left_out == again.numbers.versions == ()
    fits(again)
    for name in ("results.json", "settings.json", "studies/experiment/run.json", "studies/steps-smile/run.json"):
        assert (audited / name).read_bytes() == (audited.parent / "again" / name).read_bytes()
    assert again.table.num_rows == 6


def _changed(audited, folder, table, change):
    """The run with one table of its experiment changed by hand, and no report."""
    run = shutil.copytree(audited, folder)
    (run / "results.json").unlink()
    place = run / "studies" / "experiment"
    with RunFolder(place, read_record(place)) as opened:
        opened.write_part(table, 0, change(opened.read_part(table, 0)))
    return run


def _column(rows, name, values):
    place = rows.schema.get_field_index(name)
    return rows.set_column(place, rows.schema.field(place), pa.array(values, rows.schema.field(place).type))


def brighter(levels):
    """One pixel of the first image brighter by so many levels."""

    def change(rows):
        pixels = decode(rows["image"].to_pylist())
        pixels[0, 0, 0, 0] += np.uint8(levels) if pixels[0, 0, 0, 0] < 250 else -np.uint8(levels)
        return _column(rows, "image", [png(picture) for picture in pixels])

    return change


def scored(factor):
    def change(rows):
        return _column(rows, "scores", [[score * factor for score in row] for row in rows["scores"].to_pylist()])

    return change


@pytest.mark.integration
@pytest.mark.parametrize(
    ("change", "outcome", "table", "column", "largest"),
    [
        (brighter(1), "within tolerance", "images", "image", 1.0),
        (brighter(2), "differs", "images", "image", 2.0),
        (scored(1 + 1e-6), "within tolerance", "predictions/ours", "scores", None),
    ],
)
def test_a_difference_is_named_by_table_and_column(audited, again, tmp_path, change, outcome, table, column, largest):
    run = _changed(audited, tmp_path / "run", table, change)
    targets, out = ["ours=audited:brightness"], interrupted(audited, tmp_path / "again")
    found = transect.reproduce(run, out=out, targets=targets, quiet=True)
    assert found.numbers.outcome == outcome
    (differs,) = [each for each in found.numbers.tables if not each.same_bytes]
    assert differs.name == f"studies/experiment/{table}"
    (values,) = differs.columns
    assert values.column == column
    assert largest is None or values.largest == largest
    assert found.numbers.left_out == (
        f"The report was not compared: the run has none; write it: transect report {run}",
    )
    if outcome == "within tolerance" and table == "images":
        (out / RERUN_MARK).touch()
        exact = transect.reproduce(run, out=out, targets=targets, exact=True, quiet=True)
        assert exact.numbers.outcome == "differs"


@pytest.mark.integration
def test_the_command_says_what_differs_and_leaves_with_1(audited, again, tmp_path):
    run = _changed(audited, tmp_path / "run", "predictions/ours", scored(1.01))
    out = interrupted(audited, tmp_path / "run-again")
    done = run_here("reproduce", str(run), "--target", "ours=audited:brightness")
    assert done.returncode == 1
    assert done.stdout.startswith("Not reproduced: values differ by more than the tolerances.")
    assert "studies/experiment/predictions/ours" in done.stdout
    assert (out / "reproduce.html").is_file()
    (out / RERUN_MARK).touch()
    body = json.loads(run_here("reproduce", str(run), "--target", "ours=audited:brightness", "--json").stdout)
    assert (body["outcome"], body["tolerance"], body["pixels"]) == ("differs", 1e-4, 1)


@pytest.mark.integration
def test_other_versions_are_named_and_compared_within_tolerance(audited, again, tmp_path):
    run = shutil.copytree(audited, tmp_path / "run")
    (run / "results.json").unlink()
    for place in ("experiment", "steps-smile"):
        file = run / "studies" / place / "run.json"
        record = read_record(file.parent)
        record["versions"]["numpy"] = "1.0"
        record["generator"]["renderer_version"] = "0"
        file.write_text(json.dumps({"schema_version": 1, "spec_hash": spec_hash(record), **record}))
    found = transect.reproduce(
        run, out=interrupted(audited, tmp_path / "again"), targets=["ours=audited:brightness"], quiet=True
    ).numbers
    assert [(change.name, change.was) for change in found.versions] == [("versions.numpy", "1.0")]
    assert [(change.name, change.was) for change in found.settings] == [("generator.renderer_version", "0")]
    assert found.outcome == "same bytes"
    assert len(found.tables) == 4


def test_a_model_that_is_not_there_or_another_one_is_one_line(audited, tmp_path):
    line = refused("reproduce", str(FOLDERS / "version-1"), "--out", str(tmp_path / "again"))
    assert line.startswith("target brightness: brightness: only the record names this model")
    assert line.endswith("say where it is: --target 'brightness=SPEC'")
    line = refused("reproduce", str(audited), "--target", "ours=audited:slow", "--out", str(tmp_path / "again"))
    assert line == (
        "target ours: expected the model of the run, got a different code_sha256, function; give it: --target "
        "'ours=SPEC'"
    )
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (
            {"name": "mine", "weights_sha256": "0"},
            "generator mine: its generator is missing; give it: --file generator=PATH",
        ),
        (
            {"name": "people", "labels_sha256": "0"},
            "its dataset is missing; give it: --file dataset=READER:PATH",
        ),
    ],
)
def test_a_file_of_images_that_is_not_given_is_one_line(facts, message):
    from small_run import small_spec

    from transect.runs.spec import GeneratorDescription

    spec = small_spec(Design({"smile": (0.0, 1.0)}, 2), generator=GeneratorDescription({"image_size": 32, **facts}))
    with pytest.raises(BadInput, match=message):
        open_world_of(spec, Given())


@pytest.mark.integration
def test_calls_that_cost_money_need_a_budget(tmp_path, monkeypatch):
    monkeypatch.setenv("ACME_KEY", "correct-horse-battery")
    with serving(lambda number, body: {"body": {"score": 0.75}}) as server:
        file = write(tmp_path, server.url, more="[budget]\ncalls = 9")
        run = tmp_path / "run"
        once("audit", file, "--vary", "glasses=0,1", "--subjects", "3", "--size", "32", "--no-control", "--out", run)
        paid = len(server.requests)
        alone = transect.reproduce(run, quiet=True).numbers
        assert len(server.requests) == paid == 6
        assert [table.name for table in alone.tables] == ["images"]
        assert alone.outcome == "same bytes"
        (line,) = alone.left_out
        assert line.startswith("Not asked again: acme, whose calls may cost money; give --budget CALLS.")
        asked = transect.reproduce(
            run, out=tmp_path / "paid", targets={"acme": str(file)}, budget=6, quiet=True
        ).numbers
        assert len(server.requests) == paid + 6
        assert [table.name for table in asked.tables] == [
            "effects.parquet",
            "results.json",
            "images",
            "predictions/acme",
        ]
        assert all(table.same_bytes for table in asked.tables if table.name != "results.json")
        assert list((tmp_path / "paid").glob("*.answers.sqlite"))
