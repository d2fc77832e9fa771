"""The real server in a process of its own, and raters who use it over HTTP."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import httpx2

PASSWORD = "correct horse"


@contextmanager
def serving(run, *options, port=0, examples=False):
    """The process and where it listens; killed at the end."""
    command = [sys.executable, "-m", "transect", "annotate", "serve", str(run), "--port", str(port)]
    command += [] if examples else ["--no-examples"]
    environment = {**os.environ, "TRANSECT_ADMIN_PASSWORD": PASSWORD}
    process = subprocess.Popen(
        [*command, *options, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield process, json.loads(line)["url"]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


class HttpRater(threading.Thread):
    """Follows a link and answers until nothing is left; sends again, under the same key, what was not acknowledged.

    acknowledged: key -> (task, value) of answers that the server said it kept.
    """

    def __init__(self, base, token, say, stop):
        super().__init__(daemon=True)
        self.base, self.token, self.say, self.stop = base, token, say, stop
        self.acknowledged, self.failure, self.csrf, self.waited = {}, None, "", []

    def run(self):
        try:
            self.work()
        except BaseException as error:
            self.failure = error

    def work(self):
        # Sessions are kept: a server that was killed and came back knows the cookie.
        with httpx2.Client(base_url=self.base, timeout=60.0) as http:
            self.patiently(lambda: http.get(f"/invite/{self.token}"))
            page = self.patiently(lambda: http.get("/")).text
            consent = re.search(r'name="csrf" value="([^"]+)"', page)
            self.patiently(lambda: http.post("/consent", data={"csrf": consent[1]}))
            self.csrf = re.search(r'name="csrf" content="([^"]+)"', self.patiently(lambda: http.get("/")).text)[1]
            tasks = self.patiently(lambda: http.get("/api/tasks")).json()["tasks"]
            while tasks and not self.stop.is_set():
                task = tasks[0]
                self.patiently(lambda task=task: http.get(task["pictures"][0]))
                body = {"task": task["id"], "key": f"{self.token[:16]}-{task['id']}", "value": self.say(task)}
                started = time.monotonic()
                reply = self.patiently(
                    lambda body=body: http.post("/api/answers", json=body, headers={"x-csrf-token": self.csrf})
                )
                self.waited.append(time.monotonic() - started)
                self.acknowledged[body["key"]] = (task["id"], body["value"])
                tasks = reply.json()["tasks"]

    def patiently(self, ask):
        """Ask until there is a reply; a refusal is a failure, a server that is away or busy is not."""
        until = time.monotonic() + 400
        while time.monotonic() < until:
            if self.stop.is_set():
                raise SystemExit
            try:
                reply = ask()
            except httpx2.TransportError:
                time.sleep(0.1)
                continue
            if reply.status_code == 429 or reply.status_code >= 500:
                time.sleep(0.2)
                continue
            assert reply.status_code < 400, (reply.status_code, reply.text)
            return reply
        raise AssertionError("the server did not come back")
