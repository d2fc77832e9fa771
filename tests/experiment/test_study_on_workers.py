"""The run folder is the same, byte for byte, whoever made its parts; and budgets hold, whoever renders."""

import json
import os
from dataclasses import replace
from pathlib import Path

import audited
import hostile_server
import pytest
from worker_runs import FACE, Lent, content, studies_of

import transect
from transect.engines.protocol import HERE
from transect.engines.settings import EngineSettings, opened
from transect.errors import BudgetSpent, TargetChanged, TooManyFailures
from transect.experiment import study
from transect.experiment.study import StudyWork, facts_of


@pytest.fixture(scope="module")
def processes():
    """Two workers for all tests of this file, which import PyTorch once."""
    with opened(EngineSettings("local", 2)) as engine:
        yield engine


@pytest.fixture
def smaller_parts(monkeypatch):
    monkeypatch.setattr(study, "IMAGES_PER_PART", 8)


@pytest.mark.parametrize("images_per_part", [12, pytest.param(256, marks=pytest.mark.slow)])
def test_workers_and_this_process_write_the_same_bytes(images_per_part, processes, tmp_path, monkeypatch):
    """40 images in parts of 12 and in one; in the first, a worker is killed mid-way. Parts of 8: the tests below."""
    monkeypatch.setattr(study, "IMAGES_PER_PART", images_per_part)
    monkeypatch.chdir(tmp_path)
    Path("run.pid").write_text(str(os.getpid()))
    (one,) = studies_of([FACE, "killed_workers:killing"], names=["face", "net"], batch=4)
    study.run(one, tmp_path / "here", quiet=True)
    if images_per_part == 12:
        Path("armed").touch()
    study.run(one, tmp_path / "apart", quiet=True, engine=processes)
    assert not Path("armed").exists()
    assert content("apart") == content("here")
    assert len(list(Path("apart/images").glob("*.parquet"))) == -(-40 // (images_per_part // 4 * 4))


@pytest.mark.slow
def test_edits_that_workers_check_and_draw_again_are_the_same(processes, smaller_parts, tmp_path):
    """The gates' limits come from the same reference images in every worker, and redrawn subjects have the same seeds."""
    (one,) = studies_of([FACE], attributes=[f"smile={FACE}"], redraw=1, subjects=4)
    study.run(one, tmp_path / "here", quiet=True)
    study.run(one, tmp_path / "apart", quiet=True, engine=processes)
    assert content(tmp_path / "apart") == content(tmp_path / "here")
    assert {path.parent.name for path in (tmp_path / "apart").rglob("*.parquet")} >= {"edits", "edit_reference"}


@pytest.mark.integration
def test_a_run_that_lacks_some_parts_resumes_with_workers(processes, smaller_parts, tmp_path):
    (one,) = studies_of([FACE])
    study.run(one, tmp_path / "here", quiet=True)
    study.run(one, tmp_path / "apart", quiet=True)
    kept = (tmp_path / "apart/images/part-00001.parquet").stat().st_mtime_ns
    for lost in (
        "images/part-00003",
        f"predictions/{study.slug(FACE)}/part-00003",
        f"predictions/{study.slug(FACE)}/part-00001",
    ):
        (tmp_path / "apart" / f"{lost}.parquet").unlink()
    study.run(one, tmp_path / "apart", quiet=True, engine=processes)
    assert content(tmp_path / "apart") == content(tmp_path / "here")
    assert (tmp_path / "apart/images/part-00001.parquet").stat().st_mtime_ns == kept


@pytest.mark.integration
def test_too_many_failures_stop_at_the_same_image_with_the_same_words(processes, smaller_parts, tmp_path):
    """A model that fails on bright pictures: workers are ahead, but the failures are counted in the order of the parts."""
    (one,) = studies_of(["audited:raises_on_bright"], vary=["background_lightness=0,1"], subjects=40, max_failures=0.1)
    said = []
    for name, engine in (("here", HERE), ("apart", processes)):
        with pytest.raises(TooManyFailures) as caught:
            study.run(one, tmp_path / name, quiet=True, engine=engine)
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert "failed on" in said[0]
    assert content(tmp_path / "apart") == content(tmp_path / "here")


@pytest.mark.integration
def test_a_budget_holds_whoever_renders(processes, smaller_parts, tmp_path, monkeypatch):
    """40 images, 15 calls allowed, two workers: the server is never asked a sixteenth time, in no run that follows."""
    monkeypatch.setenv("ACME_KEY", hostile_server.SECRET)
    with hostile_server.serving() as server:
        file = hostile_server.write(tmp_path, server.url, more="[budget]\ncalls = 15")
        for _ in range(2):
            (one,) = studies_of([str(file), FACE])
            assert [known is None for known in one.recipe.targets] == [True, False]
            with pytest.raises(BudgetSpent, match="15 of 15 calls are made"):
                study.run(one, tmp_path / "run", quiet=True, engine=processes)
            assert len(server.requests) == 15
            one.targets[0].close()


@pytest.mark.integration
def test_objects_are_asked_and_rendered_in_this_process(processes, tmp_path, capsys):
    """Nothing of a user's program is sent: its functions and generators stay here, and a line says so."""
    asked = []

    def net(pixels):
        asked.append(os.getpid())
        return audited.brightness(pixels)

    (one,) = studies_of([net])
    study.run(one, tmp_path / "asked", engine=processes)
    assert set(asked) == {os.getpid()}
    assert "this process asks net, and workers render" in capsys.readouterr().err
    world = transect.generators.load("faceworld", image_size=32)
    (one,) = studies_of([FACE], generator=world, image_size=None)
    study.run(one, tmp_path / "rendered", engine=processes)
    assert "this process makes all images" in capsys.readouterr().err


@pytest.mark.integration
def test_a_worker_that_opens_something_else_stops_the_run():
    (one,) = studies_of([FACE])
    facts = facts_of(one.world, one.targets, None)
    work = StudyWork(one.recipe, one.design, one.limits, False, facts)
    work.open().close()
    for key, named in (("the generator", "the generator"), (FACE, FACE), ("the libraries", "the libraries")):
        other = json.dumps({**json.loads(facts), key: {"sha256": "of another file"}})
        with pytest.raises(TargetChanged, match=rf"a worker opened something other than the run \({named}\)"):
            replace(work, facts=other).open()


@pytest.mark.integration
@pytest.mark.parametrize("metered", [False, True])
@pytest.mark.parametrize("asked", [{"attributes": ["smile=audited:brightness"]}, {"realism": "audited:brightness"}])
def test_a_check_that_counts_its_calls_is_asked_in_this_process(asked, metered, monkeypatch):
    """Whatever its spec looks like: each worker would have a count of its own."""
    monkeypatch.setattr("transect.targets.model.ModelTarget.metered", metered, raising=False)
    (one,) = studies_of([FACE], **asked)
    assert (one.recipe.check is None) == metered
    assert one.recipe.apart == (not metered)


@pytest.mark.integration
def test_a_data_set_is_the_same_from_workers(processes, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "IMAGES_PER_PART", 4)
    common = {"data_set": True, "subjects": 10, "image_size": 32, "quiet": True}
    transect.render(tmp_path / "here", **common)
    monkeypatch.setattr("transect.engines.workers.Processes", lambda _: Lent(processes))
    transect.render(tmp_path / "apart", engine=EngineSettings("local", 2), **common)
    assert content(tmp_path / "apart") == content(tmp_path / "here")
    assert len(list((tmp_path / "apart/images").glob("*.parquet"))) == 3
