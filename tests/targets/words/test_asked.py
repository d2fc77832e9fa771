"""A question asked of a model as a target: tasks, values, reasons, one model for several questions."""

import numpy as np
import pytest
from stub_speaker import REFUSAL, StubSpeaker

from transect.errors import BadInput, UnknownName
from transect.records import Images, Quote, Task, declared
from transect.spoken_answers import Spoken, Status
from transect.targets import describe, resolve
from transect.targets.capabilities import answers_in_words, is_metered
from transect.targets.guard import guarded
from transect.targets.words import reading_rules
from transect.targets.words.asked import ask, asked_of, image_key
from transect.targets.words.questions import Code, Kind, WordQuestion
from transect.targets.words.speakers import SharedSpeaker, asked_specs, gives_words, shared, shared_object

SMILE = WordQuestion("smile", Kind.YES_NO, ("Smiling?", "Is there a smile?"))
JOB = WordQuestion("job", Kind.CHOICE, ("Which job? {options}",), options=("hire", "reject", "wait"))
AGE = WordQuestion("age", Kind.NUMBER, ("A number: the age?",), low=0, high=100)
FREE = WordQuestion("alt", Kind.TEXT, ("Describe it.",), codes=(Code("hat", ("hat",)), Code("smile", ("smile",))))


def pictures(*means):
    rng = np.random.default_rng(1)
    base = rng.integers(0, 8, (len(means), 8, 8, 3))
    return Images((base + np.array(means)[:, None, None, None]).astype(np.uint8))


def asked(question, **rules):
    return ask(shared_object(StubSpeaker(**rules)), question)


class Scripted:
    """Says what a test hands it, text by text."""

    name = "scripted"

    def __init__(self, *spoken):
        self.left = list(spoken)

    def speak(self, shown, asks):
        return [[self.left.pop(0) for _ in some] for some in asks]


def scripted(question, *texts):
    spoken = [text if isinstance(text, Spoken) else Spoken(text) for text in texts]
    return ask(SharedSpeaker(Scripted(*spoken)), question)


@pytest.mark.parametrize(
    ("question", "task", "labels"),
    [
        (SMILE, Task.BINARY, ()),
        (JOB, Task.MULTICLASS, ("hire", "reject", "wait")),
        (AGE, Task.REGRESSION, ()),
        (FREE, Task.MULTILABEL, ("hat", "smile")),
    ],
)
def test_the_kind_of_a_question_is_the_task_of_its_target(question, task, labels):
    target = asked(question)
    assert (target.name, target.task, target.labels) == (f"stub/{question.name}", task, labels)
    assert answers_in_words(target)
    assert not is_metered(target)


def test_yes_is_the_share_of_paraphrases_and_what_was_said_stands_beside_it():
    found = scripted(SMILE, "Yes.", "No.").predict(pictures(200))
    assert found.scores.tolist() == [[0.5]]
    assert [(one.paraphrase, one.prompt, one.text, one.value) for one in found.said[0]] == [
        (0, "Smiling?", "Yes.", 1.0),
        (1, "Is there a smile?", "No.", 0.0),
    ]


def test_a_choice_a_number_and_codes_have_their_own_columns():
    said = scripted(JOB, "reject").predict(pictures(200))
    assert said.scores.tolist() == [[0.0, 1.0, 0.0]]
    assert scripted(AGE, "34").predict(pictures(200)).scores.tolist() == [[34.0]]
    assert scripted(FREE, "A man with a hat.").predict(pictures(200)).scores.tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ((REFUSAL, REFUSAL), "refused: as the answer says"),
        ((REFUSAL, "Yes."), "incomplete: refused in 1 of 2 paraphrases: as the answer says"),
        ((Spoken(failure="HTTP 503"), REFUSAL), "HTTP 503"),
        ((Spoken(failure="HTTP 503"), "Yes."), "HTTP 503"),
        (("Yes.", "No."), ""),
    ],
)
def test_an_image_without_a_value_says_why(texts, reason):
    found = scripted(SMILE, *texts).predict(pictures(200))
    assert found.failures == (reason,)
    assert np.isnan(found.scores[0, 0]) == bool(reason)
    assert declared(reason) == ("as the answer says" in reason)


def test_an_answer_depends_on_its_image_alone():
    images = pictures(20, 90, 200, 240)
    target = asked(JOB, prefers=(0.5, 0.5), refuses=(0.2, 0.2))
    whole = target.predict(images)
    for row in range(4):
        alone = target.predict(images.take(slice(row, row + 1)))
        assert alone.said[0] == whole.said[row]
    assert len({image_key(pixels) for pixels in images.pixels}) == 4


