"""Calls as users write them. They are not made: `make lint` checks their types, by mypy --strict."""

from pathlib import Path

import numpy as np
import pyarrow as pa

import transect
from transect import (
    AuditRequest,
    ClassifierOptions,
    DirectionsOptions,
    EncodeOptions,
    EngineSettings,
    GanOptions,
    InvertOptions,
    LeakageOptions,
    Limits,
    MatchOptions,
    ModelSettings,
    RatingSettings,
    SearchOptions,
    WorldSettings,
)


def brightness(pixels: np.ndarray) -> np.ndarray:
    return np.asarray(pixels.mean(axis=(1, 2, 3)) / 255)


def calls() -> None:
    """Each job, and what its result holds."""
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
    again = transect.report("runs/a", shares=["clinic.csv", table], perceived=people, ratings=table)
    exported = transect.export("runs/a", "csv", Path("tables"))
    files: tuple[str, ...] = exported.numbers.files
    planned = transect.plan(0.05, 0.1, power=0.8)
    subjects: int = planned.numbers.subjects
    rendered = transect.render("sheet.png", subjects=4, vary=["glasses"])
    images: int = rendered.numbers.images
    searched = transect.search(
        brightness, truth="smile>0.5", vary=["age"], options=SearchOptions(image_size=32), quiet=True
    )
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
    quality: float | None = directions.numbers.attributes[0].quality
    gan = transect.train_gan(pixels, "runs/g", images=16, options=GanOptions(batch=8))
    generator: str = gan.numbers.generator
    encoder = transect.train_encoder("reference", "runs/e", images=16)
    distance: float | None = encoder.numbers.distance
    classifier = transect.train_classifier(pixels, [0, 1], "runs/c", options=ClassifierOptions(epochs=1))
    accuracy: float = classifier.numbers.accuracy
    project = transect.annotate("runs/a", questions=["quality"])
    imported: int = project.import_answers(table).answers
    alpha: float = project.agreement().numbers.questions[0].alpha
    verified = transect.verify("run", run="runs/a", quiet=True)
    written: bool | None = None if verified.numbers.run is None else verified.numbers.run.holds
    with transect.view("runs", port=0) as shown_page:
        address: str = shown_page.url

    for result in (
        audited, cost, opened, again, planned, rendered, searched, matched, near, read, recognized, compared, leaked,
        mitigated, inverted, twins, directions, gan, encoder, classifier, project, project.agreement(), project.validate(), verified,
    ):  # fmt: skip
        as_table: pa.Table = result.table
        page: Path = result.report("pages")
        shown: str = result._repr_html_()
        sentence: str = result.headline()


def wrong_calls() -> None:
    """Calls that the types refuse: an ignore that is not needed is an error too."""
    transect.audit("opencv:haarcascade_smile", subjects="8")  # type: ignore[arg-type]
    transect.plan("0.05", 0.1)  # type: ignore[arg-type]
    transect.render("sheet.png", size=4)  # type: ignore[call-arg]
    transect.nothing("runs/a")  # type: ignore[attr-defined]
    transect.open_run("runs/a").pictures  # type: ignore[attr-defined]
