"""What was asked goes along with exported ratings: a report knows which attribute, scale and levels a column has."""

import audited
import auditing
import numpy as np
import pyarrow.parquet as pq
import pytest

from transect.analysis import findings, finished_run, rater_report, reporting
from transect.errors import BadInput
from transect.ratings import rating_tables as ratings
from transect.records import Attribute
from transect.runs.human_answers import (
    QUESTIONS_KEY,
    RatedQuestion,
    names_by_attribute,
    questions_of,
)
from transect.runs.json_records import plain

HAIR = (
    '[[question]]\nname = "hair"\ntext = "Which hair?"\nscale = "nominal"\nlevels = ["red", "black", "fair", "none"]\n'
)
LEVELS = {"gender": 5, "condition": 2, "hair": 4, "fakeness": 5}


@pytest.fixture(scope="module")
def rated(tmp_path_factory):
    """Eight subjects at two face shapes; four raters see a shape that is a little off; r0 is unsure of the first hair.

    The files: run, project, ratings.parquet, and old.parquet, the same without what was asked.
    """
    from transect.annotation.exchange.incoming import Incoming, take_in
    from transect.annotation.exchange.outgoing import write
    from transect.annotation.project import open_project

    folder = tmp_path_factory.mktemp("asked")
    run = folder / "run"
    options = {"image_size": 32, "quiet": True, "control": False}
    auditing.audit(audited.brightness, vary=["face_shape=0,1"], subjects=8, out=run, **options)
    (folder / "hair.toml").write_text(HAIR)
    project = open_project(run, None, ("paper", "quality", str(folder / "hair.toml")))
    rng, given = np.random.default_rng(0), []
    ids = finished_run.read(run).images["id"].to_pylist()
    for k, image in enumerate(ids):
        for r in range(4):
            for question, n in LEVELS.items():
                level = int(np.clip(round((k % 2) * (n - 1) + rng.normal(0, 0.6)), 0, n - 1))
                level = None if (question, k, r) == ("hair", 0, 0) else level
                given.append(Incoming("test", "", image, "", question, f"r{r}", level))
    take_in(project, given, 1.0)
    write(project, "ratings", folder / "ratings.parquet", "attribute", "")
    pq.write_table(pq.read_table(folder / "ratings.parquet").replace_schema_metadata(None), folder / "old.parquet")
    yield folder, run, project
    project.database.close()


def reported(run, path):
    """Sections of a report with those ratings, by key."""
    ratings.attach(run, None, [], path)
    return {one["key"]: one for one in reporting.report(run).results["sections"]}


@pytest.mark.integration
def test_a_question_about_an_attribute_is_what_people_saw_of_it(rated, tmp_path):
    """`gender` is about face_shape: every number is that of the same answers in a column called face_shape."""
    folder, run, _ = rated
    made = reported(run, folder / "ratings.parquet")
    table = pq.read_table(folder / "old.parquet")
    names = ["face_shape" if name == "gender" else name for name in table.column_names]
    pq.write_table(table.rename_columns(names).drop_columns(["hair"]), tmp_path / "renamed.parquet")
    theirs = reported(run, tmp_path / "renamed.parquet")
    assert made["other raters"] == theirs["other raters"]
    matrix = [row for row in made["perceived"]["tables"][0]["rows"] if not row[1].startswith("hair: ")]
    assert len(matrix) < len(made["perceived"]["tables"][0]["rows"]), "a share of each hair, which has no mean"
    assert matrix == theirs["perceived"]["tables"][0]["rows"]
    assert made["perceived"]["tables"][1] == theirs["perceived"]["tables"][1]
    (row,) = made["other raters"]["tables"][0]["rows"]
    assert row[0] == "face shape"
    assert np.isfinite(row[1:6]).all()
    assert "seen along" in made
    assert "other raters" not in reported(run, folder / "old.parquet"), "its column is about no attribute that is set"


@pytest.mark.parametrize("name", ["gender", "face_shape"])
def test_a_reference_by_the_question_or_by_the_attribute(rated, name):
    folder, run, _ = rated
    ratings.attach(run, None, [], folder / "ratings.parquet")
    seen = finished_run.read(run).seen.people["gender"]
    rater_report.judge(run, f"{name}>=0.5")
    try:
        read = finished_run.read(run)
        np.testing.assert_equal(read.labels(read.spec.targets[0]), (seen >= 0.5) * 1.0)
        page = rater_report.page(rater_report.from_stored(run))
        assert any(one.title.startswith("Farthest from people") for one in page.galleries)
        made = findings.answers_of(read, read.spec.targets[0])
        assert made.truth_attribute == "face_shape"
        np.testing.assert_equal(made.people_truth, (seen >= 0.5) * 1.0)
    finally:
        (run / "reference.json").unlink()


