"""A server that nobody here wrote: `transformers serve` with a tiny random model, asked as OpenAI's interface.

Needs a Python that has transformers with its part for serving: TRANSECT_SERVING_PYTHON names it.
"""

import os
import socket
import subprocess
import time

import numpy as np
import pytest

PYTHON = os.environ.get("TRANSECT_SERVING_PYTHON", "")
PROMPTS = ("is the person smiling ? yes or no", "is the picture a b or c ?")
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "TRANSFORMERS_VERBOSITY": "error"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of the server, once it answers."""
    import httpx2
    from tiny_vlm import tiny_vlm

    folder = tmp_path_factory.mktemp("served")
    model = tiny_vlm(folder / "tiny")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [PYTHON, "-m", "transformers.cli.transformers", "serve", str(model), "--port", str(port)]
    with (folder / "log.txt").open("w") as log:
        running = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **OFFLINE, "OMP_NUM_THREADS": "1"}
        )
        try:
            end = time.monotonic() + 300
            with httpx2.Client(trust_env=False) as client:
                while time.monotonic() < end and running.poll() is None:
                    try:
                        client.get(f"http://127.0.0.1:{port}/health", timeout=2)
                        break
                    except httpx2.HTTPError:
                        time.sleep(0.5)
            yield f"http://127.0.0.1:{port}", model
        finally:
            running.terminate()
            running.wait(30)


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON, reason="TRANSECT_SERVING_PYTHON names no Python that can serve")
def test_transformers_serve_is_asked_and_understood(server, tmp_path):
    from transect.spoken_answers import Ask
    from transect.targets.http.chat.speaker import load_chat

    url, model = server
    file = tmp_path / "served.toml"
    file.write_text(
        f'preset = "openai-chat"\n[request]\nurl = "{url}/v1/chat/completions"\nmodel = "{model}"\n'
        "[limits]\ntimeout = 60\nattempts = 1\nconcurrency = 2\n"
    )
    images = np.random.default_rng(0).integers(0, 255, (3, 64, 64, 3), dtype=np.uint8)
    asks = [Ask("", prompt, max_tokens=4) for prompt in PROMPTS]
    speaker = load_chat(file)
    try:
        said = speaker.speak([(image,) for image in images], [asks] * 3)
        again = speaker.speak([(image,) for image in images], [asks] * 3)
        made = speaker.calls_made()
    finally:
        speaker.close()
    assert [one.failure for row in said for one in row] == [""] * 6
    assert all(one.end in ("end", "length") for row in said for one in row)
    assert all(one.tokens_received is None or one.tokens_received <= 4 for row in said for one in row)
    assert said == again
    assert made == (6, 0.0)
