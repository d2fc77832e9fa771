"""Invert, encode and embed: the folder is the same, byte for byte, whoever made its parts."""

import pytest
from job_parts import embedded, encoding, inversion, made, parts_in, portraits
from worker_runs import Lent, content

from transect.engines.protocol import HERE
from transect.engines.settings import EngineSettings, opened
from transect.errors import BadInput, TargetChanged
from transect.inversion.parts import ToolsRecipe
from transect.inversion.pictures import Pictures


@pytest.fixture(scope="module")
def processes():
    """Two workers for all tests of this file, which import PyTorch once."""
    with opened(EngineSettings("local", 2)) as engine:
        yield engine


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A generator, its encoder, five of its images, and a table of seven pictures of people."""
    return portraits(tmp_path_factory.mktemp("jobs"))


@pytest.mark.integration
@pytest.mark.parametrize("start", ["mean", "encoder"])
def test_an_inversion_is_the_same_from_workers(start, processes, folder, tmp_path, capsys):
    """Five images in parts of two; with an encoder that is fitted once, here, and sent as numbers."""
    inversion(folder, tmp_path / "here", start).compute()
    inversion(folder, tmp_path / "apart", start, quiet=False).found(processes)
    assert made(tmp_path / "apart") == made(tmp_path / "here")
    assert parts_in(tmp_path / "apart") == 3
    assert "inversion of 5 images, steps: 12 of 12" in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.parametrize("trained", [True, False])
def test_an_encoding_is_the_same_from_workers_and_so_is_what_it_could_not_read(trained, processes, folder, tmp_path):
    """The third file is no image: an outcome with the same reason, whoever opens it."""
    (tmp_path / "images").mkdir()
    for number, path in enumerate(sorted((folder / "images").iterdir())):
        (tmp_path / "images" / path.name).write_bytes(b"no image" if number == 2 else path.read_bytes())
    for name, engine in (("here", HERE), ("apart", processes)):
        numbers = encoding(folder, tmp_path / "images", tmp_path / name, trained).found(engine)
        assert numbers.failed == 1
    assert made(tmp_path / "apart") == made(tmp_path / "here")


@pytest.mark.integration
def test_an_inversion_resumes_with_workers(processes, folder, tmp_path):
    inversion(folder, tmp_path / "apart").compute()
    before = content(tmp_path / "apart")
    (tmp_path / "apart/inversions/part-00001.parquet").unlink()
    kept = (tmp_path / "apart/inversions/part-00000.parquet").stat().st_mtime_ns
    inversion(folder, tmp_path / "apart").found(processes)
    assert content(tmp_path / "apart") == before
    assert (tmp_path / "apart/inversions/part-00000.parquet").stat().st_mtime_ns == kept


def test_a_worker_that_opens_another_generator_stops(folder, tmp_path):
    recipe = inversion(folder, tmp_path).planned().plan.recipe()
    recipe.open()
    facts = recipe.facts.replace('"the libraries":{', '"the libraries":{"else":"1",')
    other = ToolsRecipe(recipe.generator, recipe.space, None, recipe.distance, recipe.files, recipe.device, facts)
    with pytest.raises(TargetChanged, match=r"something other than the run \(the libraries\)"):
        other.open()


def test_pictures_are_carried_with_their_bytes(folder, tmp_path):
    """No file is needed after that; one that is gone before is refused in its turn, in the words of one read here."""
    pictures = Pictures.open(folder / "images", 8)
    carried = pictures.carried([1, 3])
    assert carried.ids == (pictures.ids[1], pictures.ids[3])
    assert carried.sha256 == pictures.sha256
    assert (carried.pixels([0, 1]) == pictures.pixels([1, 3])).all()
    (tmp_path / "a.png").write_bytes(pictures.stored(0).read_bytes())
    lost = Pictures.open(tmp_path, 8)
    before = lost.carried([0])
    (tmp_path / "a.png").unlink()
    assert (before.pixels([0]) == pictures.pixels([0])).all()
    assert lost.carried([0]).readable([0])[1] == lost.readable([0])[1] != ("",)
    with pytest.raises(BadInput, match=r"a\.png: expected an image"):
        lost.carried([0]).pixels([0])


@pytest.fixture
def lent(processes, monkeypatch):
    """Settings that name the workers of this file."""
    monkeypatch.setattr("transect.engines.workers.Processes", lambda _: Lent(processes))
    monkeypatch.setattr("transect.experiment.picture_embeddings.ROWS_OF_A_PART", 2)
    return EngineSettings("local", 2)


@pytest.mark.integration
@pytest.mark.isolated
def test_embeddings_are_the_same_from_workers(lent, folder, tmp_path):
    """Seven pictures in parts of two; a folder of answers that lacks a part gets it from a worker too."""
    expected = embedded(folder, tmp_path / "here", EngineSettings())
    assert embedded(folder, tmp_path / "apart", lent) == expected
    assert content(tmp_path / "apart") == content(tmp_path / "here")
    assert parts_in(tmp_path / "apart") == 4
    (tmp_path / "apart/embeddings/part-00002.parquet").unlink()
    assert embedded(folder, tmp_path / "apart", lent) == expected
    assert content(tmp_path / "apart") == content(tmp_path / "here")
