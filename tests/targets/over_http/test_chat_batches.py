"""Questions in batches: handed over once, collected also after a restart, and paid for by what they took."""

import json
import re
import threading
import time

import pytest
from chat_servers import YES, answer_of, speaking
from hostile_server import SECRET, pictures, serving

from transect.errors import BudgetSpent, Interrupted
from transect.spoken_answers import Ask
from transect.targets.http import asking

PRESETS = ("openai-chat", "openai-responses", "anthropic-messages", "gemini")
BATCH = "[batch]\npoll = 0.01\n"


class Provider:
    """A server of one interface's batches: each is done at the second look. Answers say the number of the question.

    lost: numbers of questions, by the order in which they came, that expire.
    """

    def __init__(self, preset, lost=()):
        self.preset, self.lost, self.server = preset, lost, None
        self.batches, self.files, self.looks, self.questions = {}, {}, {}, 0

    def __call__(self, number, body):
        path = self.server.requests[number][0]
        return {"openai": self.openai, "anthropic": self.anthropic, "gemini": self.gemini}[
            self.preset.partition("-")[0]
        ](path, body)

    def done(self, name):
        self.looks[name] = self.looks.get(name, 0) + 1
        return self.looks[name] > 1

    def numbered(self, names):
        """The names of questions with how they came, starting where the batch before ended."""
        start, self.questions = self.questions, self.questions + len(names)
        return [(name, start + k) for k, name in enumerate(names)]

    def said(self, number):
        return answer_of(self.preset, f"answer {number}", 55, 5)

    def openai(self, path, body):
        if path == "/v1/files":
            lines = re.findall(rb'^\{"custom_id".*\}\r?$', body, re.MULTILINE)
            self.files[f"file-{len(self.files)}"] = [json.loads(line) for line in lines]
            return {"body": {"id": f"file-{len(self.files) - 1}", "object": "file", "purpose": "batch"}}
        if path == "/v1/batches":
            asked = json.loads(body)
            lines = self.files[asked["input_file_id"]]
            assert asked["completion_window"] == "24h"
            assert {line["url"] for line in lines} == {asked["endpoint"]}
            name = f"batch_{len(self.batches)}"
            self.batches[name] = self.numbered([line["custom_id"] for line in lines])
            return {"body": {"id": name, "status": "validating"}}
        if path.endswith("/content"):
            name, kind = path.split("/")[-2].split("%20")
            rows = [row for row in self.batches[name] if (row[1] in self.lost) == (kind == "lost")]
            lines = [self.line(custom, number) for custom, number in reversed(rows)]
            return {"body": "\n".join(json.dumps(line) for line in lines).encode()}
        name = path.split("/")[-1]
        if not self.done(name):
            return {"body": {"id": name, "status": "in_progress"}}
        return {"body": {"status": "completed", "output_file_id": f"{name} done", "error_file_id": f"{name} lost"}}

    def line(self, custom, number):
        if number in self.lost:
            fault = {"code": "batch_expired", "message": "This request could not be executed before the window."}
            return {"custom_id": custom, "response": None, "error": fault}
        return {"custom_id": custom, "response": {"status_code": 200, "body": self.said(number)}, "error": None}

    def anthropic(self, path, body):
        if path == "/v1/messages/batches":
            requests = json.loads(body)["requests"]
            assert all(one["params"]["max_tokens"] for one in requests)
            name = f"msgbatch_{len(self.batches)}"
            self.batches[name] = self.numbered([one["custom_id"] for one in requests])
            return {"body": {"id": name, "processing_status": "in_progress", "results_url": None}}
        if path.endswith("/results"):
            lines = [
                {"custom_id": custom, "result": {"type": "expired"}}
                if number in self.lost
                else {"custom_id": custom, "result": {"type": "succeeded", "message": self.said(number)}}
                for custom, number in reversed(self.batches[path.split("/")[-2]])
            ]
            return {"body": "\n".join(json.dumps(line) for line in lines).encode()}
        ended = self.done(path.split("/")[-1])
        return {"body": {"processing_status": "ended" if ended else "in_progress", "results_url": "https://elsewhere"}}

    def gemini(self, path, body):
        if path.endswith(":batchGenerateContent"):
            requests = json.loads(body)["batch"]["inputConfig"]["requests"]["requests"]
            assert all(one["request"]["contents"] for one in requests)
            name = f"batches/{len(self.batches)}"
            self.batches[name] = self.numbered([one["metadata"]["key"] for one in requests])
            return {"body": {"name": name, "metadata": {"state": "BATCH_STATE_PENDING"}}}
        name = path.removeprefix("/v1beta/")
        if not self.done(name):
            return {"body": {"name": name, "metadata": {"state": "BATCH_STATE_RUNNING"}}}
        lines = [
            {"metadata": {"key": custom}, "error": {"code": 4, "message": "expired"}}
            if number in self.lost
            else {"metadata": {"key": custom}, "response": self.said(number)}
            for custom, number in self.batches[name]
        ]
        answers = {"inlinedResponses": {"inlinedResponses": lines}}
        return {
            "body": {"name": name, "done": True, "metadata": {"state": "BATCH_STATE_SUCCEEDED"}, "response": answers}
        }


