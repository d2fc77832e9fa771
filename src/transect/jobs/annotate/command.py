"""`transect annotate`: people rate a run's images, and their answers come back; judges are compared with them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transect.console.options import Json
from transect.console.results import show
from transect.errors import BadInput
from transect.runs.json_records import dumps
from transect.runs.wording import spaced
from transect.texts import say

if TYPE_CHECKING:
    from transect.jobs.annotate.run import AnnotationProject


annotate = typer.Typer(name="annotate", help="Have people rate images, and use their answers.", no_args_is_help=True)

Run = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        help="A run folder (audit, inversion, encoding, data set), a folder of studies or images, READER:PATH, or "
        "texts:FOLDER.",
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--database", help="A file or postgresql://user@host/name; default in RUN/annotations/ or annotations-NAME/."
    ),
]
Photographs = Annotated[
    str | None,
    typer.Option(
        help="Of an inversion: the photographs, a folder or READER:PATH, to rate pairs of both. Fixed at the first use."
    ),
]
Questions = Annotated[
    list[str] | None,
    typer.Option(
        help="paper (default), monk, pairs, same-person, quality, edits or a TOML file; repeat. Fixed once used."
    ),
]


@annotate.command()
def serve(
    run: Run,
    host: Annotated[
        str, typer.Option(help="Address to listen on; by default only this machine can connect.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free port.")] = 8000,
    database: Address = None,
    questions: Questions = None,
    public_url: Annotated[
        str | None,
        typer.Option(
            help="Public address behind a proxy, as https://rate.example; requests for other names are refused."
        ),
    ] = None,
    examples: Annotated[bool, typer.Option(help="Show rendered example faces next to the levels.")] = True,
    photographs: Photographs = None,
    json: Json = False,
) -> None:
    """Serve the pages for raters and for the organiser until you stop the command.

    The organiser's password comes from TRANSECT_ADMIN_PASSWORD; without it, a password is generated and printed once.
    """
    import transect.annotation.database  # noqa: F401  (says which extra is missing)
    from transect.annotation.questions import check_examples, load, render_examples
    from transect.annotation.raters import environment_password, set_password
    from transect.annotation.server.app import create_app
    from transect.annotation.server.listening import check_address, serve

    # Bad input is refused before the database is created: its questions are fixed from then on.
    url, hosts = _reached(host, public_url)
    environment_password()
    if examples and questions:
        check_examples(load(questions))
    check_address(host, port)
    rated = _project(run, database, questions, photographs)
    project = rated.open()
    password = set_password(project.database)
    folder = render_examples(project.questionnaire, rated.home) if examples else None
    secure = bool(public_url and public_url.startswith("https://"))
    public = (url or "").partition("://")[2]
    app = create_app(project, hosts, examples=folder, secure=secure, public=public)

    def ready(listening: int) -> None:
        address = url or f"http://{f'[{host}]' if ':' in host else host}:{listening}"
        project.database.set({"url": address})
        _announce(address, host, listening, password, json)

    try:
        serve(app, host, port, ready)
    finally:
        project.database.close()


@annotate.command()
def invite(
    run: Run,
    raters: Annotated[int, typer.Option(help="Number of new raters.")] = 1,
    database: Address = None,
    questions: Questions = None,
    url: Annotated[
        str | None,
        typer.Option(help="Start of the links; default: the last served address, else port 8000 of this machine."),
    ] = None,
    photographs: Photographs = None,
    json: Json = False,
) -> None:
    """Create raters and print a link for each. Links are printed once: only their hashes are stored."""
    invitations = _project(run, database, questions, photographs).invite(raters, url)
    if json:
        links, names = zip(*((invitation.link, invitation.rater) for invitation in invitations), strict=True)
        say(dumps({"links": links, "raters": names}))
        return
    say("\n".join(f"{invitation.rater}  {invitation.link}" for invitation in invitations))


@annotate.command()
def export(
    run: Run,
    out: Annotated[Path | None, typer.Option(help="Output file; default by format, beside the database.")] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--format",
            help="answers (.csv or .parquet), ratings (for --ratings of report), pairs (for same-person), mturk, "
            "ground-truth, label-studio.",
        ),
    ] = "answers",
    scale: Annotated[
        str, typer.Option(help="Scale of ratings: attribute (its units) or unit (0 to 1, as --prune expects).")
    ] = "attribute",
    price: Annotated[
        float | None, typer.Option(help="Also print the cost of all answers at this price per answer.")
    ] = None,
    image_url: Annotated[
        str, typer.Option(help="For mturk, ground-truth and label-studio: start of the addresses of pictures.")
    ] = "",
    database: Address = None,
    questions: Questions = None,
    photographs: Photographs = None,
    json: Json = False,
) -> None:
    """Write answers, or tasks for other services, to files."""
    _need_extra()
    from transect.annotation import progress
    from transect.annotation.exchange import outgoing
    from transect.annotation.exchange.crowd import check_level_names
    from transect.annotation.questions import load

    outgoing.default(run, kind)
    if price is not None:
        progress.check_price(price)
    for question in load(questions).question if questions and kind == "label-studio" else ():
        check_level_names(question)
    project = _project(run, database, questions, photographs)
    written = project.export(out, kind, scale, image_url)
    if price is not None:
        with closing((opened := project.open()).database):
            written["cost"] = progress.estimate(opened, price)
    _print_fields(written, json)


@annotate.command("import")
def import_(
    run: Run,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file of answers.")],
    kind: Annotated[
        str, typer.Option("--format", help="answers (.csv or .parquet), mturk, ground-truth, label-studio.")
    ] = "answers",
    database: Address = None,
    questions: Questions = None,
    photographs: Photographs = None,
    json: Json = False,
) -> None:
    """Import answers from a file: all or none, and no answer twice."""
    imported = _project(run, database, questions, photographs).import_answers(file, kind)
    counts = {"imported": imported.answers, "already_there": imported.duplicates, "new_raters": imported.raters}
    _print_fields({**counts, "left_out": dict(imported.left_out)}, json)


@annotate.command()
def agreement(run: Run, database: Address = None, json: Json = False) -> None:
    """Measure how far raters agree with each other, with known answers and with themselves."""
    _need_extra()
    from transect.annotation.agreement.summary import lines

    result = _project(run, database).agreement()
    show(result, json, *lines(result.numbers))


@annotate.command()
def report(
    run: Run,
    database: Address = None,
    out: Annotated[Path | None, typer.Option(help="The folder of the page; default beside the database.")] = None,
    scale: Annotated[str, typer.Option(help="Of answers: attribute (its units) or unit (0 to 1).")] = "attribute",
    prune: Annotated[
        list[str] | None, typer.Option(help="Mark images that such a rule leaves out, e.g. 'fakeness>=0.75'; repeat.")
    ] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(help="Other rated images, as RUN: distributions of all answers, set beside set; repeat."),
    ] = None,
    by: Annotated[str, typer.Option(help="Distributions by this question, in two halves of its scale.")] = "",
    json: Json = False,
) -> None:
    """Write the page on the raters: agreement, answers along transects, faces by score, largest deviations.

    Answers come from the annotation database, or, where the run has none, from the file kept by --ratings.
    """
    page = _project(run, database).raters_page(out, scale, prune or (), beside or (), by)
    _print_fields({"report": str(page.path), **page.facts}, json)


@annotate.command()
def machine(
    run: Run,
    rater: Annotated[
        str, typer.Option(help="attributes (the built-in network), or clip:FOLDER of a saved CLIP in safetensors.")
    ] = "attributes",
    questions: Questions = None,
    out: Annotated[
        Path | None, typer.Option(help="CSV or Parquet; default machine.parquet beside the database.")
    ] = None,
    device: Annotated[str, typer.Option(help="Where the network runs: cpu, cuda and so on.")] = "cpu",
    json: Json = False,
) -> None:
    """Have a model answer the questions about single images; its answers are marked as a machine's.

    Pass the file to `--perceived` of report, not to `--ratings`, which is for people.
    """
    from transect.annotation.machine import write

    _print_fields(write(run, rater, tuple(questions or ("paper",)), out, device), json)


@annotate.command("questions")
def write_questions(
    run: Run,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The TOML file of questions to write.")],
    json: Json = False,
) -> None:
    """Write questions about the quality of a run's images and about each attribute that it set (McDuff et al. 2019).

    Read the wording, change it where you like, and give the file to: transect annotate serve RUN --questions OUT.
    """
    from transect.jobs.annotate.run import write_questions

    names = write_questions(run, out)
    _print_fields({"out": str(out), "questions": names}, json)


@annotate.command()
def validate(
    run: Run,
    condition: Annotated[str, typer.Option(help="The question about the condition that was set.")] = "condition",
    quality: Annotated[str, typer.Option(help="The question about the picture's quality.")] = "quality",
    max_differing: Annotated[float, typer.Option(help="Gate: share of images seen as another condition.")] = 0.05,
    min_quality: Annotated[float, typer.Option(help="Gate: mean quality, in its own units.")] = 2.5,
    max_unidentifiable: Annotated[
        float, typer.Option(help="Gate: share of images of which most raters say that no face is identifiable.")
    ] = 0.0,
    quality_margin: Annotated[
        float,
        typer.Option(
            help="Gate: mean quality of any two levels differs by less, by its 90 % interval, in the question's units."
        ),
    ] = 0.5,
    min_images: Annotated[
        int, typer.Option(help="Gate: least rated images, overall and per level; those of a subject count once.")
    ] = 20,
    require: Annotated[bool, typer.Option("--require", help="Exit with an error if a gate is not met.")] = False,
    database: Address = None,
    json: Json = False,
) -> None:
    """Check with raters whether images show the intended condition and look equally good (McDuff et al. 2019).

    Writes RUN/validation.json. The questions are those of `--questions quality`, or of `transect annotate questions`.
    """
    from transect.effects.image_validation import Gates
    from transect.jobs.annotate import validation

    gates = Gates(max_differing, min_quality, max_unidentifiable, quality_margin, min_images)
    result = _project(run, database).validate(condition, quality, gates)
    show(result, json, *result.lines())
    if require:
        validation.require(run / validation.FILE, result.numbers)


@annotate.command("same-person")
def same_person(
    answers: Annotated[Path, typer.Argument(metavar="ANSWERS", help="Answers about pairs, as exported.")],
    pairs: Annotated[Path, typer.Option(help="CSV of pairs: first, second, kind; optionally study, group, distance.")],
    question: Annotated[str | None, typer.Option(help="Question to analyse, if the file has several.")] = None,
    unanswered: Annotated[str, typer.Option(help='How to count a missing answer: "left out" or "same".')] = "left out",
    json: Json = False,
) -> None:
    """Count how often raters take two images for the same person, by familiarity and group (Singh et al. 2021)."""
    from transect.jobs.annotate.run import same_person

    result = same_person(answers, pairs, unanswered=unanswered, question=question)  # type: ignore[arg-type]
    show(result, json, *result.lines())


def _need_extra() -> None:
    """Raise MissingExtra where the libraries of the annotation service are not installed."""
    import transect.annotation.database  # noqa: F401


def _project(
    run: Path, database: str | None, questions: list[str] | None = None, photographs: str | None = None
) -> AnnotationProject:
    _need_extra()
    from transect.jobs.annotate.run import AnnotationProject

    return AnnotationProject(run, tuple(questions or ()), database, photographs)


def _reached(host: str, public_url: str | None) -> tuple[str | None, frozenset[str]]:
    """The address that links begin with, where it is known, and the names that the server answers to."""
    from urllib.parse import urlsplit

    from transect.annotation.server.listening import LOOPBACK

    if public_url is not None:
        try:
            parts = urlsplit(public_url)
            port = "" if parts.port in (None, {"http": 80, "https": 443}.get(parts.scheme)) else f":{parts.port}"
        except ValueError:
            parts, port = urlsplit(""), ""
        more = parts.path not in ("", "/") or parts.query or parts.fragment or "@" in parts.netloc
        if parts.scheme not in ("http", "https") or not parts.hostname or more:
            raise BadInput(
                f"--public-url: expected an address such as https://rate.example, got {public_url!r}; fix it"
            )
        name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return f"{parts.scheme}://{name}{port}", LOOPBACK | {parts.hostname}
    return None, LOOPBACK if host in LOOPBACK else frozenset()


def _announce(address: str, host: str, port: int, password: str | None, as_json: bool) -> None:
    from transect.annotation.server.listening import LOOPBACK

    open_to = "this machine alone" if host in LOOPBACK else "every machine that reaches this one"
    if as_json:
        facts = {"url": address, "admin": f"{address}/admin", "host": host, "port": port, "password": password}
        say(dumps(facts, None))
        return
    lines = [f"raters and organiser: {address} (open to {open_to}; organiser: {address}/admin)"]
    if password is not None:
        lines.append(f"the organiser's password, shown this once: {password}")
    say("\n".join(lines))
    if host not in LOOPBACK and not address.startswith("https://"):
        say("warning: without HTTPS in front of it, links and answers can be read on their way", error=True)


def _print_fields(fields: Mapping[str, Any], as_json: bool) -> None:
    """Print fields as lines, or as JSON."""
    if as_json:
        say(dumps(fields))
        return
    for name, value in fields.items():
        if value == {}:
            continue
        text = ", ".join(f"{key} {entry}" for key, entry in value.items()) if isinstance(value, dict) else value
        say(f"{spaced(name)}: {text}")


def judge(run: Run, database: Address = None, json: Json = False) -> None:
    """Measure how far a run's judge model agrees with people's codes of its texts (RUN: texts:FOLDER).

    Writes judge_agreement.json into the run's folder, which its report reads.
    """
    found = _project(run, database).judge()
    from transect.jobs.annotate.judging import lines

    say(dumps(found) if json else "\n".join(lines(found)))
