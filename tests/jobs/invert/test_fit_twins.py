"""`transect invert --generator faceworld`: FaceWorld's own pictures as photographs, and what cannot be fitted."""

from __future__ import annotations

import io

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from PIL import Image
from published import fits

import transect
from transect.datasets import open_dataset
from transect.errors import FolderOfAnotherSpec, Interrupted
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS, LATENT_DIM, SPACE
from transect.generators.faceworld.world import FaceWorld
from transect.inversion import twin_runs as twins
from transect.inversion import twins as fitting
from transect.inversion.twins import CODE, SETTINGS, twin
from transect.marks.records import Marks
from transect.records import Latents

SIZE = 48
PEOPLE = [3, 4, 6]


class Known:
    """A finder that knows the points of FaceWorld's pictures, and no face on any other."""

    name, threshold = "known", 0.5

    def __init__(self, pixels, points):
        self.known = {picture.tobytes(): where for picture, where in zip(pixels, points, strict=True)}

    def describe(self):
        return {"name": self.name}

    def find(self, pixels, rows=None):
        nothing = np.full((68, 2), np.nan)
        return Marks.of_points(np.array([self.known.get(each.tobytes(), nothing) for each in pixels]), self.name)


@pytest.fixture(scope="module")
def faces(tmp_path_factory):
    """Three people, one of them grey, a small and a noisy picture; with labels."""
    folder, world = tmp_path_factory.mktemp("faces"), FaceWorld(image_size=SIZE, threads=1)
    subjects = world.sample(PEOPLE)
    pixels, points = world.render(subjects).pixels, world.landmarks(subjects)
    noise = np.random.default_rng(0).integers(0, 256, (SIZE, SIZE, 3), dtype=np.uint8)
    pictures = [*pixels, noise, pixels[0][:20, :20], np.asarray(Image.fromarray(pixels[1]).convert("L"))]
    rows = ["file,subject,smile,shown"]
    for number, picture in enumerate(pictures):
        Image.fromarray(picture).save(folder / f"{number}.png")
        rows.append(f"{number}.png,{'ada' if number in (0, 2) else number},{number % 2},{number % 2}")
    (folder / "labels.csv").write_text("\n".join(rows))
    return folder, Known(pixels, points)


@pytest.fixture(autouse=True, scope="module")
def _few_steps():
    """Twins need not be near here; `tests/inversion/test_twins.py` measures that."""
    with pytest.MonkeyPatch.context() as patch:
        for place, name, value in (
            (fitting, "_STEPS", 3), (fitting, "_LIGHT_STEPS", 1), (fitting, "_TONES", (5.5, 5.5)), (twins, "FIT_SIZE", 32),
        ):  # fmt: skip
            patch.setattr(place, name, value)
        yield


