"""`transect.verify`: records that fit their JSON Schema, a table, a page, and one line for another check."""

import pytest
from published import fits

import transect
from transect.errors import UnknownName
from transect.jobs.verify.settings import Settings

SMALL = Settings(subjects=10, image_size=32, epochs=1, resamples=20, parts=("photometry", "targets"))


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return transect.verify("world", settings=SMALL, out=tmp_path_factory.mktemp("world"), quiet=True)


def test_the_world_is_a_record_that_fits_its_schema(world):
    figures = fits(world)
    assert figures["check"] == "world"
    assert len(figures["world"]["photometry"]) == world.table.num_rows == 90
    assert figures["world"]["attributes"] == []
    assert world.numbers.world.photometry[0].statistic == figures["world"]["photometry"][0]["statistic"]
    assert "of 90 medians of luminance" in world.headline()


def test_the_world_has_a_page_with_its_tables(world, tmp_path):
    page = world.report(tmp_path).read_text()
    assert "FaceWorld compared with photographs" in page
    assert "opencv:haarcascade_frontalface_default" in page


@pytest.mark.slow
def test_images_are_records_too(tmp_path):
    result = transect.verify("images", quick=True, out=tmp_path, quiet=True)
    fits(result)
    assert result.table.num_rows == len(result.numbers.images.rows)
    assert {row.method for row in result.numbers.images.overall} >= {"transects"}


def test_estimators_are_rows(monkeypatch):
    from transect.jobs.verify import claims, estimators

    chosen = [claim for claim in claims.CLAIMS if claim.world == claims.WORLDS[0].name]
    monkeypatch.setattr(estimators, "CLAIMS", chosen)
    result = transect.verify("estimators", seeds=20, quiet=True)
    fits(result)
    assert [row.method for row in result.numbers.estimators] == [claim.method for claim in chosen]
    assert len(result.rows()[1]) == len(chosen)


def test_another_check_is_refused():
    with pytest.raises(UnknownName, match="unknown check 'worlds': did you mean world"):
        transect.verify("worlds")
