"""From an image to a request: encoding, placeholders, secrets, and a server of images for interfaces that take an
address.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, final

import numpy as np
from jaxtyping import UInt8

from transect.errors import BadInput
from transect.runs.folder import canonical_json, spec_hash
from transect.runs.pictures import saved
from transect.targets.http.asking import Message
from transect.targets.http.settings import Request, Secrets, Settings
from transect.targets.preprocess import Preprocess
from transect.targets.python_objects import array_digest


@final
class ImageServer:
    """Images under names that cannot be guessed, each while it is asked about; on loopback, or behind `public_url`."""

    def __init__(self, public_url: str = "", port: int = 0) -> None:
        self._images: dict[str, tuple[bytes, str]] = {}
        self._names: dict[str, str] = {}
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._server.daemon_threads = True
        self._root = public_url.rstrip("/") or f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, name="transect-images", daemon=True).start()

    def add(self, key: str, content: bytes, content_type: str) -> str:
        """The address of an image from now on; the same for the same key until it is removed."""
        with self._lock:
            name = self._names.setdefault(key, secrets.token_urlsafe(24))
            self._images[name] = (content, content_type)
        return f"{self._root}/{name}"

    def remove(self, key: str) -> None:
        """Stop serving it."""
        with self._lock:
            self._images.pop(self._names.pop(key, ""), None)

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        images = self._images

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                content, kind = images.get(self.path.lstrip("/"), (b"", ""))
                self.send_response(200 if content else 404)
                self.send_header("Content-Type", kind or "text/plain")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Names of images are in no log."""

        return Handler


_PLACEHOLDER = re.compile(r"\{([a-z_0-9]+)\}")
PLACEHOLDERS: Final = (
    "image_base64", "image_url", "tensor", "tensor_shape", "width", "height", "idempotency_key",
)  # fmt: skip

Pixels = UInt8[np.ndarray, "h w 3"]


def request_key(settings: Settings) -> str:
    """SHA-256 of the request without the image: another request, or another version, has other answers.

    How answers are read, limits, budget and prices have no part in it, so that changing these pays for nothing again.
    """
    request = settings.request.model_dump(by_alias=True, exclude={"public_url", "serve_port"})
    return spec_hash({"version": settings.version, "boto3": settings.is_rekognition, **request})


@final
class Messages:
    """Makes the request about each image. Raises BadInput for an unknown {placeholder} or a secret that is not set."""

    def __init__(self, settings: Settings) -> None:
        request = settings.request
        self._request, self._key = request, request_key(settings)
        self._texts = {"headers": request.headers, "query": request.query, "fields": request.fields}
        self._texts["json"] = request.template
        _check_placeholders(self._texts)
        self.secrets = Secrets(self._texts)
        self._filled = self.secrets.fill(self._texts)
        self._preprocess = Preprocess.from_mapping(request.preprocess)
        self._server = (
            ImageServer(request.public_url, request.serve_port)
            if "{image_url}" in canonical_json(self._texts)
            else None
        )

    def make(self, pixels: Pixels, again: int = 0) -> Message:
        """The request about one image, secrets and all. again: a number that makes its idempotency key another."""
        request = self._request
        values = self._values(pixels, again)
        filled = {key: _fill(value, values) for key, value in self._filled.items()}
        for place in ("headers", "query", "fields"):  # HTTP has only texts there
            filled[place] = {
                name: value if isinstance(value, str) else json.dumps(value) for name, value in filled[place].items()
            }
        headers, body = filled["headers"], {}
        if request.body == "json":
            body = {"json": filled["json"]}
        elif request.body == "bytes":
            body = {"content": encoded(pixels, request)}
            headers = {"Content-Type": content_type(request), **headers}
        elif request.body == "multipart":
            file = (f"image.{request.image_format}", encoded(pixels, request), content_type(request))
            body = {"files": {request.field: file}, "data": filled["fields"]}
        return Message(request.method, request.url, headers, filled["query"], **body)

    def done(self, pixels: Pixels) -> None:
        """Stop serving an image that was asked about."""
        if self._server is not None:
            self._server.remove(array_digest(pixels))

    def close(self) -> None:
        """Stop the server of images, if one runs."""
        if self._server is not None:
            self._server.close()

    def _values(self, pixels: Pixels, again: int) -> Mapping[str, Callable[[], Any]]:
        request = self._request
        key = hashlib.sha256(f"{self._key}{array_digest(pixels)}{again or ''}".encode()).hexdigest()
        return {
            "image_base64": lambda: base64.b64encode(encoded(pixels, request)).decode(),
            "image_url": lambda: self._serve(pixels),
            "tensor": lambda: self._preprocess.apply(pixels[None]).ravel().tolist(),
            "tensor_shape": lambda: list(self._preprocess.apply(pixels[None]).shape),
            "width": lambda: pixels.shape[1],
            "height": lambda: pixels.shape[0],
            "idempotency_key": lambda: key,
        }

    def _serve(self, pixels: Pixels) -> str:
        if self._server is None:
            raise BadInput("no {image_url} is asked for")
        return self._server.add(array_digest(pixels), encoded(pixels, self._request), content_type(self._request))


def encoded(pixels: Pixels, request: Request) -> bytes:
    """The image as PNG (lossless), JPEG, or its values: bytes by row, column and channel (red, green, blue)."""
    if request.image_format == "rgb":
        return np.ascontiguousarray(pixels).tobytes()
    return encode_as(pixels, request.image_format, request.jpeg_quality)


def encode_as(pixels: Pixels, image_format: str, jpeg_quality: int = 95) -> bytes:
    """The image as a file: "png" (lossless) or "jpeg" of that quality, from 1 to 100."""
    options = {"quality": jpeg_quality} if image_format == "jpeg" else {}
    return saved(np.ascontiguousarray(pixels), image_format.upper(), **options)


def content_type(request: Request) -> str:
    """The media type of the encoded image."""
    return "application/octet-stream" if request.image_format == "rgb" else f"image/{request.image_format}"


def _fill(template: object, values: Mapping[str, Callable[[], object]]) -> Any:
    """A placeholder alone becomes the value itself; inside a text it becomes text."""
    if isinstance(template, Mapping):
        return {key: _fill(value, values) for key, value in template.items()}
    if isinstance(template, list):
        return [_fill(value, values) for value in template]
    if not isinstance(template, str):
        return template
    alone = _PLACEHOLDER.fullmatch(template)
    if alone and alone[1] in values:
        return values[alone[1]]()
    return _PLACEHOLDER.sub(lambda match: str(values[match[1]]()) if match[1] in values else match[0], template)


def _check_placeholders(template: object) -> None:
    """Refuse a text that is one unknown placeholder; braces inside a longer text may be the interface's own."""
    if isinstance(template, Mapping | list):
        for value in template.values() if isinstance(template, Mapping) else template:
            _check_placeholders(value)
    elif isinstance(template, str) and (alone := _PLACEHOLDER.fullmatch(template)) and alone[1] not in PLACEHOLDERS:
        known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        raise BadInput(f"request: expected one of {known}, got {template!r}: fix the placeholder")
