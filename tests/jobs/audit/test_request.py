"""One request for Python, the command line and a TOML file: every option in each, and what a file gets wrong."""

import dataclasses
from types import SimpleNamespace

import audited
import auditing
import pytest
import typer
from audit_files import read_request
from commands import refused_here, run_here

import transect
from transect.cli.app import app
from transect.experiment.audit_request import SECTIONS, AuditRequest, places

VALUES = {
    "targets": ["audited:brightness"], "names": ["mine"], "preset": "face-attribute", "questions": "hiring", "judge": "vlm:judge", "vary": ["glasses", "age=20,60"], "steps": ["smile"], "step_unit": "direction", "hold": ["exposure"],
    "subjects": 7, "seed": 3, "images": 9, "observe": 11, "dataset": "folder:faces", "max_unreadable": 3, "compare": ["yaw", "age"], "replicate": ["reference"], "pairs": "pairs.parquet",
    "interpolate": 5, "truth": ["face", "x=smile>0.5"], "outcomes": ["answer", "miss"], "control": False,
    "generator": "reference", "population": "celebrity-like", "image_size": 64, "device": "cuda:1",
    "directions": "d.safetensors", "latents": "l.safetensors", "photographs": "folder:p", "mask": "face", "task": "binary", "preprocess": "p.toml",
    "labels": ["no", "yes"], "positive": "yes", "threshold": 0.25, "output": "logit", "output_name": "smile", "isolate": False, "timeout": 2.5, "batch": 4,
    "templates": ["a photo of a {}", "{}"], "dtype": "float16", "model_device": "cuda:1", "allow_download": True,
    "max_failures": 0.5, "attributes": ["smile=a:b"], "identity": "a:c", "realism": "a:d", "shipped": True, "redraw": 2,
    "false_match_rate": 0.01, "within": ["age"], "perceived": "seen.csv", "ratings": "people.csv",
    "prune": ["fakeness>=0.75"], "require_validation": "v.json", "by": ["age", "smile"], "at_thresholds": [0.8], "bins": ["age=30,50"],
    "boundary": [0.2, 0.8], "covariates": ["age", "fakeness"], "margin": ["0.03", "miss=0.01"], "title": "Smiles", "overwrite": True,
    "out": "runs/x", "engine": "ray", "workers": 2, "dry_run": True, "json": True,
}  # fmt: skip
"""A value of each setting that is not its default, as TOML has it."""


def audit_options():
    return {option.name: option for option in typer.main.get_command(app).commands["audit"].params}


def toml(value):
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return (
        str(value).lower()
        if isinstance(value, bool)
        else repr(value).replace("'", '"')
        if isinstance(value, str)
        else str(value)
    )


def toml_file(path, settings):
    """The settings as a file: those of the request first, then a table for each section."""
    homes = places()
    tables = {home: [name for name in settings if homes[name] == home] for home in ("", *SECTIONS)}
    lines = [(home, [f"{name} = {toml(settings[name])}" for name in names]) for home, names in tables.items() if names]
    path.write_text("\n".join(line for home, rows in lines for line in ([f"[{home}]"] if home else []) + rows))
    return path


def typed(settings):
    """The settings as arguments of the command."""
    words = []
    for name, value in settings.items():
        option = audit_options()[name]
        if name == "targets":
            words += value
        elif isinstance(value, bool):
            words.append((option.opts if value else option.secondary_opts)[0])
        elif name == "labels":
            words += [option.opts[0], ",".join(value)]
        elif name == "boundary":
            words += [option.opts[0], *map(str, value)]
        else:
            words += [
                word for item in (value if isinstance(value, list) else [value]) for word in (option.opts[0], str(item))
            ]
    return words


@pytest.fixture
def requested(monkeypatch):
    """The request that the command passes on."""
    seen = []
    monkeypatch.setattr(
        "transect.jobs.audit.audit_cost", lambda target, request: SimpleNamespace(numbers=seen.append(request))
    )
    monkeypatch.setattr("transect.experiment.costs.show", lambda cost, as_json: None)

    def request(*words):
        app(["audit", *words], standalone_mode=False)
        return seen.pop()

    return request


def test_every_setting_has_a_value_here_and_every_option_is_a_setting():
    assert set(VALUES) == set(places()) - {"scorers"}  # whose code no file may name
    assert set(audit_options()) - {"help", "help_all"} == {*places(), "config", "check"}


def test_the_help_shows_the_usual_options_and_help_all_every_one():
    usual, every = (run_here("audit", flag).stdout for flag in ("--help", "--help-all"))
    assert usual.count("\n│ --") <= 25
    assert {f"--{name}" in every for name in ("max-unreadable", "check-attribute", "workers", "vary")} == {True}
    assert "--max-unreadable" not in usual


def test_all_options_together_and_their_defaults(requested, tmp_path):
    path = toml_file(tmp_path / "study.toml", VALUES)
    whole = requested(*typed(VALUES))
    assert whole == read_request(path)
    for name, home in places().items():
        if name == "scorers":
            continue
        section = getattr(whole, home) if home else whole
        assert getattr(section, name) != getattr(type(section)(), name), f"{name}: the value here is the default"
    assert requested("--dry-run") == auditing.request(dry_run=True)


def test_the_command_line_overrides_the_file(requested, tmp_path):
    path = toml_file(tmp_path / "study.toml", {"subjects": 7, "seed": 3, "dry_run": True, "image_size": 64})
    request = requested("--config", str(path), "--subjects", "100", "--size", "32")
    assert (request.subjects, request.seed, request.world.image_size) == (100, 3, 32)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("subjcts = 5", "'subjcts': did you mean subjects"),
        ("[world]\nimge_size = 5", "'world.imge_size': did you mean world.image_size"),
        ("image_size = 5", "image_size: image_size belongs in the table [world]; move it there"),
        ("subjects = '5'", "subjects: expected a whole number, got '5'"),
        ("vary = 'glasses'", "vary: expected a list, got 'glasses'"),
        ("subjects =", "expected TOML: Invalid value"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_in_one_line(text, message, tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(text)
    told = refused_here("audit", "--config", str(path), "--dry-run")
    assert message in told
    assert "\n" not in told


def test_levels_may_be_a_table_of_the_file(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(
        "[vary]\nskin_tone = [1, 10]\n[model.preprocess]\nsize = [64, 64]\n[checks.attributes]\nsmile = 'a:b'"
    )
    request = read_request(path)
    assert request.vary == {"skin_tone": [1.0, 10.0]}
    assert request.model.options() == {"preprocess": {"size": [64, 64]}}
    assert request.checks.attributes == {"smile": "a:b"}


@pytest.mark.integration
def test_python_keywords_override_the_request(tmp_path):
    request = AuditRequest(vary=["glasses"], subjects=50, control=False)
    result = transect.audit(audited.brightness, request, subjects=3, image_size=32, out=tmp_path, quiet=True)
    assert {effect.n_subjects for effect in result.effects} == {3}
    assert not (tmp_path / "negative-control").exists()
    assert dataclasses.replace(request) == request
