"""Bundles of MediaPipe's form whose networks are written by hand: each answer is a constant plus the picture's mean."""

import zipfile

import numpy as np


def network(size, *answers, quantized=None):
    """A LiteRT file of one input [1, size, size, 3]; answers: arrays, to which the mean of all values is added.

    quantized: scale and zero of the input's signed bytes, and of the outputs' bytes; None for floating-point numbers.
    """
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.buffers, model.operatorCodes, model.subgraphs = 3, [schema.BufferT()], [], [graph]
    graph.tensors, graph.operators, graph.outputs = [], [], []

    def tensor(name, shape, values=None, bits=None):
        each = schema.TensorT()
        each.name, each.shape, each.buffer = name, list(shape), 0
        each.type = schema.TensorType.FLOAT32 if values is None else _kind(schema, values)
        if values is not None:
            held = schema.BufferT()
            held.data = np.frombuffer(values.tobytes(), np.uint8)
            model.buffers.append(held)
            each.buffer = len(model.buffers) - 1
        if bits is not None:
            each.type, each.quantization = bits, schema.QuantizationParametersT()
            scale, zero = quantized[bits == schema.TensorType.UINT8]
            each.quantization.scale, each.quantization.zeroPoint = [scale], [zero]
        graph.tensors.append(each)
        return len(graph.tensors) - 1

    def operation(name, inputs, output, options):
        code, each = schema.OperatorCodeT(), schema.OperatorT()
        code.builtinCode = code.deprecatedBuiltinCode = getattr(schema.BuiltinOperator, name)
        code.version = 1
        model.operatorCodes.append(code)
        each.opcodeIndex, each.inputs, each.outputs = len(model.operatorCodes) - 1, inputs, [output]
        each.builtinOptions = getattr(schema, f"{options}T")()
        each.builtinOptionsType = getattr(schema.BuiltinOptions, options)
        graph.operators.append(each)

    picture, mean = tensor("picture", (1, size, size, 3)), tensor("mean", (1,))
    operation("MEAN", [picture, tensor("axes", (3,), np.array([1, 2, 3], np.int32))], mean, "ReducerOptions")
    graph.inputs = [picture]
    if quantized:
        graph.inputs = [tensor("bytes", (1, size, size, 3), bits=schema.TensorType.INT8)]
        operation("DEQUANTIZE", graph.inputs, picture, "DequantizeOptions")
        graph.operators.insert(0, graph.operators.pop())
    for place, values in enumerate(answers):
        held = tensor(f"constant {place}", values.shape, values.astype(np.float32))
        graph.outputs.append(tensor(f"answer {place}", values.shape))
        operation("ADD", [held, mean], graph.outputs[-1], "AddOptions")
        if quantized:
            graph.outputs.append(tensor(f"bytes {place}", values.shape, bits=schema.TensorType.UINT8))
            operation("QUANTIZE", [graph.outputs.pop(-2)], graph.outputs[-1], "QuantizeOptions")
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def _kind(schema, values):
    return schema.TensorType.INT32 if values.dtype == np.int32 else schema.TensorType.FLOAT32


def bundle(file, **networks):
    """The archive of face_detector.tflite, face_landmarks_detector.tflite and others, by the names without ending."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in networks.items():
            archive.writestr(f"{name}.tflite", content)
    return file
