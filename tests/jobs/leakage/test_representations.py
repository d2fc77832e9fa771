"""Representations and captions in a leakage analysis: what each says of the class is planted."""

import numpy as np
import pyarrow as pa
import pytest

import transect
from transect import LeakageOptions
from transect.attacks.tables import identifiers, labelled_data
from transect.errors import BadInput

N = 600


def planted():
    """A class, a label that says nothing of it, and which rows are in training."""
    rng = np.random.default_rng(0)
    gender, verb = rng.integers(0, 2, N), rng.integers(0, 3, N)
    return {
        "id": np.arange(N),
        "gender": gender,
        "verb": verb,
        "split": np.where(np.arange(N) % 3 == 0, "test", "train"),
    }


def layers(table):
    """First: noise. Second: the class itself, plus noise. Third: two numbers whose product's sign is the class."""
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(N, 4))
    plain = noise + 6 * table["gender"][:, None]
    crossed = rng.normal(size=(N, 2))
    crossed[:, 0] = np.abs(crossed[:, 0]) * np.sign(crossed[:, 1]) * (2 * table["gender"] - 1)
    return {"first": noise, "second": plain, "third": crossed}


def run(features=(), table=None, **options):
    chosen = LeakageOptions(permutations=0, rounds=1, curve=False, f1=(90,), representations=features, **options)
    settings = {"split": "split", "attacker": "bayes", "quiet": True, "options": chosen}
    return transect.leakage(table or planted(), "gender", "verb", **settings)


def test_each_layer_by_a_linear_and_a_non_linear_attacker(tmp_path):
    """Noise leaks nothing; what is linear is found by both; what is a product by trees alone."""
    table = planted()
    order = np.random.default_rng(2).permutation(N)
    file = {"id": table["id"][order], **{name: values[order].tolist() for name, values in layers(table).items()}}
    pa.parquet.write_table(pa.table(file), tmp_path / "layers.parquet")
    result = run((("net", tmp_path / "layers.parquet"),))
    rows = {(row.name, row.attacker): row for row in result.numbers.representations}
    assert len(rows) == 6
    for attacker in ("logistic", "trees"):
        first, second = rows["net: first", attacker], rows["net: second", attacker]
        assert first.leakage.low < 50 < first.leakage.high
        assert second.leakage.low > 95
        assert second.beyond_label.low > 30  # the label says nothing of the class
    assert rows["net: third", "logistic"].leakage.high < 70
    assert rows["net: third", "trees"].leakage.low > 80


def test_arrays_with_layers_by_row_order_and_items_without_numbers_are_counted():
    table = planted()
    values = np.stack([layers(table)["first"], layers(table)["second"]], axis=1)
    values[:10] = np.nan
    rows = run((("w", values),)).numbers.representations
    assert [row.name for row in rows] == ["w: layer 0"] * 2 + ["w: layer 1"] * 2
    assert {row.left_out for row in rows} == {10}
    assert rows[0].n == sum(np.arange(N) % 3 == 0) - 4  # rows 0, 3, 6 and 9 are test rows


def test_a_representation_of_the_label_alone_says_nothing_beyond_it():
    table = planted()
    table["verb"] = np.where(np.random.default_rng(3).random(N) < 0.8, table["gender"], 1 - table["gender"])
    row = run((("one-hot", np.eye(2)[table["verb"]]),), table=table).numbers.representations[0]
    assert row.leakage.low > 65
    assert row.beyond_label.estimate == 0


def test_captions_as_a_model_and_their_other_words():
    """Captions name the dog where it is; men smile and women wave, which the words say and the objects do not."""
    table = planted()
    dog, cat = (table["verb"] == 0).astype(int), (table["verb"] == 1).astype(int)
    texts = [
        f"a {'woman waves' if woman else 'man smiles'} {'with a puppy' if has else 'alone'}"
        for woman, has in zip(table["gender"], dog, strict=True)
    ]
    captions = {"id": table["id"], "caption": texts}
    chosen = LeakageOptions(permutations=0, rounds=1, curve=False, f1=(90,), captions=(("captions", captions),))
    result = transect.leakage(
        {**table, "dog": dog, "cat": cat}, "gender", ["dog", "cat"], split="split", attacker="logistic", quiet=True,
        options=chosen,
    )  # fmt: skip
    numbers = result.numbers
    assert (numbers.model, numbers.model_f1) == ("captions", 50.0)  # every dog is named, and no cat
    assert numbers.model_leakage.low < 50 < numbers.model_leakage.high
    (words,) = numbers.representations
    assert words.name == "captions: words without objects and gender"
    assert words.leakage.estimate == 100


def test_captions_that_name_no_label_are_refused_with_the_labels():
    table = planted()
    labels = {"obj_dog": (table["verb"] == 0).astype(int), "obj_cup": (table["verb"] == 1).astype(int)}
    captions = {"id": table["id"], "caption": ["a person with a dog"] * len(table["id"])}
    options = LeakageOptions(permutations=0, rounds=1, curve=False, captions=(("m", captions),))
    with pytest.raises(BadInput, match="captions m: .*obj_dog, obj_cup"):
        transect.leakage({**table, **labels}, "gender", list(labels), attacker="logistic", quiet=True, options=options)


def test_ids_that_a_table_holds_as_floats_are_the_same_items():
    table = planted()
    numbers = np.arange(len(table["id"]))
    predictions = pa.table({"id": numbers.astype(float), "score": np.linspace(0, 1, len(numbers))})
    data = labelled_data(pa.table({**table, "id": numbers}), ["verb"], "gender", ids="id")
    assert identifiers(predictions, "id") == list(data.ids)
    assert identifiers(pa.table({"id": [0.5, 1e18]}), "id") == ["0.5", str(10**18)]
