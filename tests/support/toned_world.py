"""A world of small pictures, bright or dark, with or without a hat: no renderer, and everything is known of a picture."""

import numpy as np
import pyarrow as pa

from transect.records import Attribute, Images, Latents

TONE = Attribute("tone", "binary", "how bright the picture is", levels=("bright", "dark"))
HAT = Attribute("hat", "binary", "wears a hat", levels=("off", "on"))
SIZE = 8


class TonedWorld:
    """Pictures of a mean near 200 (bright) or 20 (dark); a hat is a gray row at the top. Each subject has its own noise."""

    name, image_size, latent_dim = "toned", SIZE, 1
    attributes = (TONE, HAT)

    def sample(self, seeds):
        seeds = np.asarray(seeds, dtype=np.int64)
        return Latents(seeds, np.zeros((len(seeds), 1)))

    def set(self, latents, values, hold=()):
        names = values if isinstance(values, dict) else values.column_names
        set_to = {name: np.broadcast_to(np.asarray(values[name], dtype=np.float64), (len(latents),)) for name in names}
        return Latents(latents.seeds, latents.values, latents.space, {**latents.settings, **set_to})

    def read(self, latents):
        nothing = np.zeros(len(latents))
        return pa.table({each.name: latents.settings.get(each.name, nothing) for each in self.attributes})

    def render(self, latents):
        table = self.read(latents)
        tones, hats = (table[name].to_numpy() for name in ("tone", "hat"))
        pictures = []
        for seed, tone, hat in zip(latents.seeds.tolist(), tones, hats, strict=True):
            noise = np.random.default_rng(seed).integers(0, 16, (SIZE, SIZE, 3))
            picture = noise + (20 if tone else 200)
            picture[0] = 128 if hat else picture[0]
            pictures.append(picture.astype(np.uint8))
        return Images(np.stack(pictures))
