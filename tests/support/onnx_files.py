"""ONNX files whose outputs are given: constants, for any image."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def constant(path, shape, outputs, dtype=FLOAT, metadata=None, free=()):
    """A model of one input `image` that answers with these arrays whatever the image. free: outputs of unknown shape.

    A first size that is a text is a free batch.
    """
    nodes = [
        helper.make_node("Cast", ["image"], ["real"], to=FLOAT),
        helper.make_node("ReduceMean", ["real"], ["mean"], keepdims=0),
        helper.make_node("Mul", ["mean", "zero"], ["nothing"]),
    ]
    tensors, infos = [helper.make_tensor("zero", FLOAT, [], [0])], []
    for name, values in outputs.items():
        kind = helper.np_dtype_to_tensor_dtype(values.dtype)
        tensors.append(numpy_helper.from_array(values, f"{name} held"))
        nodes.append(helper.make_node("Cast", ["nothing"], [f"{name} nothing"], to=kind))
        nodes.append(helper.make_node("Add", [f"{name} held", f"{name} nothing"], [name]))
        sizes = [f"{name}{axis}" for axis in range(values.ndim)] if name in free else values.shape
        infos.append(helper.make_tensor_value_info(name, kind, sizes))
    image = helper.make_tensor_value_info("image", dtype, shape)
    return save(path, helper.make_graph(nodes, "constant", [image], infos, tensors), metadata)


def save(path, graph, metadata=None, domains=()):
    """The graph as a file; domains: of operators other than ONNX's own, with their versions."""
    opsets = [helper.make_opsetid("", 13), *(helper.make_opsetid(*each) for each in domains)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    helper.set_model_props(model, metadata or {})
    onnx.save(model, path)
    return str(path)


def pair_of_scikit_learn(path, weights, *, mapped):
    """Class and probabilities as its converters write them, of rows of features. mapped: as one mapping a row."""
    classes, features = weights.shape
    linear = helper.make_node(
        "LinearClassifier", ["rows"], ["label", "probabilities"], domain="ai.onnx.ml",
        coefficients=weights.ravel().tolist(), intercepts=[0.0] * classes, classlabels_ints=list(range(classes)),
        multi_class=0, post_transform="SOFTMAX",
    )  # fmt: skip
    number = helper.make_tensor_type_proto(FLOAT, [])
    nodes, kind = [linear], helper.make_tensor_type_proto(FLOAT, ["n", classes])
    if mapped:
        ints = list(range(classes))
        nodes.append(
            helper.make_node("ZipMap", ["probabilities"], ["mapping"], domain="ai.onnx.ml", classlabels_int64s=ints)
        )
        kind = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.INT64, number))
    infos = [
        helper.make_tensor_value_info("label", TensorProto.INT64, ["n"]),
        helper.make_value_info("mapping" if mapped else "probabilities", kind),
    ]
    rows = helper.make_tensor_value_info("rows", FLOAT, ["n", features])
    return save(path, helper.make_graph(nodes, "estimator", [rows], infos), domains=[("ai.onnx.ml", 1)])


def planted(columns, rows, count=84):
    """Zeros but for the first rows: the raw answers of a grid of anchors."""
    found = np.zeros((1, count, columns), np.float32)
    found[0, : len(rows)] = rows
    return found
