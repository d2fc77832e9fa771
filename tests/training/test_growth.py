"""Phases by hand, fading, and pictures as the growing network sees them."""

import torch

from transect.training.recipes import Growth, even, shrunk


def test_phases_and_fading_by_hand():
    # 16 px for 100 pictures, then 32 px fades in over 40, then 64 px from picture 300 on.
    plan = Growth((16, 32, 64), (100, 200), fade=40)
    assert plan.at(0) == (16, 1.0)  # the first size has nothing to fade from
    assert plan.at(99) == (16, 1.0)
    assert plan.at(100) == (32, 0.0)
    assert plan.at(110) == (32, 0.25)
    assert plan.at(140) == (32, 1.0)
    assert plan.at(299) == (32, 1.0)
    assert plan.at(320) == (64, 0.5)
    assert plan.at(10**9) == (64, 1.0)


def test_the_published_plan_spends_as_much_on_fading_as_on_settling():
    # Sizes 4, 8, 16: settle 4, fade 8, settle 8, fade 16, settle 16 are five parts of 1000 pictures.
    plan = even((4, 8, 16), 5000)
    assert plan.at(999)[0] == 4
    assert plan.at(1500) == (8, 0.5)
    assert plan.at(2500) == (8, 1.0)
    assert plan.at(3500) == (16, 0.5)
    assert plan.at(4999) == (16, 1.0)


def test_a_fading_size_is_half_its_average():
    # One 2x2 picture of 0, 4, 8, 12: its average is 6. At share 1/4 each pixel has come a quarter of the way from 6.
    image = torch.tensor([[0.0, 4.0], [8.0, 12.0]]).expand(1, 3, 2, 2)
    assert torch.equal(shrunk(image, 2, 1.0), image)
    assert shrunk(image, 2, 0.25)[0, 0].tolist() == [[4.5, 5.5], [6.5, 7.5]]
    assert shrunk(image, 1, 1.0)[0, 0].tolist() == [[6.0]]