def test_what_was_asked_is_kept_and_read_back(rated):
    folder, run, project = rated
    asked = questions_of(pq.read_table(folder / "ratings.parquet"))
    assert {name: (one.attribute, one.scale) for name, one in asked.items()} == {
        "gender": ("face_shape", "ordinal"), "condition": ("face_shape", "nominal"), "hair": ("", "nominal"),
        "fakeness": ("", "ordinal"),
    }  # fmt: skip
    assert {name: dict(one.unsure) for name, one in asked.items()} == {
        name: {"": int(name == "hair")} for name in LEVELS
    }
    ratings.attach(run, None, [], folder / "ratings.parquet")
    kept, direct = (
        {r.name: r for r in f.rated} for f in (*rater_report.from_stored(run), *rater_report.from_project(project))
    )
    for name, one in kept.items():
        other = direct[name]
        for field in ("values", "levels", "scale", "attribute", "text", "unsure"):
            assert getattr(one, field) == getattr(other, field), (name, field)
        np.testing.assert_allclose(one.mean, other.mean, atol=1e-12)


def test_levels_in_no_order_have_no_mean(rated):
    """Of four hairs the most common one counts; `condition` has two, whose mean is the share of the second."""
    folder, run, _ = rated
    ratings.attach(run, None, [], folder / "ratings.parquet")
    seen = finished_run.read(run).seen.people
    assert set(seen["hair"][np.isfinite(seen["hair"])]) <= {0.0, 1.0, 2.0, 3.0}
    table = pq.read_table(folder / "ratings.parquet").to_pandas().groupby("id", sort=False)
    np.testing.assert_allclose(np.sort(seen["condition"]), np.sort(table["condition"].mean()))
    sections = {one["key"]: one for one in reporting.report(run).results["sections"]}
    rows = {row[0]: row for row in sections["ratings"]["tables"][0]["rows"]}
    assert rows["hair"][-4:] == [None, None, None, "levels in no order"]
    who = {row[0]: row[-1] for row in sections["raters"]["tables"][0]["rows"]}
    assert (who["hair"], who["gender"]) == (1, 0), "cannot tell"
    agreement = {row[0]: row for row in sections["raters"]["tables"][1]["rows"]}
    assert (agreement["hair"][1], agreement["hair"][6]) == ("nominal", None)


def test_who_could_not_tell_is_not_known_without_it(rated):
    folder, run, _ = rated
    who = {row[0]: row[-1] for row in reported(run, folder / "old.parquet")["raters"]["tables"][0]["rows"]}
    assert set(who.values()) == {None}


@pytest.mark.parametrize("text", [b"[]", b'{"gender": {}}', b"nonsense", b'{"gender": 1}'])
def test_other_metadata_is_refused_in_one_line(rated, tmp_path, text):
    folder, run, _ = rated
    table = pq.read_table(folder / "old.parquet").replace_schema_metadata({QUESTIONS_KEY: text})
    pq.write_table(table, tmp_path / "odd.parquet")
    with pytest.raises(
        BadInput, match=r"expected questions in .*, as transect annotate export writes them.*export them again"
    ):
        ratings.attach(run, None, [], tmp_path / "odd.parquet")


def test_one_set_of_answers_has_one_figure_each(rated):
    """The command, the page from the database, and the report from the kept file."""
    from transect.annotation.agreement.summary import summary

    folder, run, project = rated
    ratings.attach(run, None, [], folder / "ratings.parquet")
    told = {one["question"]: one for one in plain(summary(project))["questions"]}
    for (answered,) in (rater_report.from_project(project), rater_report.from_stored(run)):
        section = rater_report.study_sections(answered)[0]
        agreement, each = section.tables[1].rows, {row[0]: row[1:] for row in section.tables[2].rows}
        for name, _, *figures, _ in agreement:
            own = told[name]
            keys = ("percent_agreement", "alpha", "alpha_low", "alpha_high", "median_spread")
            assert figures == pytest.approx([own[key] for key in keys], abs=1e-9), name
            if name in each:
                r, bias = ([one[key] for one in own["by_rater"]] for key in ("correlation", "bias"))
                ends = [len(r), min(r), np.median(r), max(r), min(bias), max(bias)]
                assert each[name] == pytest.approx(ends, abs=1e-9), name
        assert each.keys() == {"gender", "fakeness"}
        assert {name: one["cannot_tell"] for name, one in told.items() if name in LEVELS} == {
            row[0]: row[-1] for row in section.tables[0].rows[: len(LEVELS)]
        }


FACE = Attribute("face_shape", "continuous", "from feminine to masculine")


def question(attribute, scale="ordinal", levels=3, unsure=None):
    values = tuple(float(k) for k in range(levels))
    return RatedQuestion("?", attribute, scale, tuple("abcdef"[:levels]), values, values, unsure or {})


@pytest.mark.parametrize(
    ("columns", "asked", "named"),
    [
        (["gender", "face"], {"gender": question("face_shape"), "face": question("face_shape")}, {"gender": "face_shape"}),
        (["gender", "face_shape"], {"gender": question("face_shape")}, {}),  # the attribute has a column of its own
        (["gender"], {"gender": question("face_shape", "nominal")}, {}),  # three kinds are no place from end to end
        (["gender"], {"gender": question("face_shape", "nominal", 2)}, {"gender": "face_shape"}),
        (["gender"], {"gender": question("hair")}, {}),
        (["gender"], {}, {}),
    ],
)  # fmt: skip
def test_which_column_is_about_which_attribute(columns, asked, named):
    assert names_by_attribute(dict.fromkeys(columns), asked, {"face_shape": FACE}) == named
