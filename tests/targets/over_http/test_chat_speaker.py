"""A speaker over HTTP against a server that misbehaves on purpose: every question accounted for, nothing paid twice."""

import base64
import json
import logging
from itertools import count

import numpy as np
import pytest
from chat_servers import YES, answer_of, speaking
from hostile_server import SECRET, picture, pictures, serving

from transect.spoken_answers import Ask, Spoken
from transect.targets.http.chat.interfaces import Shown
from transect.targets.http.chat.speaker import Question


def shown(n, size=4):
    """n images, each shown alone."""
    return [(one,) for one in pictures(n, size)]


def texts(said):
    return [[one.text for one in row] for row in said]


def plan(**answer):
    return lambda number, body: {"body": answer_of("openai-chat", **answer)}


def echo(number, body):
    """Says what it was asked, so that each answer shows its question."""
    prompt = json.loads(body)["messages"][-1]["content"][-1]["text"]
    return {"body": answer_of("openai-chat", f"to {prompt}")}


class TestEachQuestion:
    def test_is_answered_in_its_place(self, tmp_path):
        asks = [[Ask("", f"{image} {k}") for k in range(image)] for image in (3, 0, 2)]
        with serving(echo) as server, speaking(tmp_path, server.url) as speaker:
            said = speaker.speak(shown(3), asks)
        assert texts(said) == [["to 3 0", "to 3 1", "to 3 2"], [], ["to 2 0", "to 2 1"]]

    def test_is_paid_for_once_over_restarts_and_settings_of_limits(self, tmp_path):
        with serving(echo) as server:
            for limits in ("", "rate = 1000"):
                with speaking(tmp_path, server.url, limits=limits) as speaker:
                    speaker.speak(shown(2), [[YES], [YES]])
                    assert speaker.call_counts().images == 2
            assert len(server.requests) == 2
            with speaking(tmp_path, server.url, request="image_tokens = 9") as speaker:
                speaker.speak(shown(2), [[YES], [YES]])
            assert len(server.requests) == 2
            with speaking(tmp_path, server.url, request='detail = "low"') as speaker:
                speaker.speak(shown(2), [[YES], [YES]])
        assert len(server.requests) == 4, "another request has other answers"

    @pytest.mark.parametrize(
        "other",
        [
            Ask("another", YES.prompt, max_tokens=8),
            Ask(YES.system, "another", max_tokens=8),
            Ask(YES.system, YES.prompt, max_tokens=9),
            Ask(YES.system, YES.prompt, 0, 0.5, 8),
            Ask(YES.system, YES.prompt, 1, 0.5, 8),
        ],
    )
    def test_is_another_with_another_text_limit_temperature_or_repeat(self, tmp_path, other):
        with serving(echo) as server, speaking(tmp_path, server.url) as speaker:
            speaker.speak(shown(1), [[YES, Ask(YES.system, YES.prompt, 0, 0.5, 7), other]])
        assert len(server.requests) == 3

    def test_at_a_temperature_of_0_is_one_call_for_all_repeats(self, tmp_path):
        repeats = [Ask("", "Q", repeat, 0.0) for repeat in range(5)]
        with serving(echo) as server:
            with speaking(tmp_path, server.url) as speaker:
                speaker.speak(shown(1), [repeats])
            assert len(server.requests) == 1
            with speaking(tmp_path, server.url, request="send_temperature = false") as speaker:
                speaker.speak(shown(1), [repeats])
            assert len(server.requests) == 6, "a temperature that is not sent makes no two draws the same"

    def test_about_two_images_keeps_their_order(self, tmp_path):
        one, two = pictures(2)
        with serving(echo) as server, speaking(tmp_path, server.url) as speaker:
            speaker.speak([(one, two), (two, one), (one,)], [[YES]] * 3)
            assert len(server.requests) == 3
            sizes = [len(json.loads(body)["messages"][-1]["content"]) for _, _, body in server.requests]
        assert sorted(sizes) == [2, 3, 3]


class TestFaults:
    @pytest.mark.parametrize(
        ("fault", "failure"),
        [
            ({"status": 401}, "not allowed: HTTP 401: check address and credentials"),
            ({"body": b'data: {"a": 1}\n\n', "headers": {"Content-Type": "text/event-stream"}}, "invalid answer: streamed, which nothing asked for"),
        ],
    )  # fmt: skip
    def test_are_one_line_each(self, tmp_path, fault, failure):
        with serving(lambda number, body: fault) as server, speaking(tmp_path, server.url) as speaker:
            assert speaker.speak(shown(1), [[YES]]) == [[Spoken(failure=failure)]]

    def test_within_an_answer_are_tried_again(self, tmp_path):
        failed = {"status": "failed", "output": [], "error": {"code": "server_error", "message": "sorry"}}
        plans = [{"body": failed}, {"body": answer_of("openai-responses")}]
        with (
            serving(lambda number, body: plans[number]) as server,
            speaking(tmp_path, server.url, "openai-responses") as speaker,
        ):
            assert texts(speaker.speak(shown(1), [[YES]])) == [["Yes."]]
            assert speaker.call_counts().retries == 1


