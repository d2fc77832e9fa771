"""A world of gray panes with two attributes, and a reader that fails on some of them and counts what it is shown."""

from _thread import interrupt_main

import numpy as np
import pyarrow as pa

from transect.records import Attribute, Images, Latents, Predictions, Task

TONE = Attribute("tone", "continuous", "tone")
SIZE = Attribute("size", "continuous", "size")


class Panes:
    """Gray panes: the red channel shows tone, the green one size, both even over subjects."""

    name, image_size, latent_dim, attributes = "panes", 8, 2, (TONE, SIZE)

    def sample(self, seeds):
        seeds = np.asarray(seeds, dtype=np.int64)
        return Latents(seeds, np.array([np.random.default_rng(int(seed)).random(2) for seed in seeds]).reshape(-1, 2))

    def read(self, latents):
        return pa.table(
            {name: latents.settings.get(name, latents.values[:, j]) for j, name in enumerate(("tone", "size"))}
        )

    def set(self, latents, values, hold=()):
        return Latents(
            latents.seeds, latents.values, settings={k: np.asarray(v, dtype=float) for k, v in values.items()}
        )

    def render(self, latents):
        table = self.read(latents)
        pixels = np.zeros((len(latents), 8, 8, 3), np.uint8)
        for j, name in enumerate(("tone", "size")):
            pixels[:, :, :, j] = np.round(255 * table[name].to_numpy())[:, None, None]
        return Images(pixels)


class Counting:
    """Says no to panes that are dark and large; counts images; stops the program at one of them if it is told to."""

    name, task = "panes-reader", Task.BINARY

    def __init__(self, stop_at=None):
        self.seen, self.stop_at = 0, stop_at

    def describe(self):
        return {"kind": "reader of panes"}  # the same target, however often it was asked

    def predict(self, images):
        self.seen += len(images)
        if self.stop_at is not None and self.seen >= self.stop_at:
            interrupt_main()  # as Ctrl-C; what the call itself raises is the model's
            raise ValueError("cut off")
        shown = images.pixels[:, 0, 0, :2] / 255
        yes = 1.0 - ((shown[:, 0] > 0.7) & (shown[:, 1] > 0.6))
        return Predictions(Task.BINARY, yes[:, None], ("",) * len(images))
