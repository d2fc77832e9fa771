"""A speaker over HTTP against a server that misbehaves on purpose: every question accounted for, nothing paid twice."""

import base64
import json
import logging

import pytest
from chat_servers import YES, answer_of, speaking
from hostile_server import SECRET, pictures, serving

from transect.spoken_answers import Ask
from transect.targets.http.chat.interfaces import Shown
from transect.targets.http.chat.speaker import Question


def shown(n, size=4):
    """n images, each shown alone."""
    return [(one,) for one in pictures(n, size)]


def texts(said):
    return [[one.text for one in row] for row in said]


def echo(number, body):
    """Says what it was asked, so that each answer shows its question."""
    prompt = json.loads(body)["messages"][-1]["content"][-1]["text"]
    return {"body": answer_of("openai-chat", f"to {prompt}")}


class TestEachQuestion:
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