@pytest.fixture
def provide():
    """A provider and its server, at work until the test ends."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def start(preset, **settings):
            provider = Provider(preset, **settings)
            provider.server = stack.enter_context(serving(provider))
            return provider, provider.server.url

        yield start


def shown(n):
    return [(one,) for one in pictures(n)]


@pytest.mark.parametrize("preset", PRESETS)
def test_are_handed_over_together_and_answered_in_order(tmp_path, provide, preset):
    """Five images with two questions each, in batches of four: three batches, and answers that came in reverse."""
    provider, url = provide(preset)
    asks = [[YES, Ask("", f"Q {k}")] for k in range(5)]
    with speaking(tmp_path, url, preset, more="[batch]\npoll = 0.01\nsize = 4\n") as speaker:
        said = speaker.speak(shown(5), asks)
        again = speaker.speak(shown(5), asks)
        spent, counts = speaker.ledger.spent(), speaker.call_counts()
    assert [[one.text for one in row] for row in said] == [[f"answer {2 * k}", f"answer {2 * k + 1}"] for k in range(5)]
    assert again == said
    assert [len(batch) for batch in provider.batches.values()] == [4, 4, 2]
    assert (spent.calls, spent.tokens) == (10, 600)
    assert (counts.images, counts.answered, counts.calls) == (10, 10, 10)
    for _, headers, _ in provider.server.requests:
        assert SECRET in str(headers), "each call is signed"
    for path in tmp_path.iterdir():
        assert SECRET.encode() not in path.read_bytes()


@pytest.mark.parametrize("preset", PRESETS)
def test_a_question_that_expired_has_its_reason_and_its_budget_comes_back(tmp_path, provide, preset):
    _, url = provide(preset, lost=(1,))
    with speaking(tmp_path, url, preset, more=BATCH) as speaker:
        said = speaker.speak(shown(3), [[YES]] * 3)
        calls = speaker.ledger.spent().calls
    assert [row[0].text for row in said] == ["answer 0", "", "answer 2"]
    assert said[1][0].failure.startswith("batch: ")
    assert calls == (3 if preset == "gemini" else 2)  # Google says that it failed, not that it was never worked on


def test_a_stopped_run_is_collected_by_the_next(tmp_path, provide, monkeypatch):
    monkeypatch.setattr(asking, "_stopping", threading.Event())
    provider, url = provide("anthropic-messages")
    with speaking(tmp_path, url, "anthropic-messages", more="[batch]\npoll = 60\n") as speaker:
        failures = []

        def ask():
            try:
                speaker.speak(shown(3), [[YES]] * 3)
            except Interrupted as error:
                failures.append(str(error))

        thread = threading.Thread(target=ask)
        thread.start()
        while not provider.looks:
            time.sleep(0.01)
        asking.drain()
        thread.join(10)
        assert failures == ["interrupted while a batch is under way: run the same command again to collect it"]
        assert len(speaker.ledger.batches(speaker.request)) == 1
    monkeypatch.setattr(asking, "_stopping", threading.Event())
    with speaking(tmp_path, url, "anthropic-messages", more=BATCH) as speaker:
        said = speaker.speak(shown(4), [[YES]] * 4)
        assert speaker.ledger.batches(speaker.request) == []
        assert (speaker.ledger.spent().calls, speaker.ledger.spent().tokens) == (4, 240)
        assert (speaker.calls_made()[0], speaker.asker.made().tokens) == (
            1,
            60,
        )  # the three are the program's before it
    assert [row[0].text for row in said] == [f"answer {k}" for k in range(4)]
    assert [len(batch) for batch in provider.batches.values()] == [3, 1]


def test_a_budget_is_kept_by_what_batches_hold(tmp_path, provide):
    """The budget holds three questions at once, and each takes 60: after a batch of three comes one of the rest."""
    with serving() as server, speaking(tmp_path, server.url, "gemini", name="other.toml") as speaker:
        held = speaker.quote(1, [YES], size=(4, 4)).tokens
    provider, url = provide("gemini")
    with speaking(tmp_path, url, "gemini", more=f"{BATCH}[budget]\ntokens = {3 * held + 10}") as speaker:
        said = speaker.speak(shown(5), [[YES]] * 5)
        assert speaker.ledger.spent().tokens == 300
    assert [row[0].text for row in said] == [f"answer {k}" for k in range(5)]
    assert [len(batch) for batch in provider.batches.values()] == [3, 2]
    with (
        speaking(tmp_path, url, "gemini", more=f"{BATCH}[budget]\ntokens = {held - 1}", name="none.toml") as speaker,
        pytest.raises(BudgetSpent, match="and a call may use"),
    ):
        speaker.speak(shown(5), [[YES]] * 5)
