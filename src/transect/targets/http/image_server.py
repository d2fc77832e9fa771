"""Serves images from loopback to interfaces that want an address instead of bytes."""

from __future__ import annotations

import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import final


@final
class ImageServer:
    """Images under names that cannot be guessed, each only while it is asked about.

    public_url: where a tunnel or proxy shows the server to others; without it addresses lead to loopback. port: where
    it listens on loopback; 0 for any free one.
    """

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