def test_the_guard_carries_what_was_said_also_of_images_without_a_value():
    target = scripted(SMILE, REFUSAL, REFUSAL, "Yes.", "Yes.")
    found = guarded(target, pictures(20, 200), timeout=10, batch=2)
    assert found.failures == ("refused: as the answer says", "")
    assert [one.status for one in found.said[0]] == [Status.REFUSED, Status.REFUSED]
    assert [one.text for one in found.said[1]] == ["Yes.", "Yes."]


def test_the_description_holds_the_question_in_full():
    facts = describe(asked(JOB, scores_options=True))
    assert asked_of(facts) == JOB
    assert facts["question_sha256"] == JOB.digest
    assert facts["reading_sha256"] == reading_rules.digest()
    assert facts["model"]["name"] == "stub"
    assert facts["scored"] is True
    assert describe(asked(AGE, scores_options=True))["scored"] is False


def test_questions_of_a_file_share_one_model_that_is_closed_last(tmp_path):
    speaker = StubSpeaker()
    place = SharedSpeaker(speaker)
    first, second = ask(place, SMILE), ask(place, JOB)
    first.close()
    first.close()
    assert speaker.closed == 0
    second.close()
    assert speaker.closed == 1


class Priced(StubSpeaker):
    """A stub whose calls cost a cent each."""

    metered = True

    def quote(self, images, asks, *, size=None):
        calls = images * len(asks)
        return Quote("priced", images, calls, 0.01 * calls, "USD", answers_of=f"file-{asks[0].prompt}")

    def calls_made(self):
        return self.asked, 0.01 * self.asked


def test_calls_of_a_metered_model_are_counted_once():
    place = SharedSpeaker(Priced())
    first, second = ask(place, SMILE), ask(place, JOB)
    assert is_metered(first)
    first.predict(pictures(20, 200))
    second.predict(pictures(20, 200))
    assert first.calls_made() == (6, 0.06)  # two images in two paraphrases, and two in one
    assert second.calls_made() == (0, 0.0)
    quotes = [target.quote(10) for target in (first, second)]
    assert [(quote.images, quote.calls, quote.cost) for quote in quotes] == [(10, 20, 0.2), (10, 10, 0.1)]
    assert quotes[0].answers_of != quotes[1].answers_of  # other texts, so other answers


FILE = """
[[question]]
name = "smile"
kind = "yes-no"
prompt = "Smiling?"

[[question]]
name = "who"
kind = "pair"
prompt = "Which of the two?"
"""


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(FILE)
    return path


def test_a_spec_with_questions_is_a_target_for_each_of_them(questions):
    (one,) = asked_specs("stub_speaker:speaker", questions)
    assert (one.source, one.question) == ("stub_speaker:speaker", "smile")
    target = resolve(one.source, questions=one.questions, question=one.question)
    assert target.name == "stub/smile"
    assert shared("stub_speaker:speaker", {}) is shared("stub_speaker:speaker", {})


def test_questions_about_two_images_alone_are_refused(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text('[[question]]\nname = "who"\nkind = "pair"\nprompt = "Which?"\n')
    told = r"got only questions about two images \(who\); add a question of another kind"
    with pytest.raises(BadInput, match=f"expected a question about one image, {told}"):
        asked_specs("stub_speaker:speaker", path)


def test_a_model_in_words_without_questions_and_the_reverse_are_one_line_each(questions):
    with pytest.raises(BadInput, match="answers in words: expected questions to ask it"):
        resolve("vlm:models/tiny")
    with pytest.raises(BadInput, match="answers in words: expected questions to ask it"):
        resolve("stub_speaker:speaker")
    with pytest.raises(BadInput, match="expected models that answer in words"):
        resolve("audited:brightness", questions=str(questions), question="smile")
    told = "got opencv:haarcascade_smile, which does not; leave --questions out, or name a vlm:FOLDER"
    with pytest.raises(BadInput, match=told):
        resolve("opencv:haarcascade_smile", questions=str(questions), question="smile")
    with pytest.raises(UnknownName):
        resolve("stub_speaker:speaker", questions=str(questions), question="frown")
    assert gives_words("vlm:x")
    assert not gives_words("nowhere.toml")


@pytest.mark.isolated
def test_a_process_of_its_own_carries_what_was_said(questions):
    here = resolve("stub_speaker:speaker", questions=str(questions), question="smile", isolate=False)
    apart = resolve("stub_speaker:speaker", questions=str(questions), question="smile")
    try:
        images = pictures(20, 90, 200, 240)
        first, second = (guarded(target, images, timeout=30, batch=2) for target in (here, apart))
        assert type(apart).__name__ == "IsolatedTarget"
        assert answers_in_words(apart)
        assert describe(here) == describe(apart)
        assert first.said == second.said
        assert first.failures == second.failures
    finally:
        apart.close()
