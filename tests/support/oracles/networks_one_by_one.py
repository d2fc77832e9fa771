"""The released attacker as a PyTorch user writes it: modules, autograd, torch.optim.Adam, one network at a time."""

import itertools

import torch
from torch import nn


def network(sizes, drawn, cancelling=True):
    """BatchNorm, then linear layers with BatchNorm and LeakyReLU between; weights [inputs, units] as drawn.

    cancelling: keep what a later BatchNorm takes away, as the release has it (it lags in the running statistics of the
    first steps); otherwise it is 0 and stays so.
    """
    layers = [nn.BatchNorm1d(sizes[0])]
    layers[0].bias.requires_grad_(cancelling)
    for number, (inputs, units) in enumerate(itertools.pairwise(sizes)):
        linear = nn.Linear(inputs, units)
        linear.weight.data = drawn[number].T.clone()
        if number < len(sizes) - 2:
            if not cancelling:
                linear.bias.data.zero_()
                linear.bias.requires_grad_(False)
            layers += [linear, nn.BatchNorm1d(units), nn.LeakyReLU()]
        else:
            linear.bias.data = drawn[-1][0].clone()
            layers.append(linear)
    if len(sizes) == 2:
        layers[0].bias.requires_grad_(False)  # one with the only layer's bias
    return nn.Sequential(*layers)


def train(model, batches):
    """Adam at 5e-5 with weight decay 1e-5 over batches of (rows, classes); returns the model in eval mode."""
    adam = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=5e-5, weight_decay=1e-5)
    model.train()
    for rows, classes in batches:
        adam.zero_grad()
        nn.functional.cross_entropy(model(rows), classes).backward()
        adam.step()
    return model.eval()
