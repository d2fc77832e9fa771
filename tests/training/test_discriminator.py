"""The critics see what they should: size by size, whatever the place in the batch but for the deviation."""

import pytest
import torch

from transect.generators.stylegan2.network import make_filter
from transect.training.critics import Critic, Discriminator, _filter, deviation

CHANNELS = {4: 8, 8: 6, 16: 4}


def test_blurring_before_a_stride_keeps_a_constant_and_halves():
    # Inside, the filter sums to 1; padded 1 + 3 // 2 = 2 a side, 8 pixels become 8 + 4 - 3 = 9, of which a 3x3 kernel
    # with a stride of 2 makes (9 - 3) / 2 + 1 = 4; a 1x1 kernel, padded 1: (8 + 2 - 3 - 1) / 2 + 1 = 4.
    x = torch.ones(1, 2, 8, 8)
    assert _filter(x, make_filter(), 3).shape == (1, 2, 9, 9)
    assert _filter(x, make_filter(), 1).shape == (1, 2, 7, 7)
    assert torch.allclose(_filter(x, make_filter(), 3)[:, :, 2:-2, 2:-2], torch.ones(1))


@pytest.mark.parametrize("size", [8, 16])
def test_a_growing_discriminator_judges_every_size(size):
    network = Discriminator(CHANNELS, grows=True)
    assert network(torch.rand(4, 3, size, size)).shape == (4,)


def test_share_zero_is_the_judgement_of_the_smaller_picture():
    """Before a size has faded in, only the averaged picture counts."""
    torch.manual_seed(0)
    images = torch.rand(4, 3, 16, 16)
    small = torch.nn.functional.avg_pool2d(images, 2)
    network, critic = Discriminator(CHANNELS, grows=True), Critic(CHANNELS)
    assert torch.allclose(network(images, share=0.0), network(small), atol=1e-5)
    assert torch.allclose(critic(images, share=0.0)[0], critic(small)[0], atol=1e-5)
    assert not torch.allclose(network(images), network(small), atol=1e-3)


def test_deviation_is_over_its_group_alone():
    # Eight pictures in groups of four: 0, 2, 4, 6 and 1, 3, 5, 7. Let the first group be 0, 0, 2, 2 (deviation 1) and
    # the second all 5 (deviation 0, but for the 1e-8 under the root: 1e-4).
    x = torch.tensor([0.0, 5, 0, 5, 2, 5, 2, 5]).view(8, 1, 1, 1)
    assert deviation(x).flatten().tolist() == pytest.approx([1, 1e-4] * 4, abs=1e-6)


def test_classes_change_the_score():
    torch.manual_seed(0)
    network = Discriminator(CHANNELS, classes=3)
    images, eye = torch.rand(3, 3, 16, 16), torch.eye(3)
    scores = network(images, eye)
    assert scores.shape == (3,)
    assert not torch.allclose(scores, network(images, eye[[1, 2, 0]]))


def test_the_class_head_has_a_logit_a_class():
    scores, logits = Critic(CHANNELS, classes=5)(torch.rand(2, 3, 16, 16))
    assert (scores.shape, logits.shape) == ((2,), (2, 5))
