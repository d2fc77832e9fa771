"""The critics see what they should: size by size, whatever the place in the batch but for the deviation."""

import pytest
import torch

from transect.training.critics import Critic, Discriminator, deviation

CHANNELS = {4: 8, 8: 6, 16: 4}


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
