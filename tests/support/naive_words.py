"""The loop that one writes first: each ask prepared and answered by itself, through Transformers alone."""

import warnings

import numpy as np


class NaiveWords:
    """A folder's model; `text` and `likelihood` are oracles for the speaker that asks in batches."""

    def __init__(self, folder, dtype="float32", processor=None):
        import torch
        import transformers

        self.processor = processor or transformers.AutoProcessor.from_pretrained(folder)
        network = transformers.AutoModelForImageTextToText.from_pretrained(folder, dtype=getattr(torch, dtype))
        self.network = network.eval()

    def prepared(self, images, prompt, system=""):
        """What the network is given."""
        from PIL import Image

        pictures = [{"type": "image", "image": Image.fromarray(image)} for image in images]
        told = [{"role": "system", "content": [{"type": "text", "text": system}]}] if system else []
        asked = {"role": "user", "content": [*pictures, {"type": "text", "text": prompt}]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PaliGemma's processor uses a deprecated call of NumPy
            given = self.processor.apply_chat_template(
                [[*told, asked]], add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
            )
        given.pop("labels", None)
        return given.to(self.network.dtype)

    def text(self, images, prompt, system="", tokens=8):
        """The greedy answer."""
        given = self.prepared(images, prompt, system)
        made = self.network.generate(**given, max_new_tokens=tokens, do_sample=False)[0, given["input_ids"].shape[1] :]
        return self.processor.tokenizer.decode(made, skip_special_tokens=True)

    def first(self, images, prompt):
        """Probabilities of the first token of an answer."""
        made = self.network.generate(
            **self.prepared(images, prompt),
            max_new_tokens=1, do_sample=False, return_dict_in_generate=True, output_logits=True,
        )  # fmt: skip
        return made.logits[0][0].double().softmax(-1).numpy()

    def likelihood(self, images, prompt, option):
        """Logarithm of the probability of the option's tokens and the end, one token at a time by `first`'s network."""
        import torch

        tokenizer = self.processor.tokenizer
        said = [*tokenizer(option, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
        given, total = self.prepared(images, prompt), 0.0

        def forced(row, ids):
            return [said[min(ids.shape[0] - start, len(said) - 1)]]

        start = given["input_ids"].shape[1]
        made = self.network.generate(
            **given, max_new_tokens=len(said), do_sample=False, return_dict_in_generate=True, output_logits=True,
            prefix_allowed_tokens_fn=forced,
        )  # fmt: skip
        assert made.sequences[0, start:].tolist() == said
        for logits, token in zip(made.logits, said, strict=True):
            total += float(logits[0].double().log_softmax(-1)[token])
        assert isinstance(given["input_ids"], torch.Tensor)
        return total


def pictures(count, size=64, seed=0):
    """Random images, the first of them plain gray."""
    rng = np.random.default_rng(seed)
    return [np.full((size, size, 3), 128, np.uint8), *rng.integers(0, 256, (count - 1, size, size, 3), dtype=np.uint8)]
