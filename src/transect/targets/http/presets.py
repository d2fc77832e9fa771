"""Settings of interfaces that are widely spoken; a file's own settings go before them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

REKOGNITION: Final = "rekognition-detect-faces"

BEDROCK: Final = "bedrock-converse"
CHAT: Final = ("openai-chat", "openai-responses", "anthropic-messages", "gemini", BEDROCK)
"""Interfaces of models that answer in words: `transect.targets.http.chat` speaks them."""

PRESETS: Final[Mapping[str, Mapping[str, object]]] = {
    "json": {
        "request": {"body": "json", "json": {"image": "{image_base64}"}},
        "response": {"score": "score", "scores": "scores", "boxes": "boxes", "embedding": "embedding"},
    },
    # Open Inference Protocol V2 (KServe, Triton, MLServer): one tensor in, one out, a batch of one image.
    "kserve-v2": {
        "request": {
            "body": "json",
            "json": {"inputs": [{"name": "input", "shape": "{tensor_shape}", "datatype": "FP32", "data": "{tensor}"}]},
        },
        "response": {
            "score": "outputs[0].data[0]",
            "scores": "outputs[0].data",
            "boxes": "outputs[0].data",
            "embedding": "outputs[0].data",
        },
    },
    # Boxes come as shares of the picture, confidences in percent.
    REKOGNITION: {
        "task": "detection",
        "request": {"body": "bytes"},
        "response": {
            "boxes": "FaceDetails",
            "box": "BoundingBox.[Left, Top, Width, Height]",
            "box_format": "xywh",
            "box_units": "relative",
            "score": "Confidence",
            "score_scale": 100,
        },
    },
}


def with_preset(table: Mapping[str, object]) -> dict[str, object]:
    """The settings of a file over those of the preset that it names; without a known preset the file's own.

    A score is read off each box in detection, and off the whole answer elsewhere: a preset for detection has no say
    in another task's score. A request's `json` replaces the preset's whole.

    >>> with_preset({"preset": "json", "response": {"score": "smile"}})["response"]["score"]
    'smile'
    """
    preset = PRESETS.get(str(table.get("preset", "")), {})
    return merged(preset, table)


def merged(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    """Tables over others, key by key; `json` as a whole."""
    both = dict(low)
    for key, value in high.items():
        nested = key != "json" and isinstance(value, Mapping) and isinstance(both.get(key), Mapping)
        both[key] = merged(both[key], value) if nested else value
    return both
