"""LaTeX, figures as files, a PDF, and the services MLflow and Weights & Biases."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

import pyarrow as pa

from transect.errors import BadInput, MissingExtra
from transect.reports.entries import EffectEntry
from transect.reports.exports.result_texts import cell, effect_cells, effect_headings, level, rate_cells, tests
from transect.reports.results import RateEntry, Results
from transect.reports.saving import FONT, SavedFigure, saved_figures
from transect.texts import words_of

_ESCAPES: Final = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "−": "$-$",
    "–": "--",
}


def escaped_latex(text: str) -> str:
    """A text of others as LaTeX: nothing in it is a command, and it is one line."""
    return "".join(_ESCAPES.get(letter, letter) for letter in " ".join(text.split()))


def latex_table(caption: str, label: str, headings: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> str:
    """A table with booktabs' rules. left: columns that are aligned to the left; the others are to the right."""
    columns = "l" * left + "r" * (len(headings) - left)
    lines = [" & ".join(map(escaped_latex, row)) + r" \\" for row in rows]
    head = " & ".join(map(escaped_latex, headings)) + r" \\"
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escaped_latex(caption)}}}",
            rf"\label{{tab:{label}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            head,
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def latex(results: Results) -> dict[str, str]:
    """effects.tex and rates.tex, for a document that uses booktabs."""
    rows = [[cell(row, results), *rate_cells(row, results)] for row in results.rates if row.order <= 1]
    headings = ["Images with", "Model", "Outcome", "Rate or mean", f"{level(results)} interval", "Images"]
    caption = f"Rates by level, shares in per cent: {results.title}."
    return {
        "effects.tex": _HEAD + _effects(results),
        "rates.tex": _HEAD + latex_table(caption, "transect-rates", headings, rows, 3),
    }


_HEAD: Final = "% needs \\usepackage{booktabs}\n"


def _effects(results: Results) -> str:
    rows = [effect_cells(row, results) for row in results.effects]
    caused = all(row.basis == "experimental" for row in results.effects)
    what = "Effects of single attributes" if caused else "Differences between groups"
    caption = f"{what}: {results.title}. {tests(results)}"
    return latex_table(caption, "transect-effects", effect_headings(results), rows, 3)


_SCALE: Final = 2
"""Pixels of the PNG for each of the SVG."""
_PROBE: Final = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">{}</svg>'
"""A small picture that has pixels only if there is a font for its letter."""


def pages_of(run: Path) -> list[Path]:
    """The pages in a folder by their stems, or the page itself. Raises BadInput where there is none."""
    pages = (
        sorted(run.glob("*.html"), key=lambda page: page.stem)
        if run.is_dir()
        else [run]
        if run.suffix == ".html" and run.is_file()
        else []
    )
    if not pages:
        raise BadInput(f"{run}: no Transect page, such as report.html; give one, or a folder with one")
    return pages


def figures(run: Path) -> dict[str, str | bytes]:
    """Every figure of the pages; names are numbered in the order of the page.

    Raises MissingExtra without the library that makes pixels, BadInput where no page has a figure.
    """
    found = list(_figures(run))
    if not found:
        raise BadInput(f"{run}: no figures that can be saved; write the page again")
    files: dict[str, str | bytes] = {}
    for stem, figure in found:
        files |= {f"{stem}.svg": figure.svg, f"{stem}.png": png(figure.svg)}
        if figure.csv:
            files[f"{stem}.csv"] = figure.csv
    return files


def _figures(run: Path) -> Iterator[tuple[str, SavedFigure]]:
    for page in pages_of(run):
        try:
            text = page.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise BadInput(f"{page}: expected a Transect page in UTF-8") from None
        for number, figure in enumerate(saved_figures(text), start=1):
            yield f"{page.stem}-{number:02d}-{figure.name}", figure


def png(svg: str) -> bytes:
    """The picture of an SVG, at twice its size."""
    try:
        import resvg_py
    except ImportError:
        raise MissingExtra("figures", "a figure as PNG") from None
    letter = f'<text x="2" y="16" font-family="{FONT}">A</text>'
    if _pixels(resvg_py, _PROBE.format("")) == _pixels(resvg_py, _PROBE.format(letter)):
        raise BadInput("figures as PNG: found no font; install one, such as fonts-dejavu-core")
    return _pixels(resvg_py, svg)


def _pixels(library: Any, svg: str) -> bytes:
    return bytes(library.svg_to_bytes(svg_string=svg, zoom=_SCALE))


_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SAFE: Final = (
    "<!DOCTYPE html><meta http-equiv='Content-Security-Policy' "
    "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"
)
"""Before all of a page, which may be a stranger's: it loads nothing and runs nothing."""
_OFFLINE: Final = "--host-resolver-rules=MAP * ~NOTFOUND"
_FIRST_SCREEN: Final = (
    "<style>main > section:not(#summary), .summary details:not(:has(.limits)), footer { display: none !important; }"
    "@page { size: A4; margin: 14mm; }</style></head>"
)
"""What a manager's page leaves out of a report: all but its first screen and its limits."""


def pdf(run: Path) -> dict[str, bytes]:
    """summary.pdf: the first screen of the report on A4, printed by Chromium or Chrome.

    Raises BadInput without a report or a browser.
    """
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise BadInput(f"--to pdf: expected Chromium or Chrome on PATH; install one, or print {run / 'report.html'}")
    try:
        text = (run / "report.html").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise BadInput(f"{run}: expected a report; write it: transect report {run}") from None
    with tempfile.TemporaryDirectory() as folder:
        page, made = Path(folder) / "page.html", Path(folder) / "page.pdf"
        page.write_text(_SAFE + text.replace("</head>", _FIRST_SCREEN, 1), encoding="utf-8")
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium has none for root
        options = ["--headless", *sandbox, _OFFLINE, f"--user-data-dir={folder}/profile", "--no-pdf-header-footer"]
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(  # noqa: S603  (a browser of the user)
                [browser, *options, f"--print-to-pdf={made}", page.as_uri()],
                capture_output=True,
                timeout=_PRINTING,
                check=False,
            )
        if not made.is_file():
            raise BadInput(f"{browser} made no PDF of {run / 'report.html'}; print the page from your browser instead")
        return {"summary.pdf": made.read_bytes()}


