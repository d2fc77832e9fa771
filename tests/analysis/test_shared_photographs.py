"""Worlds of the same photographs are found, however their subjects were narrowed."""

from transect.analysis.replicated.reading import Photographed, photographed
from transect.runs.spec import GeneratorDescription


def test_people_decide_before_the_digest_of_the_narrowed_pictures():
    tone, both = (Photographed(digest, "t", people=frozenset(of)) for digest, of in (("1", {1, 2}), ("2", {2})))
    assert tone.shares(both)
    assert not tone.shares(Photographed("3", "t", people=frozenset({3})))
    assert not tone.shares(Photographed("2", "u", people=frozenset({2})))


def test_edits_by_a_diffusion_pipeline_are_of_the_table_of_their_source(tmp_path):
    edited = GeneratorDescription({"name": "d", "source": {"labels_sha256": "t"}})
    assert photographed(edited, tmp_path).table == "t"
    assert photographed(GeneratorDescription({"name": "d", "source": None}), tmp_path) == Photographed()


def test_inverted_photographs_may_be_those_of_the_other_world():
    codes, others = Photographed(codes="c"), Photographed(codes="d")
    for world in (Photographed("1"), Photographed(table="t", people=frozenset({1}))):
        assert codes.may_share(world)
        assert world.may_share(codes)
        assert not codes.shares(world)
    assert not codes.may_share(Photographed())
    assert not codes.may_share(others)
    assert codes.shares(codes)
    assert not codes.shares(others)
