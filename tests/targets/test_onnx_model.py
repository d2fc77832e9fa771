"""ONNX models: what is read off them, and what contradicts them."""

from pathlib import Path

import numpy as np
import onnx
import onnx.external_data_helper
import pytest
from numpy.testing import assert_allclose
from onnx import TensorProto, helper

from transect.errors import BadInput, TargetChanged
from transect.records import Images
from transect.runs.model_files import external_digests
from transect.targets import Preprocess, describe, guarded, resolve
from transect.testing import check_target

RAMP = Images(np.stack([np.full((8, 8, 3), value, np.uint8) for value in (0, 51, 102, 204, 255)]))
MEANS = np.array([0, 0.2, 0.4, 0.8, 1.0])


def save(path, shape, dtype=TensorProto.FLOAT, metadata=None, graph=None):
    """A model whose score is the mean of its input, as [n, 1] float32."""
    nodes = graph or [
        helper.make_node("Cast", ["image"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["real"], ["kept"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Unsqueeze", ["kept", "axis"], ["score"]),
        helper.make_node("Shape", ["image"], ["shape"]),
    ]
    made = helper.make_graph(
        nodes,
        "mean",
        [helper.make_tensor_value_info("image", dtype, shape)],
        [
            helper.make_tensor_value_info("score", TensorProto.FLOAT, [shape[0], 1]),
            helper.make_tensor_value_info("shape", TensorProto.INT64, [4]),
        ],
        [helper.make_tensor("axis", TensorProto.INT64, [1], [1])],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    helper.set_model_props(model, metadata or {})
    onnx.save(model, path)
    return f"onnx:{path}"


@pytest.mark.integration
@pytest.mark.parametrize(
    ("shape", "layout", "size"),
    [
        (["n", 3, 4, 6], "NCHW", [4, 6]),
        (["n", 4, 6, 3], "NHWC", [4, 6]),
        (["n", 3, "h", "w"], "NCHW", None),
        (["n", 1, 4, 6], "NCHW", [4, 6]),
        ([2, 4, 6, 3], "NHWC", [4, 6]),
    ],
)
def test_layout_size_and_batch_are_read_off_the_model(tmp_path, shape, layout, size):
    target = resolve(save(tmp_path / "model.onnx", shape))
    preprocess = describe(target)["preprocess"]
    assert (preprocess["layout"], preprocess["size"]) == (layout, size)
    assert preprocess["channel_order"] == ("gray" if 1 in shape[1:] else "RGB")
    # Five images also where the batch is fixed at one or two.
    assert_allclose(target.predict(RAMP).scores[:, 0], MEANS, atol=1e-6)
    check_target(target)


@pytest.mark.parametrize(
    ("dtype", "span", "scores", "assumed"),
    [
        (TensorProto.FLOAT, [0, 1], MEANS, ["channel_order", "range"]),
        (TensorProto.FLOAT16, [0, 1], MEANS, ["channel_order", "range"]),
        (TensorProto.UINT8, [0, 255], MEANS * 255, ["channel_order"]),
    ],
)
def test_the_dtype_tells_the_range(tmp_path, dtype, span, scores, assumed):
    target = resolve(save(tmp_path / "model.onnx", ["n", 3, 8, 8], dtype), task="regression")
    described = describe(target)
    assert described["preprocess"]["range"] == span
    assert described["assumed"] == assumed
    # Half precision keeps three digits.
    assert_allclose(target.predict(RAMP).scores[:, 0], scores, rtol=1e-3)


@pytest.mark.parametrize(
    ("metadata", "span", "order"),
    [
        ({"Image.NominalPixelRange": "NominalRange_0_255", "Image.BitmapPixelFormat": "Bgr8"}, [0, 255], "BGR"),
        ({"image.nominalpixelrange": "normalized_1_1", "IMAGE.BITMAPPIXELFORMAT": "RGB8"}, [-1, 1], "RGB"),
    ],
)
def test_image_metadata_tell_range_and_channel_order(tmp_path, metadata, span, order):
    # Range 0 to 255 or -1 to 1: white is its upper end, black its lower one.
    target = resolve(save(tmp_path / "model.onnx", ["n", 3, 8, 8], metadata=metadata), task="regression")
    described = describe(target)
    assert (described["preprocess"]["range"], described["preprocess"]["channel_order"]) == (span, order)
    assert described["assumed"] == []
    assert_allclose(target.predict(RAMP).scores[[0, -1], 0], span)


def test_given_preprocessing_is_used_and_takes_the_models_size(tmp_path):
    spec = save(tmp_path / "model.onnx", ["n", 3, 4, 6])
    target = resolve(spec, preprocess=Preprocess(range=(0, 255)), task="regression")
    assert describe(target)["preprocess"]["size"] == [4, 6]
    assert describe(target)["assumed"] == []
    assert_allclose(target.predict(RAMP).scores[:, 0], MEANS * 255, rtol=1e-6)


def test_preprocessing_that_contradicts_the_model(tmp_path):
    with pytest.raises(BadInput, match=r"size: model.onnx expects \(4, 6\), got \(8, 8\)"):
        resolve(save(tmp_path / "model.onnx", ["n", 3, 4, 6]), preprocess={"size": (8, 8)})


def test_files_that_are_no_onnx_model(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"<!doctype html>")
    with pytest.raises(BadInput, match=r"model.onnx: expected an ONNX model, found an HTML or XML page"):
        resolve(f"onnx:{path}")


def with_weights(path, value, location="w.bin"):
    """A model whose score is `value`, kept in a file beside the model; one initializer of a subgraph is too."""
    weight = onnx.numpy_helper.from_array(np.array([[value]], np.float32), "weight")
    nodes = [
        helper.make_node("ReduceMean", ["image"], ["mean"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Unsqueeze", ["mean", "axis"], ["column"]),
        helper.make_node("Mul", ["column", "zero"], ["nothing"]),
        helper.make_node("Add", ["nothing", "weight"], ["score"]),
    ]
    constants = [
        helper.make_tensor("axis", TensorProto.INT64, [1], [1]),
        helper.make_tensor("zero", TensorProto.FLOAT, [1], [0]),
    ]
    graph = helper.make_graph(
        nodes,
        "constant",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, 8, 8])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, ["n", 1])],
        [weight, *constants],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (path.parent / "w.bin").unlink(missing_ok=True)  # onnx appends to it
    settings = {"all_tensors_to_one_file": True, "location": "w.bin", "size_threshold": 0}
    onnx.save_model(model, path, save_as_external_data=True, **settings)
    if location != "w.bin":
        stored = onnx.load(path, load_external_data=False)
        for tensor in stored.graph.initializer:
            for entry in tensor.external_data:
                entry.value = location if entry.key == "location" else entry.value
        onnx.save(stored, path)
    return f"onnx:{path}"


def test_weights_beside_the_model_are_part_of_the_target(tmp_path):
    """The model's own file stays the same to the byte; another file of weights is another target all the same."""
    spec = with_weights(tmp_path / "m.onnx", 0.25)
    first, own = describe(resolve(spec)), (tmp_path / "m.onnx").read_bytes()
    assert_allclose(resolve(spec).predict(RAMP).scores[:, 0], 0.25)
    with_weights(tmp_path / "m.onnx", 0.75)
    assert (tmp_path / "m.onnx").read_bytes() == own
    second = describe(resolve(spec))
    assert first["sha256"] == second["sha256"]
    assert first["external_data"].keys() == second["external_data"].keys() == {"w.bin"}
    assert first["external_data"] != second["external_data"]


@pytest.mark.integration
def test_weights_that_change_while_a_process_is_stopped_end_the_run(tmp_path):
    """A timeout stops it, so that a run would go on with the new weights."""
    spec = with_weights(tmp_path / "m.onnx", 0.25)
    target = resolve(spec, isolate=True)
    target.stop()
    with_weights(tmp_path / "m.onnx", 0.75)
    with pytest.raises(TargetChanged, match=r"changed while the run read it \(external_data\)"):
        target.ready()
    target.close()


def test_weights_that_are_overwritten_in_place_end_the_run(tmp_path):
    """The runtime maps them into memory: without a restart, the next call would have the new ones."""
    target = resolve(with_weights(tmp_path / "m.onnx", 0.25))
    assert_allclose(guarded(target, RAMP, timeout=60, batch=8).scores[:, 0], 0.25)
    with (tmp_path / "w.bin").open("r+b") as file:
        file.write(np.full((tmp_path / "w.bin").stat().st_size // 4, 0.75, np.float32).tobytes())
    with pytest.raises(TargetChanged, match=r"w\.bin: changed while a run read it.*restore it and rerun"):
        guarded(target, RAMP, timeout=60, batch=8)


@pytest.mark.parametrize("location", ["../w.bin", "{folder}/w.bin", "link/w.bin", "w\0.bin"])
def test_weights_outside_the_models_folder_are_refused(tmp_path, location):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    (tmp_path / "w.bin").write_bytes(bytes(64))
    spec = with_weights(folder / "m.onnx", 0.25, location.replace("{folder}", str(tmp_path)))
    with pytest.raises(BadInput, match="expected weights in its folder, got"):
        resolve(spec)


@pytest.mark.parametrize(
    ("key", "value"), [("offset", "-4"), ("length", "-1"), ("offset", "x"), ("offset", "1" * 5000)]
)
def test_weights_at_a_place_that_is_none_are_one_line(tmp_path, key, value):
    spec = with_weights(tmp_path / "m.onnx", 0.25)
    stored = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    for tensor in stored.graph.initializer:
        if tensor.external_data:
            tensor.external_data.add(key=key, value=value)
    (tmp_path / "m.onnx").write_bytes(stored.SerializeToString())
    with pytest.raises(BadInput, match="expected weights in a file, got") as error:
        resolve(spec)
    assert "\n" not in str(error.value)


def test_a_model_is_read_as_one_whatever_its_name_ends_in(tmp_path):
    content = Path(with_weights(tmp_path / "m.onnx", 0.25).removeprefix("onnx:")).read_bytes()
    (tmp_path / "m.json").write_bytes(content)
    assert_allclose(resolve(f"onnx:{tmp_path / 'm.json'}").predict(RAMP).scores[:, 0], 0.25)


def test_tensors_are_found_wherever_a_model_may_keep_them(tmp_path):
    """In an attribute of a node of a subgraph of a function."""
    outside = onnx.numpy_helper.from_array(np.zeros(3, np.float32), "inner")
    onnx.external_data_helper.set_external_data(outside, "deep.bin")
    outside.ClearField("raw_data")
    inner = helper.make_graph([helper.make_node("Constant", [], ["c"], value=outside)], "inner", [], [])
    node = helper.make_node("If", ["x"], ["y"], then_branch=inner, else_branch=inner)
    function = helper.make_function("local", "F", ["x"], ["y"], [node], [helper.make_opsetid("", 13)])
    model = helper.make_model(helper.make_graph([], "empty", [], []), functions=[function])
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    (tmp_path / "deep.bin").write_bytes(bytes(12))
    assert external_digests(tmp_path / "m.onnx").keys() == {"deep.bin"}


def heads(path, outputs):
    """A model that gives each output the means of its image's channels, repeated over the columns of its shape."""
    nodes, tensors = [helper.make_node("ReduceMean", ["image"], ["means"], axes=[2, 3], keepdims=0)], []
    for place, (name, columns) in enumerate(outputs.items()):
        weights = np.full((3, columns), (place + 1) / 12, np.float32)
        tensors.append(onnx.numpy_helper.from_array(weights, f"w_{name}"))
        nodes.append(helper.make_node("MatMul", ["means", f"w_{name}"], [name]))
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", k]) for name, k in outputs.items()]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, 8, 8])
    made = helper.make_graph(nodes, "heads", [image], infos, tensors)
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return str(path)


MULTI = {"task": "multilabel", "isolate": False}


@pytest.mark.parametrize(
    ("outputs", "options", "read"),
    [
        ({"eyes": 2, "smile": 2}, {**MULTI, "output_name": "smile"}, "smile"),
        ({"eyes": 2, "smile": 3}, {**MULTI, "labels": ("a", "b", "c")}, "smile"),
        ({"eyes": 2, "smile": 1}, {"isolate": False}, "smile"),
        ({"smile": 1}, {"isolate": False}, "smile"),
    ],
)
def test_one_of_several_outputs_is_read_where_one_fits_or_is_named(tmp_path, outputs, options, read):
    target = resolve(heads(tmp_path / "m.onnx", outputs), **options)
    facts = describe(target)
    assert facts["output_name"] == read
    assert facts.get("outputs", outputs).keys() == outputs.keys()
    place = list(outputs).index(read)
    # three means of 0.2 (51 of 255) times (place + 1) / 12 each
    assert_allclose(guarded(target, RAMP, timeout=10, batch=8).scores[1], 0.05 * (place + 1), rtol=1e-5)


@pytest.mark.parametrize(
    ("outputs", "options", "words"),
    [
        ({"eyes": 2, "smile": 2}, MULTI, r"eyes \[n, 2\], smile \[n, 2\], and 2 of them fit.*--output-name"),
        ({"eyes": 2, "smile": 2}, {"isolate": False}, "none of them fits.*--task"),
        ({"eyes": 1, "smile": 1}, {"isolate": False}, "2 of them fit"),
        ({"eyes": 1, "smile": 1}, {"isolate": False, "output_name": "smil"}, "did you mean smile"),
    ],
)
def test_none_of_several_outputs_is_chosen_silently(tmp_path, outputs, options, words):
    with pytest.raises(BadInput, match=words):
        resolve(heads(tmp_path / "m.onnx", outputs), **options)


@pytest.mark.parametrize("axes", [[1], [1, 1]])
def test_a_model_of_one_image_answers_each_image_for_itself(tmp_path, axes):
    """Its output has no axis of images: the mean of each image, not the first numbers of all put together."""
    nodes = [
        helper.make_node("ReduceMean", ["image"], ["kept"], keepdims=0),
        helper.make_node("Reshape", ["kept", "axes"], ["score"]),
    ]
    made = helper.make_graph(
        nodes, "mean", [helper.make_tensor_value_info("image", TensorProto.FLOAT, [3, 8, 8])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, axes)],
        [helper.make_tensor("axes", TensorProto.INT64, [len(axes)], axes)],
    )  # fmt: skip
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, tmp_path / "one.onnx")
    target = resolve(f"onnx:{tmp_path / 'one.onnx'}", task="binary")
    assert_allclose(target.predict(RAMP).scores[:, 0], MEANS, atol=1e-6)
