"""The public names: each can be imported, and a user's typed calls pass mypy --strict against the installed package."""

import inspect
import re
import subprocess
import sys

import pytest
from places import ROOT

import transect

JOBS = (
    "audit", "plan", "render", "sample_data", "search", "readings", "match", "neighbours", "recognition", "retrieve", "leakage", "mitigate",
    "encode", "invert", "fit_twins", "compare_recognizers",
    "fit_directions", "train_gan", "train_encoder", "train_classifier", "annotate", "verify", "report", "open_run", "view",
    "audit_cost", "audit_preset", "init", "study", "check", "compare", "export", "list_runs", "reproduce", "replicate",
)  # fmt: skip


@pytest.mark.parametrize("name", transect.__all__)
def test_a_public_name_is_there(name):
    assert getattr(transect, name) is not None


def test_a_name_that_is_not_there_is_an_attribute_error():
    assert not hasattr(transect, "audits")


def test_no_folder_has_the_name_of_a_function():
    """Importing a module of that folder would put the folder in the function's place."""
    folders = {path.name for path in (ROOT / "src" / "transect").iterdir() if path.is_dir()}
    assert not folders & set(JOBS)


def test_every_name_in_the_tables_of_the_reference_can_be_imported_as_shown():
    """In a fresh process, where no other test has imported a submodule."""
    rows = re.findall(r"^\| (`.+?) \| ", (ROOT / "docs" / "reference" / "python.md").read_text(), re.MULTILINE)
    statements = [span.split("(")[0] for row in rows for span in re.findall("`(.+?)`", row)]
    assert len(statements) > 60
    assert all(each.startswith(("transect.", "from transect.")) for each in statements)
    names = [each for each in statements if each.startswith("transect.")]  # before any import adds an attribute
    imports = [each for each in statements if each.startswith("from ")]
    code = "\n".join(["import transect", *names, *imports])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_reference_lists_every_public_name():
    text = (ROOT / "docs" / "reference" / "python.md").read_text()
    modules = {"effects", "generators", "targets", "testing", "__version__"}
    assert [name for name in transect.__all__ if name not in modules and f"`transect.{name}" not in text] == []


@pytest.mark.parametrize("name", JOBS)
def test_a_job_takes_at_most_twelve_typed_arguments(name):
    signature = inspect.signature(getattr(transect, name))
    assert len(signature.parameters) <= 12
    assert all(each.annotation is not inspect.Parameter.empty for each in signature.parameters.values())
    assert signature.return_annotation is not inspect.Signature.empty


