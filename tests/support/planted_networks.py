"""Small generators whose latents are known, and images of them."""

import torch

from transect.generators.stylegan2.generator import StyleGAN2
from transect.generators.stylegan2.network import Configuration, Network
from transect.generators.stylegan2.reading import Weights
from transect.inversion.protocol import Codes, invertible

SHAPE = Configuration(z_dim=8, w_dim=8, classes=0, mapping_layers=2, channels={4: 12, 8: 8})


def tensors(seed=0):
    """Random weights without noise: the image is a function of w alone, and stays within 0..1."""
    torch.manual_seed(seed)
    made = {name: value.detach().clone() for name, value in Network(SHAPE).state_dict().items()}
    return {name: value * (0.2 if name.endswith("torgb.weight") else 1) for name, value in made.items()}


def small(seed=0):
    return StyleGAN2(Weights(tensors(seed)), name="small")


def pixels_of(generator, codes, space):
    with torch.no_grad():
        made = invertible(generator).show(codes, space)
    return (made * 255).round().clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1).numpy()


class Levels:
    """An image of one grey level per row of the code: G(w) = mean of the rows, scaled; everything in closed form."""

    name, image_size, spaces = "levels", 4, ("w", "w+")

    def codes(self, space):
        return Codes(torch.zeros(2, 1) if space == "w+" else torch.zeros(1), 0.1)

    def sample(self, space, count, seed):
        levels = torch.linspace(0, 1, count)[:, None]
        return levels[:, None].repeat(1, 2, 1) if space == "w+" else levels

    def show(self, codes, space):
        """w+: the upper half shows row 0, the lower half row 1."""
        rows = codes if space == "w+" else codes[:, None].expand(-1, 2, -1)
        halves = rows.repeat_interleave(2, dim=1)  # [b, 4, 1]
        return halves[:, None].expand(-1, 3, -1, 4)
