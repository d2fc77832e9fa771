"""A vision-language model on this machine: what it says, whatever else is asked, and how likely it finds answers."""

import threading

import numpy as np
import pytest
from naive_words import NaiveWords, pictures
from tiny_vlm import ANSWERS, shared_vlm, tiny_vlm

from transect.spoken_answers import Ask
from transect.targets.words.local import load

PROMPTS = (
    "Is the person smiling?",
    "Would you hire this person? Answer yes or no.",
    "How old?",
    "In one word: is the person in this photo at work, and if so, as what? Answer with A or B.",
)
IMAGES = pictures(3)
SHOWN = [(image,) for image in IMAGES]


@pytest.fixture(scope="module")
def speaker():
    return load(shared_vlm())


@pytest.fixture(scope="module")
def naive():
    return NaiveWords(shared_vlm())


def asks(**settings):
    return [Ask("", prompt, max_tokens=8, **settings) for prompt in PROMPTS]


def texts(found):
    return [[said.text for said in row] for row in found]


def test_it_says_what_the_loop_says(speaker, naive):
    found = speaker.speak(SHOWN, [asks()] * 3)
    assert texts(found) == [[naive.text([image], prompt) for prompt in PROMPTS] for image in IMAGES]
    assert len({tuple(row) for row in texts(found)}) > 1, "the images matter"
    assert len({text for row in texts(found) for text in row}) > 3, "and so do the texts"
    assert {word for row in texts(found) for text in row for word in text.split()} <= set(ANSWERS)


def test_a_system_prompt_is_part_of_what_is_asked(speaker, naive):
    system = "You are a recruiter. Be fair."
    (found,) = speaker.speak(SHOWN[1:2], [[Ask(system, prompt, max_tokens=8) for prompt in PROMPTS]])
    assert [said.text for said in found] == [naive.text([IMAGES[1]], prompt, system) for prompt in PROMPTS]
    assert [said.text for said in found] != texts(speaker.speak(SHOWN[1:2], [asks()]))[0]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("dtype", "settings"), [("float32", {}), ("float32", {"temperature": 1.3, "repeat": 2}), ("bfloat16", {})]
)
def test_an_answer_depends_on_its_ask_alone(dtype, settings):
    """Batches of other sizes, another order and other company: the same records, bit for bit."""
    wanted = asks(options=("yes", "no"), **settings)
    some, alone = load(shared_vlm(), dtype=dtype, batch=5), load(shared_vlm(), dtype=dtype, batch=1)
    expected = [[alone.speak([shown], [[ask]])[0][0] for ask in wanted] for shown in SHOWN]
    assert some.speak(SHOWN, [wanted] * 3) == expected
    backwards = some.speak(SHOWN[::-1], [wanted[::-1]] * 3)
    assert [row[::-1] for row in backwards[::-1]] == expected
    assert load(shared_vlm(), dtype=dtype).speak(SHOWN[1:], [wanted, wanted[:1]]) == [expected[1], expected[2][:1]]


