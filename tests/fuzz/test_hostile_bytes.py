"""What Transect reads of others, damaged in every way: each input is read, or refused in one line, and nothing else.

Small by default; `make fuzz` runs it with 1,200,000 inputs. The run ends with how many of each kind were
read and refused.
"""

import io
import json
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fuzzing import attack, damaged, shares
from nightly import INPUTS, SEED
from safetensors.numpy import save as safetensors
from small_folders import FOLDERS

from transect.analysis import margins
from transect.designs.levels import parse_vary
from transect.effects.outcomes import Truth
from transect.errors import BadInput
from transect.generators import load
from transect.generators.stylegan2.reading import read_pickle
from transect.runs import manifest, report_options, toml_files
from transect.runs.folder import read_spec
from transect.runs.json_records import dumps, loads
from transect.runs.model_files import read_safetensors
from transect.runs.pictures import pixels_of_png, png
from transect.runs.report_options import check_error_conditions as check_by
from transect.runs.table_inputs import parse_numbers, read_table
from transect.targets.http.answers import AnswerReader
from transect.targets.http.ledger import Reply
from transect.targets.http.settings import read_settings
from transect.targets.preprocess import Preprocess
from transect.texts import UNSEEN, encodable, one_line, shown

RUN = FOLDERS / "version-1"
TOML = [
    b'targets = ["a:b"]\nvary = ["glasses=none,dark"]\nsubjects = 5\n[world]\nimage_size = 96\n[[require]]\nmargin = 0.03\n',
    b'name = "acme"\ntask = "binary"\n[request]\nurl = "https://a.example/x"\n[response]\nscore = "a.b[0]"\n[budget]\ncalls = 5\n',
    b'size = [224, 224]\nmean = [0.485, 0.456, 0.406]\nstd = [0.2, 0.2, 0.2]\nchannel_order = "BGR"\nfilter = "bilinear"\n',
]
CSV = [b'id,age,who\n1,20.5,"a, b"\n2,,c\n', b"id,x;y\r\n1,2;3\r\n", "id,täg\n1,ü\n".encode()]
JSON = [
    b'{"score": 0.75, "faces": [{"box": [1, 2, 3, 4], "p": 0.5}], "label": "yes"}',
    b"[0.1, 0.2, null, true]",
    b'"x"',
]
VARY = [
    b"age=20:60:5",
    b"glasses=none,thick frame",
    b"skin_tone",
    b"smile>0.5",
    b"miss=0.01",
    b"0.2,0.8",
    b"age,glasses",
]
PICTURES = [png(np.arange(192, dtype=np.uint8).reshape(8, 8, 3)), png(np.zeros((5, 3), np.uint8))]
ATTRIBUTES = {attribute.name: attribute for attribute in load("faceworld", image_size=32).attributes}


def _parquet():
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": ["a", "b"], "score": [0.25, None], "list": [[1.0], []]}), sink)
    return sink.getvalue()


def _npz():
    sink = io.BytesIO()
    np.savez(sink, score=np.arange(6.0), id=np.arange(6))
    return sink.getvalue()


def _reader(task, **response):
    from transect.targets.http.settings import Settings

    body = {"task": task, "request": {"url": "https://a.example/"}, "response": response, "labels": ["no", "yes"]}
    return AnswerReader(Settings.model_validate(body if task == "multiclass" else {**body, "labels": []}))


def _written(path, content):
    path.write_bytes(content)
    return path


