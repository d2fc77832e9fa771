"""Folders of models: only plain files of the folder are read, whatever its settings and links name."""

import json
import os

import pytest

from transect.errors import BadInput
from transect.runs.model_folders import LARGEST_TEXT, check_files

SHARD = "model-1.safetensors"


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "model"
    (made / "sub").mkdir(parents=True)
    for file in (tmp_path / "x.safetensors", made / SHARD, made / "sub" / "x.safetensors", made / "x.bin"):
        file.write_bytes(b"\0" * 16)
    (made / "config.json").write_text("{}")
    return made


def check(folder):
    check_files(folder, [file for file in sorted(folder.rglob("*")) if not file.is_dir()])


def stating(name, **content):
    return lambda folder: (folder / name).write_text(json.dumps(content))


def index(shard, name="model.safetensors.index.json"):
    return stating(name, metadata={}, weight_map={"a": SHARD, "b": shard})


def link(name, target):
    return lambda folder: (folder / name).symlink_to(target)


def sparse(name, size):
    def write(folder):
        with (folder / name).open("wb") as file:
            file.truncate(size)

    return write


@pytest.mark.parametrize(
    "spoil",
    [
        *map(
            index, ("../x.safetensors", "sub/x.safetensors", "/x.safetensors", "..", "", "x.bin", "no.safetensors", 1)
        ),
        index("../x.safetensors", "sub/diffusion_pytorch_model.safetensors.index.json"),
        stating("config.json", transformers_weights="sub/x.safetensors"),
        stating("config.json", transformers_weights="../x.safetensors"),
        stating("config.json", configuration_files=["../config.9.9.9.json"]),
        stating("tokenizer_config.json", fast_tokenizer_files=["sub/tokenizer.9.9.9.json"]),
        stating("config.json", backbone="local-dir:../other"),
        stating("config.json", backbone="/tmp"),
        stating("config.json", auto_map={"AutoModel": "own.Model"}),
        stating("model_index.json", custom_pipelines="own"),
        stating("adapter_config.json", base_model_name_or_path="../other"),
        link("vocab.txt", "../x.safetensors"),
        link("vocab.txt", "/dev/zero"),
        link("vocab.txt", "vocab.txt"),
        link("vocab.txt", "nowhere"),
        lambda folder: os.mkfifo(folder / "x.json"),
        sparse("generation_config.json", LARGEST_TEXT + 1),
        sparse("large.safetensors", 50 << 30),
    ],
)
def test_what_leads_out_of_the_folder_or_cannot_be_read_whole_is_refused_in_one_line(folder, spoil):
    check(folder)
    spoil(folder)
    with pytest.raises(BadInput) as error:
        check(folder)
    assert "\n" not in str(error.value)


def test_shards_and_links_within_the_folder_and_the_cache_of_the_hub_are_read(folder, tmp_path):
    index(SHARD)(folder)
    link("vocab.txt", "config.json")(folder)
    check(folder)
    snapshot, blobs = tmp_path / "models--a--b" / "snapshots" / "0123", tmp_path / "models--a--b" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    (blobs / "abcd").write_text("{}")
    link("config.json", "../../blobs/abcd")(snapshot)
    check(snapshot)