USER = """
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import transect
from transect import (
    AuditRequest, ClassifierOptions, DirectionsOptions, EncodeOptions, EngineSettings, GanOptions, InvertOptions,
    LeakageOptions, Limits, MatchOptions, ModelSettings, RatingSettings, SearchOptions, WorldSettings,
)


def brightness(pixels: np.ndarray) -> np.ndarray:
    return np.asarray(pixels.mean(axis=(1, 2, 3)) / 255)


pixels = np.zeros((8, 64, 64, 3), dtype=np.uint8)
people = {"age": [20.0, 30.0], "glasses": [0, 1], "who": ["a", "b"]}
table = pa.table(people)
request = AuditRequest(
    vary={"skin_tone": (1, 10), "glasses": None},
    model=ModelSettings(threshold=0.4),
    limits=Limits(timeout=5.0),
    world=WorldSettings(population="celebrity-like"),
    ratings=RatingSettings(perceived=table, ratings=Path("ratings.csv"), prune=["age<0.4"]),
)
audited = transect.audit(brightness, request, subjects=8, out="runs/a")
audited = transect.audit(["opencv:haarcascade_smile", brightness], vary=["glasses"], out=Path("runs/b"))
estimate: float = audited.effects[0].estimate
cost = transect.audit_cost(brightness, request)
money: float | None = cost.numbers.cost
opened = transect.open_run("runs/a")
rows: int = opened.images.num_rows
again = transect.report("runs/a", correction="max-t", shares=["clinic.csv", table], perceived=people, ratings=table)
exported = transect.export("runs/a", "csv", Path("tables"))
files: tuple[str, ...] = exported.numbers.files
planned = transect.plan(0.05, 0.1, power=0.8)
subjects: int = planned.numbers.subjects
rendered = transect.render("sheet.png", subjects=4, vary=["glasses"])
images: int = rendered.numbers.images
searched = transect.search(brightness, truth="smile>0.5", vary=["age"], options=SearchOptions(image_size=32), quiet=True)
rate: float = searched.numbers.estimate.rate
matched = transect.match(np.eye(2), "glasses", people, options=MatchOptions(ratio=2))
verdict: str = matched.numbers.verdict
near = transect.neighbours({"latents": np.eye(2)}, table, attributes=["age"], k=1)
error: float = near.numbers.distances[0].attributes[0].error
read = transect.readings(table, "readings", pictures="image", landmarks="points.dat", quiet=True)
whole: int = read.numbers.whole
recognized = transect.recognition(table, "who", "glasses", embeddings=np.eye(2), quiet=True)
misses: float = recognized.numbers.samples["all"].groups[0].rates[0].fnmr
compared = transect.compare_recognizers({"one": recognized, "two": recognized})
relative: float = compared.numbers.gaps[0].relative
retrieved = transect.retrieve("runs/a", "hf:clip", ["a photo of a doctor"], first=10, quiet=True)
ndkl: float = retrieved.numbers.queries[0].skew.ndkl.estimate
leaked = transect.leakage(table, "glasses", ["age"], options=LeakageOptions(rounds=2))
leakage: float | None = leaked.numbers.dataset_leakage.estimate
mitigated = transect.mitigate({"mitigations": []}, "runs/m", quiet=True)
kind: str = mitigated.numbers.mitigations[0].kind
inverted = transect.invert(pixels, "reference", "runs/i", steps=4, options=InvertOptions(batch=2))
failed: int = inverted.numbers.failed
encoded = transect.encode(pixels, "reference", "runs/e", options=EncodeOptions(engine=EngineSettings("local", 2)))
space: str = encoded.numbers.space
twins = transect.fit_twins(pixels, "runs/t", marks="network", size=96, engine=EngineSettings("local", 2))
apart: float = twins.numbers.residuals[0].size
directions = transect.fit_directions("faceworld", people, ["age"], options=DirectionsOptions(labelled_by="people"))
quality: float = directions.write("age.safetensors").numbers.attributes[0].quality
gan = transect.train_gan(pixels, "runs/g", images=16, options=GanOptions(batch=8))
generator: Path = gan.model
encoder = transect.train_encoder("reference", "runs/e", images=16)
distance: float | None = encoder.numbers.distance
classifier = transect.train_classifier(pixels, [0, 1], "runs/c", options=ClassifierOptions(epochs=1))
accuracy: float = classifier.numbers.accuracy
project = transect.annotate("runs/a", questions=["quality"])
imported: int = project.import_answers(table).answers
alpha: float = project.agreement().numbers.questions[0].alpha
verified = transect.verify("estimators", seeds=10, quiet=True)
proven: str = verified.numbers.estimators[0].method
protocol = transect.study("wang2019", profile="small", variables={"rounds": 1}, quiet=True)
with transect.view("runs", port=0) as shown_page:
    address: str = shown_page.url
done: bool = protocol.numbers.steps[0].state == "finished" and not protocol.waiting

for result in (
    audited, cost, opened, again, planned, rendered, searched, matched, near, read, recognized, compared, leaked,
    mitigated, inverted, swept, twins, directions, gan, encoder, classifier, project, project.agreement(), project.validate(), verified, protocol,
):  # fmt: skip
    as_table: pa.Table = result.table
    page: Path = result.report("pages")
    shown: str = result._repr_html_()
    sentence: str = result.headline()
"""

LIBRARIES = (
    "accelerate", "anyio", "cryptography", "cv2", "diffusers", "fastapi", "huggingface_hub", "jinja2", "matplotlib", "mlflow", "obstore",
    "PIL", "pydantic", "ray", "requests", "rich", "scipy", "sqlalchemy", "starlette", "sympy", "torch", "transformers", "typer", "uvicorn", "wandb",
)  # fmt: skip
UNREAD = f"[mypy]\n[mypy-{'.*,'.join(LIBRARIES)}.*]\nfollow_imports = skip\n"
"""The insides of libraries that no type of the user's file comes from: most of the time."""

WRONG = """
import transect

transect.audit("opencv:haarcascade_smile", subjects="8")
transect.plan("0.05", 0.1)
transect.render("sheet.png", size=4)
transect.nothing("runs/a")
transect.open_run("runs/a").pictures
"""


def test_a_users_file_passes_mypy_strict_and_wrong_calls_do_not(tmp_path):
    (tmp_path / "user.py").write_text(USER)
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "mypy.ini").write_text(UNREAD)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "user.py", "wrong.py"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    places = [line.split(" ")[0] for line in done.stdout.splitlines() if " error: " in line]
    assert places == [f"wrong.py:{line}:" for line in (4, 5, 6, 7, 8)], done.stdout