class TestCanaries:
    MORE = "[canary]\nimages = 4\nevery = 10\n"

    def test_are_asked_their_own_questions_again_and_compared(self, tmp_path):
        """30 images, each with a question of its own; two of the four canaries are answered otherwise from image 20 on."""
        numbers = count()

        def answer(number, body):
            prompt = json.loads(body)["messages"][-1]["content"][-1]["text"]
            changed = number >= 24 and prompt in ("Q 0", "Q 1")
            return {"body": answer_of("openai-chat", f"{prompt}{' anew' * changed}")}

        with (
            serving(answer) as server,
            speaking(tmp_path, server.url, limits="concurrency = 2", more=self.MORE) as speaker,
        ):
            heard = []
            speaker.on_round = heard.append
            for k in range(0, 30, 10):
                asks = [[Ask("", f"Q {next(numbers)}")] for _ in range(10)]
                speaker.speak(shown(30)[k : k + 10], asks)
            record = speaker.asked_again()
        assert len(server.requests) == 30 + 3 * 4
        assert record["rounds"] == [0, 1, 2, 3]
        assert [row[0] for row in record["distances"]] == [
            [0, 0, 1, 1],
            [0, 0, 1, 1],
            [0, 0, 0, 0],
            [0, 0, 0, 0],
        ]
        assert heard[-1] == record


class TestSecrets:
    @pytest.mark.parametrize("preset", ["openai-chat", "gemini"])
    def test_are_in_no_file_answer_log_or_description(self, tmp_path, caplog, preset):
        """The server echoes the key in its text, in a header, and in base64."""
        caplog.set_level(logging.DEBUG)
        coded = base64.b64encode(SECRET.encode()).decode()
        answer = answer_of(preset, f"Your key is {SECRET}, {coded}.")
        headers = {"Content-Type": f"application/json; k={SECRET}"}
        with (
            serving(lambda number, body: {"body": answer, "headers": headers}) as server,
            speaking(tmp_path, server.url, preset) as speaker,
        ):
            said = speaker.speak(shown(1), [[YES]])
            message = speaker.message(Question(Shown(shown(1)[0], speaker.settings.request), YES))
            text = f"{speaker.describe()} {said} {speaker.secrets!r} {message!r} {caplog.text} {speaker.quote(1)}"
        assert texts(said) == [["Your key is [ACME_KEY], [ACME_KEY]."]]
        assert SECRET in json.dumps(server.requests[0][1]), "the server got it"
        for content in [text.encode(), *(path.read_bytes() for path in tmp_path.iterdir())]:
            assert SECRET.encode() not in content
            assert coded.encode() not in content


def test_counts_are_of_questions(tmp_path):
    plans = [{"status": 500}] + [{"body": answer_of("openai-chat")}] * 6
    with (
        serving(lambda number, body: plans[number]) as server,
        speaking(tmp_path, server.url, limits="concurrency = 1") as speaker,
    ):
        assert speaker.call_counts() is None
        speaker.speak(shown(2), [[YES, Ask("", "a"), Ask("", "b")]] * 2)
        counts = speaker.call_counts()
    assert (counts.images, counts.answered, counts.calls, counts.retries) == (6, 6, 7, 1)
    assert counts.failed == {"HTTP 500": 1}


def test_the_description_holds_what_is_sent_and_no_limits(tmp_path):
    with serving() as server, speaking(tmp_path, server.url, more="[budget]\ncalls = 3") as speaker:
        facts = speaker.describe()
    assert facts.keys() == {"kind", "request_sha256", "version", "preset", "request"}
    assert facts["request"]["headers"] == {"Authorization": "Bearer ${ACME_KEY}"}
    assert facts["request"]["model"] == "model-1"


def test_an_image_is_encoded_once_for_all_its_questions(tmp_path, monkeypatch):
    from transect.targets.http.chat import interfaces as encoding

    made = []
    original = encoding.picture
    monkeypatch.setattr(encoding, "picture", lambda *given: made.append(1) or original(*given))
    with serving(echo) as server, speaking(tmp_path, server.url, limits="concurrency = 1") as speaker:
        speaker.speak([(picture(1),)], [[Ask("", str(k)) for k in range(5)]])
        assert len(server.requests) == 5
    assert len(made) == 1
    assert isinstance(picture(1), np.ndarray)


class TestATextWithoutAnImage:
    """As a judge is asked."""

    @pytest.mark.parametrize("preset", ["openai-responses", "anthropic-messages"])
    def test_is_sent_without_one_and_paid_for_once(self, tmp_path, preset):
        with serving(lambda number, body: {"body": answer_of(preset)}) as server:
            for _ in range(2):
                with speaking(tmp_path, server.url, preset=preset) as speaker:
                    ((first,), (second,)) = speaker.speak([(), ()], [[YES], [Ask("", "another", max_tokens=8)]])
                    assert first.text == second.text != ""
                    quote = speaker.quote(5, [YES], shown=0)
                    assert quote.calls == 5
        assert len(server.requests) == 2
        assert not any(b"base64" in body or b"image" in body for _, _, body in server.requests)