def test_the_tower_sees_each_image_once():
    """However many questions, paraphrases, options and calls; two models share nothing."""
    from torch.nn.modules.module import register_module_forward_hook

    speaker, seen, shown = load(shared_vlm()), [], [(image,) for image in pictures(4, seed=7)[1:]]

    def note(module, _, output):
        if type(module).__name__ == "CLIPVisionModel":
            seen.append(output.last_hidden_state.shape[0])

    with register_module_forward_hook(note):
        for number in range(3):
            speaker.speak(shown, [asks(options=("yes", "no"), repeat=number)] * 3)
        assert seen == [1, 1, 1]
        speaker.speak([shown[0], (shown[0][0].copy(),)], [asks()] * 2)
        assert seen == [1, 1, 1]
        speaker.speak([(shown[0][0] // 2,)], [asks()])
        assert seen == [1, 1, 1, 1]


def test_features_that_mislead_are_not_used(monkeypatch):
    from transect.targets.words import local

    right = local.handed

    def wrong(outputs, device):
        found = right(outputs, device)
        found["mm_encoder_outputs"]["image"].pooler_output = [
            -each for each in found["mm_encoder_outputs"]["image"].pooler_output
        ]
        return found

    monkeypatch.setattr(local, "handed", wrong)
    assert load(shared_vlm()).describe()["images"].endswith("since features in place of pixels gave: other logits")


def test_likelihoods_are_those_of_the_whole_answer(speaker, naive):
    """By the loop, one option at a time; an option of two words is the less likely for its length."""
    options = ("yes", "no", "A", "yes no")
    for said, prompt in zip(speaker.speak(SHOWN[:1], [asks(options=options)])[0], PROMPTS, strict=True):
        expected = [naive.likelihood([IMAGES[0]], prompt, option) for option in options]
        np.testing.assert_allclose(said.likelihoods, expected, atol=1e-5)
        assert sum(np.exp(said.likelihoods)) < 1
    assert speaker.speak(SHOWN[:1], [asks()])[0][0].likelihoods == ()


def test_a_space_before_an_option_is_no_other_answer(monkeypatch, speaker):
    """Where a tokenizer writes " yes" in another token than "yes", both are the answer."""
    single = speaker._answers._spellings("yes")
    assert len(single) == 1
    letters = {"yes": [(7,)], "no": [(8,)], "either": [(7,), (8,)]}
    monkeypatch.setattr(type(speaker._answers), "_spellings", lambda self, option: letters[option])
    (said,) = speaker.speak(SHOWN[:1], [[Ask("", PROMPTS[0], options=("yes", "no", "either"))]])[0]
    yes, no, either = np.exp(said.likelihoods)
    assert either == pytest.approx(yes + no, rel=1e-6)


@pytest.mark.integration
def test_repeats_are_one_answer_at_temperature_0_and_draws_above(speaker):
    (greedy,) = speaker.speak(SHOWN[:1], [[Ask("", PROMPTS[0], repeat=n) for n in range(4)]])
    assert len({said.text for said in greedy}) == 1
    (drawn,) = speaker.speak(SHOWN[:1], [[Ask("", PROMPTS[0], repeat=n, temperature=1.5) for n in range(8)]])
    assert len({said.text for said in drawn}) > 1
    (cold,) = speaker.speak(SHOWN[:1], [[Ask("", PROMPTS[0], repeat=n, temperature=1e-4) for n in range(4)]])
    assert [said.text for said in cold] == [said.text for said in greedy]


def test_draws_follow_the_models_probabilities(speaker, naive):
    """First tokens of 800 repeats against softmax(logits / temperature): chi-squared, tokens of 5 and more."""
    from scipy import stats

    number, temperature = 800, 1.6
    wanted = [Ask("", PROMPTS[0], repeat=n, temperature=temperature, max_tokens=1) for n in range(number)]
    found = [said.text for said in speaker.speak(SHOWN[:1], [wanted])[0]]
    logits = np.log(naive.first([IMAGES[0]], PROMPTS[0])) / temperature
    expected = number * np.exp(logits - np.logaddexp.reduce(logits))
    names = [naive.processor.tokenizer.decode([token], skip_special_tokens=True) for token in range(len(expected))]
    often = dict.fromkeys(names, 0.0)
    for name, share in zip(names, expected, strict=True):
        often[name] += share
    tested = [name for name, times in often.items() if times >= 5]
    counts = [found.count(name) for name in tested]
    rest = number - sum(counts), number - sum(often[name] for name in tested)
    observed, hoped = [*counts, rest[0]], [*(often[name] for name in tested), rest[1]]
    assert stats.chisquare(observed, np.array(hoped) * sum(observed) / sum(hoped)).pvalue > 1e-4
    assert len(tested) > 3


def test_close_calls_are_asked_again_alone(tmp_path):
    """Two words with the same weights are always a tie, which rounding would decide: alone, the first one is said."""
    import torch
    from safetensors.torch import load_file, save_file

    folder = tiny_vlm(tmp_path / "tied")
    weights = load_file(folder / "model.safetensors")
    (name,) = [name for name in weights if name.endswith("lm_head.weight")]
    tokenizer = NaiveWords(folder).processor.tokenizer
    yes, no = tokenizer.convert_tokens_to_ids(["yes", "no"])
    head = weights[name].clone()
    head[[yes, no]] = 3 * head[yes] + torch.zeros(2, 1)
    save_file(weights | {name: head}, folder / "model.safetensors", {"format": "pt"})
    speaker, naive = load(folder), NaiveWords(folder)
    found = texts(speaker.speak(SHOWN, [asks()] * 3))
    assert speaker._answers.alone > 0
    assert found == [[naive.text([image], prompt) for prompt in PROMPTS] for image in IMAGES]


def test_what_does_not_fit_is_that_asks_failure(speaker):
    """600 words and more tokens than the model's 512; the others are answered."""
    long = "person " * 600
    wanted = [Ask("", long, max_tokens=4), Ask("", PROMPTS[0], max_tokens=500), Ask("", PROMPTS[0], max_tokens=4)]
    first, second, third = speaker.speak(SHOWN[:1], [wanted])[0]
    assert first.failure.startswith("context too long: 6")
    assert second.failure.startswith("context too long: ")
    assert second.tokens_sent == third.tokens_sent
    assert (third.failure, first.text, first.tokens_received) == ("", "", None)
    options = ("yes", "no " * 500)
    (fourth,) = speaker.speak(SHOWN[:1], [[Ask("", PROMPTS[0], max_tokens=4, options=options)]])[0]
    assert "tokens and 501 for the answer" in fourth.failure


def test_tokens_are_counted_with_the_image_and_the_end(speaker, naive):
    for said, prompt in zip(speaker.speak(SHOWN[:1], [asks()])[0], PROMPTS, strict=True):
        assert said.tokens_sent == naive.prepared([IMAGES[0]], prompt)["input_ids"].shape[1]
        words = len(naive.processor.tokenizer(said.text, add_special_tokens=False)["input_ids"])
        assert said.tokens_received == words + (said.end == "end")
        assert (said.end == "length") == (words == 8)
    (short,) = speaker.speak(SHOWN[:1], [[Ask("", PROMPTS[0], max_tokens=1)]])[0]
    assert short.tokens_received == 1


def test_threads_share_one_speaker(speaker):
    expected = speaker.speak(SHOWN, [asks()] * 3)
    found = [None] * 4

    def work(place):
        found[place] = speaker.speak(SHOWN, [asks()] * 3)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_a_text_alone_is_answered_whatever_else_is_asked(speaker):
    """As a judge is asked: without an image, in the same call as texts with one."""
    speaker.check_takes(0)
    ((first, *_), (alone, *_)) = speaker.speak([SHOWN[0], ()], [asks(), asks()])
    assert alone.text
    assert not alone.failure
    assert alone.tokens_sent < first.tokens_sent  # no tokens of an image
    assert speaker.speak([()], [asks()])[0][0] == alone
    assert speaker.speak([SHOWN[0]], [asks()])[0][0] == first
