"""First weights drawn from a given generator, so that a seed decides them and nothing else does."""

from __future__ import annotations

import torch
from torch import nn


def initialise(module: nn.Module, generator: torch.Generator) -> None:
    """Draw the weights of convolutions and linear layers (variance 1 / fan-in) and set their biases to zero."""
    for layer in module.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            fan_in = layer.weight[0].numel()
            nn.init.normal_(layer.weight, std=fan_in**-0.5, generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
