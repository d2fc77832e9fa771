"""Models for the tests to name as module:attribute."""

import numpy as np
import torch

from transect.records import Images, Predictions, Task


class Brightness(torch.nn.Module):
    """sigmoid-free score: weight * mean of all values + bias."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor(1.0))
        self.bias = torch.nn.Parameter(torch.tensor(0.0))
        self.drop = torch.nn.Dropout(0.9)  # changes the answer unless in evaluation mode

    def forward(self, x):
        return self.drop(self.weight * x.mean((1, 2, 3)) + self.bias)


def make_brightness():
    return Brightness()


instance = Brightness()


class Wrapped(torch.nn.Module):
    """Answers as transformers' classifiers do."""

    class Output:
        def __init__(self, logits):
            self.logits = logits

    def __init__(self, as_mapping=False):
        super().__init__()
        self.as_mapping = as_mapping

    def forward(self, x):
        logits = x.mean((2, 3))
        return {"logits": logits} if self.as_mapping else self.Output(logits)


def red_share(pixels):
    return pixels[..., 0].mean(axis=(1, 2)) / 255


class Halves:
    """A Target."""

    name, task = "halves", Task.REGRESSION

    def predict(self, images: Images) -> Predictions:
        return Predictions(self.task, np.full((len(images), 1), 0.5), ("",) * len(images))


class Holder:
    red = staticmethod(red_share)


number = 3


def bright(pixels):
    """How light the middle of each picture is, 0 to 1."""
    height, width = pixels.shape[1:3]
    middle = pixels[:, height // 3 : 2 * height // 3, width // 3 : 2 * width // 3]
    return middle.mean(axis=(1, 2, 3)) / 255
