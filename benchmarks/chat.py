"""How much work of its own does a question to a chat interface take, with 64 calls in flight on one core?

python benchmarks/chat.py [--quick]

The peer is httpx2 alone: the same bodies to the same server from as many threads. Both keep one core, the server has
another process, which answers after a pause, as a model would. Own work is processor time of this process for each
call: of everything (budget, file of answers, encoding, sending, reading), and of the peer. Pictures are as large as an
audit's by default, 256 x 256 pixels, and each is asked four questions. Exit 1 where a call takes 5 ms or more.
"""

import json
import multiprocessing
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
from _records import LONGER, QUICK, record

from transect.generators import load
from transect.spoken_answers import Ask
from transect.targets.http.chat.interfaces import Shown
from transect.targets.http.chat.speaker import Question, load_chat

IMAGES, FLIGHT, ROUNDS = (16, 64, 1) if QUICK else (128, 64, 3)
PAUSE = 1.0
"""Seconds that the server takes for an answer."""
ASKS = [Ask("You look at portraits.", f"Does the person {deed}? Answer yes or no.") for deed in
        ("smile", "wear glasses", "look tired", "look at you")]  # fmt: skip
ANSWER = json.dumps(
    {
        "choices": [{"message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 900, "completion_tokens": 2},
    }
).encode()
FILE = """
preset = "openai-chat"
[request]
url = "{url}"
model = "m"
headers = {{ Authorization = "Bearer ${{BENCHMARK_KEY}}" }}
[limits]
concurrency = {flight}
[budget]
money = 1000
[price]
per_million_sent = 2.5
per_million_received = 10
"""


class Answers(BaseHTTPRequestHandler):
    """Answers every question after a pause."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        """Take the body and answer."""
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(PAUSE)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)

    def log_message(self, *_):
        """Nothing."""


class Server(ThreadingHTTPServer):
    """Takes many connections at once."""

    daemon_threads, request_queue_size = True, 256


def serve(port):
    """Tell where the server is, and serve until the process ends."""
    server = Server(("127.0.0.1", 0), Answers)
    port.send(server.server_address[1])
    server.serve_forever()


def timed(work):
    """Processor seconds of this process and seconds on the clock that some work takes."""
    cpu, clock = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - clock


def bare(url, bodies):
    """Send the bodies with httpx2 alone, a connection for each as the speaker has it."""
    limits = httpx2.Limits(max_connections=FLIGHT, max_keepalive_connections=0)
    with httpx2.Client(limits=limits, trust_env=False, timeout=60) as client, ThreadPoolExecutor(FLIGHT) as pool:
        assert all(reply.json()["choices"] for reply in pool.map(lambda body: client.post(url, json=body), bodies))


def one_round(folder, url, images, number):
    """Milliseconds of own work for each call: of the speaker and of the peer; and the speaker's calls a second."""
    file = folder / f"chat{number}.toml"
    file.write_text(FILE.format(url=url, flight=FLIGHT))
    speaker = load_chat(file)
    shown = [(pixels,) for pixels in images]
    questions = [Question(Shown(one, speaker.settings.request), ask) for one in shown for ask in ASKS]
    bodies = [dict(speaker.message(question).json) for question in questions]
    said = []
    own, clock = timed(lambda: said.extend(speaker.speak(shown, [ASKS] * len(shown))))
    assert all(one.text == "Yes." for row in said for one in row)
    speaker.close()
    peer, _ = timed(lambda: bare(url, bodies))
    return 1000 * own / len(bodies), 1000 * peer / len(bodies), len(bodies) / clock


def main():
    """Print the table; 1 where a call takes 5 ms of own work or more."""
    os.environ["BENCHMARK_KEY"] = "not-a-real-key"
    cores = sorted(os.sched_getaffinity(0))
    here, there = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=serve, args=(there,), daemon=True)
    process.start()
    url = f"http://127.0.0.1:{here.recv()}/v1/chat/completions"
    world = load("faceworld", image_size=256)
    images = world.render(world.sample(range(IMAGES))).pixels
    os.sched_setaffinity(0, cores[:1])
    os.sched_setaffinity(process.pid, cores[1:] or cores)
    with tempfile.TemporaryDirectory() as name:
        rounds = [one_round(Path(name), url, images, number) for number in range(ROUNDS)]
    process.terminate()
    own, peer, rate = min(rounds)
    print(f"{'own work':>12}{'httpx2 alone':>14}{'ratio':>8}{'calls a second':>16}")
    print(f"{own:>9.2f} ms{peer:>11.2f} ms{own / peer:>8.2f}{rate:>16.1f}")
    record(f"{FLIGHT} questions in flight, own work of a call", "httpx2 alone", own / peer, LONGER, ROUNDS)
    return int(own >= 5 and not QUICK)


if __name__ == "__main__":
    sys.exit(main())