def surfaces(folder):
    """By name: the weight of a surface among the inputs, good inputs, and what reads one."""
    binary, boxes = _reader("binary", score="score"), _reader("detection", boxes="faces[].box")

    def answers(content):
        for reader in (binary, boxes):
            found = reader.read(Reply(200, "application/json", content), 8, 8)
            assert found.failed.shape == (1,)
            assert not UNSEEN.search(found.failures[0])

    def json_text(content):
        try:
            value = loads(content)
        except ValueError:
            raise BadInput("no JSON") from None
        dumps(value)

    def texts(content):
        text = content.decode("utf-8", "surrogateescape")
        encodable(text).encode()
        assert not UNSEEN.search(one_line(text))
        assert len(one_line(text)) <= 2000
        shown(text)

    def options(content):
        text = content.decode("utf-8", "replace")
        readers = (
            lambda: parse_vary([text], list(ATTRIBUTES.values())),
            lambda: Truth.parse(text, ATTRIBUTES),
            lambda: margins.parse_margins([text], ["miss", "answer"]),
            lambda: parse_numbers(text, "--ks"),
            lambda: check_by([text], [frozenset(ATTRIBUTES)]),
        )
        readers[sum(content) % len(readers)]()

    def of_file(name, read):
        return lambda content: read(_written(folder / name, content))

    def run_json(content):
        _written(folder / "run" / "run.json", content)
        read_spec(folder / "run")

    def manifest_json(content):
        _written(folder / "run" / "manifest.json", content)
        manifest.check(folder / "run")

    (folder / "run").mkdir()
    manifest.write(folder / "run")
    listed = [
        (folder / "run" / "manifest.json").read_bytes(),
        b'{"schema_version": 1, "transect_version": "0", "files": {"run.json": "00"}}',
    ]
    return {
        "texts": (24, [*VARY, *JSON, "\x1b[31m[/b] \u202e =A1".encode()], texts),
        "json": (20, JSON, json_text),
        "answers of servers": (16, JSON, answers),
        "options": (10, VARY, options),
        "toml": (10, TOML, lambda content: toml_files.parse(content.decode("utf-8", "replace"), "a.toml")),
        "run.json": (6, [(RUN / "run.json").read_bytes()], run_json),
        "manifest.json": (5, listed, manifest_json),
        "files of targets": (3, TOML, of_file("target.toml", read_settings)),
        "files of preprocessing": (4, TOML, of_file("preprocess.toml", Preprocess.from_toml)),
        "csv": (3, CSV, of_file("table.csv", read_table)),
        "npz": (2, [_npz()], of_file("table.npz", read_table)),
        "pictures": (4, PICTURES, pixels_of_png),
        "parquet": (3, [_parquet()], of_file("a.parquet", read_table)),
        "safetensors": (3, [safetensors({"w": np.ones((2, 2), np.float32)})], of_file("a.safetensors", read_safetensors)),
        "pickles": (3, [pickle.dumps({"G_ema": [1, (2.0, "x")]}, protocol=n) for n in (2, 4)], of_file("a.pkl", read_pickle)),
        "settings.json": (2, [b'{"boundary": [0.4, 0.6]}', b'{"by": ["age"], "margin": ["0.1"], "at_thresholds": [1]}'], of_file("settings.json", lambda path: report_options.read(path.parent))),
    }  # fmt: skip


NAMES = (
    *("texts", "json", "options", "toml", "pictures", "parquet", "safetensors", "pickles", "csv", "npz", "run.json"),
    *("manifest.json", "settings.json", "answers of servers", "files of targets", "files of preprocessing"),
)


@pytest.mark.timeout(14400)
@pytest.mark.parametrize("name", NAMES)
def test_each_damaged_input_is_read_or_refused_in_one_line(name, tmp_path, record_property):
    every = surfaces(tmp_path)
    assert set(every) == set(NAMES)
    inputs = shares({each: weight for each, (weight, _, _) in every.items()})[name]
    _, seeds, read = every[name]
    tally = attack(name, seeds, read, inputs)
    assert tally.inputs == inputs
    record_property("tally", (name, tally.read, tally.refused))


def test_damage_is_the_same_each_time_and_of_every_kind():
    import random

    first = [damaged([b"good input"], random.Random(seed)) for seed in range(200)]
    assert first == [damaged([b"good input"], random.Random(seed)) for seed in range(200)]
    assert len(set(first)) > 150
    assert INPUTS > 0
    assert SEED >= 0


def test_what_is_not_foreseen_fails():
    def breaks(content):
        if len(content) > 3:
            raise ZeroDivisionError

    with pytest.raises(AssertionError, match=r"here, input \d+: .* raises ZeroDivisionError"):
        attack("here", [b"abcdef"], breaks, 50)

    def two_lines(content):
        error = BadInput("one")
        error.args = ("one\ntwo",)
        raise error

    with pytest.raises(AssertionError):
        attack("here", [b"abcdef"], two_lines, 1)


def test_a_good_input_of_each_surface_is_read(tmp_path):
    """So that the damage is what is refused."""
    refused = {"options", "files of targets", "files of preprocessing"}
    for name, (_, seeds, read) in surfaces(tmp_path).items():
        if name not in refused:
            for seed in seeds:
                read(seed)
    assert json.loads(JSON[0])