_PRINTING: Final = 120
"""Seconds after which a browser that does not print is stopped."""
_NOT_IN_A_NAME: Final = re.compile(r"[^\w\-. /]+")
_LONGEST: Final = 250
_Mode = Literal["online", "offline", "disabled", "shared"]
_FILES: Final = ("results.json", "report.html", "report-numbers.html", "effects.parquet")


def metrics(results: Results) -> dict[str, float]:
    """Every effect and every overall rate with the ends of its interval, by study, target, outcome and name.

    What is not estimable is left out here, and stands in the tables with its reason.
    """
    found: dict[str, float] = {}
    several = len(results.studies) > 1
    for row in results.effects:
        name = "/".join(["effect", *([row.study] if several else []), row.target, row.outcome, row.name])
        found |= _with_ends(name, row.estimate, row, {"p_adjusted": row.p_adjusted})
    for rate in results.rates:
        if rate.order == 0:
            of = [*([rate.study] if several else []), rate.target, rate.outcome, cell(rate, results)]
            found |= _with_ends("/".join(["rate", *of]), rate.rate, rate, {})
    return found


def _with_ends(
    name: str, value: float | None, row: EffectEntry | RateEntry, more: Mapping[str, float | None]
) -> dict[str, float]:
    """Names with the letters that both services take."""
    clean = _NOT_IN_A_NAME.sub(" ", name).replace("//", "/")[: _LONGEST - 20].strip()
    numbers = {clean: value, f"{clean}/low": row.low, f"{clean}/high": row.high}
    numbers |= {f"{clean}/{key}": number for key, number in more.items()}
    return {key: float(number) for key, number in numbers.items() if number is not None}


def settings(results: Results) -> dict[str, str]:
    """What identifies the run: versions, seeds, subjects, targets. No setting of a server is among them."""
    studies = results.studies
    return {
        "transect_version": results.transect_version,
        "question": results.question[:_LONGEST],
        "studies": ", ".join(study.name for study in studies)[:_LONGEST],
        "targets": ", ".join(dict.fromkeys(t.name for s in studies for t in s.targets))[:_LONGEST],
        "subjects": ", ".join(str(study.subjects) for study in studies),
        "seeds": ", ".join(str(study.seed) for study in studies),
        "spec_hashes": ", ".join(study.spec_hash for study in studies)[:_LONGEST],
        "correction": results.family.method,
    }


def artifacts(run: Path) -> list[Path]:
    """The files of the run that are kept with it."""
    return [run / name for name in _FILES if (run / name).is_file()]


def to_mlflow(results: Results, run: Path, out: Path, project: str) -> str:
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
        made = client.create_run(experiment, run_name=results.title[:_LONGEST])
        number = made.info.run_id
        logged = [Metric(key, value, made.info.start_time, 0) for key, value in metrics(results).items()]
        client.log_batch(number, metrics=logged, params=[Param(*pair) for pair in settings(results).items()])
        for path in artifacts(run):
            client.log_artifact(number, str(path))
        client.set_terminated(number)
    except MlflowException as failure:
        said = words_of(failure).replace(stated or uri, "its store")  # an address may hold a password
        raise BadInput(f"MLflow refused the run: {said}") from None
    return f"run {number} of experiment {project}" + ("" if stated else f" in {uri}")


def to_wandb(results: Results, tables: Mapping[str, pa.Table], run: Path, out: Path, project: str) -> str:
    """Log to Weights & Biases in the mode of WANDB_MODE, or else offline in `out`; returns where the run is."""
    try:
        import wandb
    except ImportError:
        raise MissingExtra("wandb", "an export to Weights & Biases") from None
    out.mkdir(parents=True, exist_ok=True)
    quiet = wandb.Settings(silent=True, console="off")
    try:
        logged = wandb.init(project=project, dir=str(out), mode=_mode(), config=settings(results), settings=quiet)
        logged.name = results.title[:_LONGEST]
        logged.summary.update(metrics(results))
        rows = {name: [list(row.values()) for row in table.to_pylist()] for name, table in tables.items()}
        logged.log({name: wandb.Table(columns=tables[name].column_names, data=data) for name, data in rows.items()})
        kept = wandb.Artifact("transect-run", type="audit")
        for path in artifacts(run):
            kept.add_file(str(path))
        logged.log_artifact(kept)
        place = logged.dir
        logged.finish()
    except wandb.errors.Error as failure:
        raise BadInput(f"Weights & Biases did not start a run: {words_of(failure)}") from None
    folder = Path(place).parent
    uploaded = f"offline run in {folder}; upload it with: wandb sync {folder}"
    return uploaded if _mode() == "offline" else f"run in {folder}"


def _mode() -> _Mode:
    """How Weights & Biases logs: offline, unless its own variable says otherwise. Raises BadInput for another word."""
    mode = os.environ.get("WANDB_MODE", "offline")
    if mode not in get_args(_Mode):
        raise BadInput(f"WANDB_MODE: expected one of {', '.join(get_args(_Mode))}, got {mode!r}; change or unset it")
    return cast("_Mode", mode)
