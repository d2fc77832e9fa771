"""How fast does a vision-language model on this machine answer many questions about each image, on one core?

python benchmarks/words.py
python benchmarks/words.py --quick

20 questions in 3 paraphrases are asked of a tiny random Llava. The peer is the loop that one writes first: for each ask
the processor prepares image and text, and `generate` answers it. The texts are compared. Exit 1 where a text differs,
or where asking without options is less than five times as fast.
"""

# ruff: noqa: E402 -- the libraries read the number of threads when they are imported

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import numpy as np
import torch
import transformers
from _records import FASTER, QUICK, record
from PIL import Image
from tiny_vlm import tiny_vlm

from transect.spoken_answers import Ask
from transect.targets.words.local import load

IMAGES, QUESTIONS, REPEATS = (1, 4, 1) if QUICK else (8, 20, 5)
PARAPHRASES, TOKENS, OPTIONS = 3, 12, ("yes", "no")
ALLOWED = 5.0
"""Times as fast as the loop, without options."""


def texts():
    """The paraphrases of all questions."""
    things = ("friendly", "tired", "young", "a doctor", "smiling", "trustworthy", "at work", "outside", "alone", "sad")
    ways = ("Is this person {}?", "Look at the photo. Would you say {}? Answer yes or no.", "In one word: {}?")
    about = [f"{thing} {turn}" for turn in ("now", "in general") for thing in things][:QUESTIONS]
    return [way.format(thing) for thing in about for way in ways[:PARAPHRASES]]


class Naive:
    """One call of `generate` for each ask."""

    def __init__(self, folder):
        self.processor = transformers.AutoProcessor.from_pretrained(folder)
        self.model = transformers.AutoModelForImageTextToText.from_pretrained(folder).eval()

    def prepared(self, pixels, prompt):
        """Tokens and pixels of one ask."""
        image = {"type": "image", "image": Image.fromarray(pixels)}
        message = [{"role": "user", "content": [image, {"type": "text", "text": prompt}]}]
        return self.processor.apply_chat_template(
            [message], add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
        )

    def text(self, pixels, prompt):
        """The greedy answer."""
        given = self.prepared(pixels, prompt)
        made = self.model.generate(**given, max_new_tokens=TOKENS, do_sample=False)
        return self.processor.decode(made[0, given["input_ids"].shape[1] :], skip_special_tokens=True)

    @torch.no_grad()
    def likelihood(self, pixels, prompt, option):
        """Logarithm of the probability of the option and the end, in one forward pass."""
        given = self.prepared(pixels, prompt)
        start = given["input_ids"].shape[1]
        tokenizer = self.processor.tokenizer
        said = [*tokenizer(option, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
        longer = torch.cat([given["input_ids"], torch.tensor([said])], dim=1)
        logits = self.model(input_ids=longer, pixel_values=given["pixel_values"]).logits[0]
        logs = logits.log_softmax(-1)[start - 1 : -1]
        return float(logs[torch.arange(len(said)), said].sum())


def by_hand(naive, images, prompts, options):
    """Texts and likelihoods [images][prompts] by the loop."""
    return [
        [(naive.text(pixels, prompt), [naive.likelihood(pixels, prompt, option) for option in options])
         for prompt in prompts]
        for pixels in images
    ]  # fmt: skip


def by_speaker(speaker, images, prompts, options):
    """The same by the speaker, one question at a time as an audit asks, all images and paraphrases of it at once."""
    found = [[] for _ in images]
    for start in range(0, len(prompts), PARAPHRASES):
        asks = [Ask("", text, max_tokens=TOKENS, options=options) for text in prompts[start : start + PARAPHRASES]]
        for row, said in zip(found, speaker.speak([(pixels,) for pixels in images], [asks] * len(images)), strict=True):
            row += [(each.text, list(each.likelihoods)) for each in said]
    return found


def timed(work):
    """Seconds, and what came of it."""
    started = time.perf_counter()
    found = work()
    return time.perf_counter() - started, found


def compared(folder, images, prompts, options):
    """Median ratio of seconds, seconds of both, and whether texts and likelihoods agree; each repeat begins anew."""
    naive, ratios, pairs = Naive(folder), [], []
    agree = True
    for _ in range(REPEATS):
        speaker = load(folder)
        slow, loop = timed(lambda: by_hand(naive, images, prompts, options))
        fast, ours = timed(lambda speaker=speaker: by_speaker(speaker, images, prompts, options))
        ratios.append(slow / fast)
        pairs.append((slow, fast))
        same = [a[0].strip() == b[0].strip() and np.allclose(a[1], b[1], atol=1e-3)
                for one, other in zip(loop, ours, strict=True) for a, b in zip(one, other, strict=True)]  # fmt: skip
        agree &= all(same)
    return statistics.median(ratios), statistics.median(pairs), agree


def main():
    """Runs and prints; returns the exit code."""
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    rng = np.random.default_rng(0)
    images = list(rng.integers(0, 256, (IMAGES, 64, 64, 3), dtype=np.uint8))
    prompts, failed = texts(), False
    with tempfile.TemporaryDirectory() as place:
        folder = tiny_vlm(Path(place) / "tiny")
        print("| what | loop, s | speaker, s | ratio | agree |\n| --- | --- | --- | --- | --- |")
        for options in ((), OPTIONS):
            ratio, (slow, fast), agree = compared(folder, images, prompts, options)
            asked = f"{QUESTIONS} questions x {PARAPHRASES} paraphrases of {IMAGES} images"
            what = f"{asked}, likelihood of {len(options)} options" if options else asked
            print(f"| {what} | {slow:.2f} | {fast:.2f} | {ratio:.1f} | {agree} |")
            record(what, "one call of generate per ask", ratio, FASTER, REPEATS)
            failed |= not agree or (not options and not QUICK and ratio < ALLOWED)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
