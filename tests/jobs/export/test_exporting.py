"""`transect export`: tables, LaTeX, a model card and figures of a run, and the refusals."""

import csv
import io
import json
import re

import pyarrow.parquet as pq
import pytest
from commands import printed
from report_factory import make_gallery, make_results

import transect
from transect.errors import BadInput
from transect.reports import write
from transect.reports.exports import technical_file
from transect.reports.exports.formats import escaped_latex, latex_table
from transect.reports.exports.model_card import card, metadata
from transect.reports.exports.result_texts import content_of, models, plain_text, tables_of, yaml
from transect.reports.results import read


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export") / "run"
    write(make_results(), make_gallery(), folder)
    return folder


@pytest.fixture(scope="module")
def results(run):
    return content_of(run)


def test_csv_and_parquet_hold_every_row_unrounded(run, results, tmp_path):
    made = transect.export(run, "csv", tmp_path)
    assert made.numbers.files == ("effects.csv", "rates.csv", "targets.csv") or "effects.csv" in made.numbers.files
    rows = list(csv.DictReader(io.StringIO((tmp_path / "effects.csv").read_text())))
    assert len(rows) == len(results["effects"])
    for row, effect in zip(rows, results["effects"], strict=True):
        assert row["name"] == effect["name"]
        assert (float(row["estimate"]) if row["estimate"] else None) == effect["estimate"]
        assert row["reason"] == effect["reason"]
    transect.export(run, "parquet", tmp_path)
    for name, stored in tables_of(results).items():
        assert pq.read_table(tmp_path / f"{name}.parquet").equals(stored)
    cells = [json.loads(cell) for cell in tables_of(results)["rates"]["cell"].to_pylist()]
    assert cells == [rate["cell"] for rate in results["rates"]]


def test_a_paper_gets_a_row_per_effect_with_its_interval(run, results, tmp_path):
    transect.export(run, "latex", tmp_path)
    text = (tmp_path / "effects.tex").read_text()
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert len(rows) == 1 + len(results["effects"])
    effect = results["effects"][0]
    estimate, low, high = (f"{100 * effect[end]:.1f}" for end in ("estimate", "low", "high"))
    assert f"& +{estimate} & {low} to {high} & percentage points &" in rows[1]
    assert all(line.count("&") - line.count(r"\&") == 7 for line in rows)