@pytest.fixture(scope="module")
def done(faces, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "twins"
    result = transect.fit_twins(f"folder:{faces[0]}", out, marks=faces[1], size=SIZE, quiet=True)
    return out, result, result.table


@pytest.mark.integration
def test_who_has_a_twin_and_who_has_none_is_counted(done):
    numbers = done[1].numbers
    assert (numbers.photographs, numbers.fitted) == (6, 3)
    assert numbers.left_out == {
        "no points are known": 1, "photographs with a side below 32 pixels": 1, "photographs without color": 1,
    }  # fmt: skip
    groups = [(group.label, group.level, group.photographs, group.left_out) for group in numbers.groups]
    assert groups == [("smile", "no", 3, 1), ("smile", "yes", 3, 2), ("shown", "no", 3, 1), ("shown", "yes", 3, 2)]
    fits(done[1])


def test_residuals_are_summed_up_by_hand(done):
    rows = [row for row in done[1].table.to_pylist() if not row["reason"]]
    for name in ("points", "side_light"):
        summary = next(each for each in done[1].numbers.residuals if each.name == name)
        values = sorted(row[name] for row in rows)
        assert summary.median == values[1]
        assert summary.size == sorted(map(abs, values))[1]
        worst = max(rows, key=lambda row: abs(row[name]))
        assert (summary.largest, summary.worst) == (worst[name], worst["id"])


def test_who_has_tones_that_fit_as_well_is_counted(done):
    table = done[2].filter(np.array([not reason for reason in done[2]["reason"].to_pylist()]))
    low, high = table["tone_low"].to_numpy(), table["tone_high"].to_numpy()
    assert (low <= high).all()
    assert done[1].numbers.tone_open == int((high - low >= 3).sum())
    open_one = table.set_column(
        table.column_names.index("tone_high"), "tone_high", [[low[0] + 3, low[1] + 2.9, low[2]]]
    )
    assert twins.tone_open(open_one) == 1


def latents_of_rows(table):
    """Ids of the photographs that have a twin, and the twins' latents, which FaceWorld renders at any size."""
    fitted = table.filter(pc.equal(table["reason"], ""))
    values = np.zeros((len(fitted), LATENT_DIM))
    values[:, IDENTITY_COLUMNS] = np.array(fitted[CODE].to_pylist()).reshape(len(fitted), len(IDENTITY_COLUMNS))
    settings = {name: fitted[f"set.{name}"].to_numpy().astype(np.float64) for name in SETTINGS}
    return tuple(fitted["id"].to_pylist()), Latents(np.zeros(len(fitted), dtype=np.int64), values, SPACE, settings)


def test_a_twin_is_drawn_again_from_the_folder_at_any_size(done):
    ids, latents = latents_of_rows(done[1].table)
    assert ids == ("0.png", "1.png", "2.png")
    drawn = FaceWorld(image_size=SIZE, threads=1).render(latents).pixels
    for row, picture in zip(done[1].table.to_pylist(), drawn, strict=False):
        stored = np.asarray(Image.open(io.BytesIO(row["twin"])))
        same = (stored == picture).all(axis=2)
        assert (stored[~same] == 128).all()  # beyond the photograph's edge
        assert same.mean() > 0.5
    assert FaceWorld(image_size=96, threads=1).render(latents.take(np.array([0]))).pixels.shape == (1, 96, 96, 3)


def test_the_photograph_is_shown_in_the_twins_frame(faces, done):
    """Its points lie where its pixels do: the frame is the photograph moved and resized."""
    row = done[1].table.to_pylist()[0]
    marks = faces[1].known[np.asarray(Image.open(faces[0] / "0.png")).tobytes()]
    placed = np.array(row["landmarks"]).reshape(68, 2) * row["scale"] + [row["across"], row["down"]]
    assert np.abs(placed - marks).max() < 1e-9


def test_pairs_and_pictures_are_a_data_set(done):
    labelled = open_dataset(f"parquet:{done[0] / 'pictures.parquet'}")
    pairs = pq.read_table(done[0] / "pairs.parquet").to_pylist()
    shown = labelled.level_names("shown").to_pylist()
    assert [(shown[pair["a"]], shown[pair["b"]]) for pair in pairs] == [("twin", "photograph")] * 3
    assert [labelled.ids[pair["b"]] for pair in pairs] == ["0.png", "1.png", "2.png"]
    assert [labelled.subjects[pair["a"]] == labelled.subjects[pair["b"]] for pair in pairs] == [True] * 3
    assert labelled.subjects[0] == labelled.subjects[4] != labelled.subjects[2]  # ada is on two photographs
    assert labelled.column("smile").tolist() == labelled.column("label_shown").tolist() == [0, 0, 1, 1, 0, 0]
    assert labelled.points.shape == (6, 68, 2)


def test_a_stopped_run_goes_on_and_ends_the_same(faces, done, tmp_path, monkeypatch):
    """In parts of one photograph and resumed, pictures are the same bit for bit."""
    monkeypatch.setattr("transect.inversion.twins.PART", 1)
    real, made = twin, []

    def stopped(*given, **options):
        made.append(1)
        if len(made) == 2:
            raise KeyboardInterrupt
        return real(*given, **options)

    monkeypatch.setattr("transect.inversion.twins.twin", stopped)
    call = {"marks": faces[1], "size": SIZE, "quiet": True}
    with pytest.raises(Interrupted, match="rerun the command to resume"):
        transect.fit_twins(f"folder:{faces[0]}", tmp_path / "run", **call)
    again = transect.fit_twins(f"folder:{faces[0]}", tmp_path / "run", **call)
    assert len(made) == 4  # the first photograph is not fitted again
    assert again.table.equals(done[2])
    for name in ("pictures.parquet", "pairs.parquet", "sheet.png"):
        assert (tmp_path / "run" / name).read_bytes() == (done[0] / name).read_bytes()
    with pytest.raises(FolderOfAnotherSpec):
        transect.fit_twins(f"folder:{faces[0]}", tmp_path / "run", **{**call, "size": 40})


def bright(pixels):
    return pixels.mean(axis=(1, 2, 3)) / 255


def dark(pixels):
    return 1 - bright(pixels)


def test_the_difference_of_a_planted_target_within_pairs_is_that_by_hand(done, tmp_path):
    """Brightness of twins less that of photographs, from the pixels; and how far both agree."""
    pixels = [np.asarray(Image.open(io.BytesIO(row))) for row in
              pq.read_table(done[0] / "pictures.parquet")["image"].to_pylist()]  # fmt: skip
    values = [picture.astype(float).mean() / 255 for picture in pixels]
    by_hand = np.mean([values[1] - values[0], values[3] - values[2], values[5] - values[4]])
    source = f"parquet:{done[0] / 'pictures.parquet'}"
    request = transect.AuditRequest(
        targets=(bright, dark), dataset=source, compare=("shown",),
        model=transect.ModelSettings(task="regression", isolate=False),
    )  # fmt: skip
    asked = transect.audit(request=request, out=tmp_path / "asked", quiet=True)
    effects = [each["estimate"] for each in asked.table.to_pylist() if each["attribute"] == "shown"]
    assert effects == [pytest.approx(by_hand), pytest.approx(-by_hand)]
    names = [f"{name}: score" for name in ("bright", "dark")]
    matched = transect.match(None, "shown", tmp_path / "asked", outcomes=names,
                             options=transect.MatchOptions(pairs=done[0] / "pairs.parquet"))  # fmt: skip
    first, second = matched.numbers.outcomes
    assert (first.n_pairs, first.estimate, second.estimate) == (3, pytest.approx(by_hand), pytest.approx(-by_hand))
    agreement = pytest.approx(np.corrcoef(values[1::2], values[0::2])[0, 1])
    assert (first.agreement, second.agreement) == (agreement, agreement)


def test_photographs_none_of_which_has_a_face_have_a_page_too(faces, tmp_path):
    noise = np.random.default_rng(1).integers(0, 256, (1, 40, 40, 3), dtype=np.uint8)
    result = transect.fit_twins(noise, tmp_path / "run", marks=faces[1], size=SIZE, quiet=True)
    assert result.numbers.left_out == {"no points are known": 1}