def test_no_text_of_others_is_a_command_of_latex():
    made = latex_table("50 % & \\input{/etc/passwd}", "x", ["a", "b"], [["\\write18{rm}", "$x^2$ ~ <#1>\n\n{_}"]], 1)
    free = re.sub(r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater)\{\}|\\[{}&%$#_]", "", made)
    commands = set(re.findall(r"\\([a-zA-Z]+)", free))
    assert commands <= {"begin", "end", "centering", "caption", "label", "toprule", "midrule", "bottomrule"}
    assert escaped_latex("a\nb") == "a b"


def test_the_metadata_are_those_of_the_hugging_face_hub(run, results, tmp_path):
    hub = pytest.importorskip("huggingface_hub", reason="needs huggingface_hub, whose reader is the judge")
    made = transect.export(run, "model-card", tmp_path, model='A "model": 1')
    cards = {name: hub.ModelCard.load(tmp_path / name) for name in made.numbers.files}
    assert len(cards) == len(models(read(results))) > 1
    for one_card, (model, own) in zip(cards.values(), models(read(results)).items(), strict=True):
        assert one_card.data.model_name == f'A "model": 1 ({model})'
        found = {(one.metric_name, one.metric_value) for one in one_card.data.eval_results}
        whole = [row.rate for row in own.rates if row.order == 0 and row.rate is not None]
        effects = [row.estimate for row in own.effects if row.estimate is not None]
        assert sorted(one.metric_value for one in one_card.data.eval_results) == sorted(whole + effects)
        assert len(found) == len(one_card.data.eval_results), "no two metrics share a name and a value"
        assert {one.task_type for one in one_card.data.eval_results} == {"object-detection"}


def test_each_model_has_its_own_results(results):
    found = models(read(results))
    assert sum(len(own.effects) for own in found.values()) == len(results["effects"])
    for model, own in found.items():
        assert {row.target for row in own.rates} == {model}
        assert [target.name for study in own.studies for target in study.targets] == [model] * len(own.studies)


def test_settings_are_a_table_without_what_is_not_set(results):
    some = json.loads(json.dumps(results))
    some["studies"][0]["targets"][0]["description"] = {"crop": {"side": 8, "color": None}, "labels": [], "boxes": True}
    made = card(next(iter(models(read(some)).values())), "m")
    name = plain_text(some["studies"][0]["targets"][0]["name"])
    assert f"| {name} | crop, side | 8 |" in made
    assert f"| {name} | boxes | true |" in made
    assert "null" not in made.split("## Model details")[1].split("##")[0]


def test_a_technical_file_has_each_group_with_its_interval_and_marks_what_is_missing(run, results, tmp_path):
    made = transect.export(run, "technical-file", tmp_path)
    head = technical_file.text(read(results), "mine", "28 Nov 2026").splitlines()[2]
    assert head.replace("\\", "") == f"{results['title']}, examined on 28 Nov 2026"
    assert len(made.numbers.files) == len(models(read(results)))
    for name, own in zip(made.numbers.files, models(read(results)).values(), strict=True):
        said = (tmp_path / name).read_text()
        assert len(said.split()) < 1500
        assert said.count("**To state:**") == 8
        listed = [line for line in said.splitlines() if line.startswith("| ") and " to " in line]
        assert listed or not own.rates
        assert all(plain_text(limit) in said for limit in results["limits"])
        assert not re.search(r"complies|compliant|conforms to", said)
        assert "to which the target says yes" not in said, "a detector finds, and answers no question"
    assert "Detection rate: share of images in which the detector finds what it looks for." in said


def test_a_card_says_the_limits_and_runs_nothing_of_a_name(results):
    hostile = json.loads(json.dumps(results))
    name = hostile["studies"][0]["targets"][0]["name"]
    text = json.dumps(hostile).replace(json.dumps(name)[1:-1], "x|<img src=a onerror=b>\\n# [y](z)")
    made = card(read(json.loads(text)), "m")
    body = made.split("---\n", 2)[2]
    assert "<img" not in re.sub(r"\\.", "", body)
    assert "\n# [y]" not in made
    assert all(plain_text(limit) in body for limit in results["limits"])


def test_yaml_reads_back_as_what_it_was(results):
    reader = pytest.importorskip("yaml", reason="needs PyYAML, which reads the text back")
    value = metadata(read(results), "a: #b\n---")
    assert reader.safe_load(yaml(value)) == value
    assert reader.safe_load(yaml({"empty": [], "no": None, "yes": "no", "deep": [[{"a b": 1}]]})) == {
        "empty": [], "no": None, "yes": "no", "deep": [[{"a b": 1}]],
    }  # fmt: skip


@pytest.mark.integration
def test_figures_are_written_as_pictures_and_numbers(run, tmp_path):
    pytest.importorskip("resvg_py", reason="needs the extra figures, which makes pixels")
    made = transect.export(run, "figures", tmp_path)
    kinds = [name.rsplit(".", 1)[1] for name in made.numbers.files]
    assert kinds.count("svg") == kinds.count("png") == kinds.count("csv") > 5
    assert made.numbers.files[0].startswith("report-01-")
    from PIL import Image

    first = next(tmp_path.glob("*-01-*.png"))
    with Image.open(first) as picture:
        assert picture.width == 1440
        assert len(picture.convert("RGB").getcolors(1 << 20)) > 20, "letters, lines and marks are drawn"


def test_the_command_says_what_it_wrote(run, tmp_path):
    said = printed("export", str(run), "--to", "latex", "--out", str(tmp_path / "tex"))
    assert said.strip() == f"2 files as latex in {tmp_path / 'tex'}"
    numbers = json.loads(printed("export", str(run), "--to", "csv", "--out", str(tmp_path), "--json"))
    assert numbers["to"] == "csv"
    assert "effects.csv" in numbers["files"]


@pytest.mark.parametrize("to", ["model-card", "latex", "csv"])
def test_a_file_that_was_filled_in_is_never_replaced_without_being_told(run, tmp_path, to):
    first, *_ = (tmp_path / name for name in transect.export(run, to, tmp_path).numbers.files)
    transect.export(run, to, tmp_path)  # nothing is lost
    text = first.read_text()
    first.write_text(text + "filled in")
    with pytest.raises(BadInput, match=f"{first.name}: expected a new file, found one; .*`overwrite`"):
        transect.export(run, to, tmp_path)
    assert first.read_text() == text + "filled in"
    transect.export(run, to, tmp_path, overwrite=True)
    assert first.read_text() == text


@pytest.mark.parametrize("to", ["csv", "model-card"])
def test_a_folder_without_a_run_is_refused(tmp_path, to):
    with pytest.raises(BadInput, match="expected"):
        transect.export(tmp_path, to)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.browser
def test_a_manager_gets_the_first_screen_on_one_page(run, tmp_path):
    made = transect.export(run, "pdf", tmp_path)
    assert made.numbers.files == ("summary.pdf",)
    content = (tmp_path / "summary.pdf").read_bytes()
    assert content.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", content)) <= 2


def test_a_pdf_needs_a_browser(run, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="expected Chromium or Chrome on PATH; install one, or print"):
        transect.export(run, "pdf", tmp_path / "out")
    assert not (tmp_path / "out").exists()
