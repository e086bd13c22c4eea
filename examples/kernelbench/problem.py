"""A linear layer with GELU behind it, in the form of KernelBench."""

import torch
from torch import nn

BATCH, FEATURES_IN, FEATURES_OUT = 250, 512, 500


class Model(nn.Module):
    def __init__(self, features_in, features_out):
        super().__init__()
        self.linear = nn.Linear(features_in, features_out)

    def forward(self, x):
        return nn.functional.gelu(self.linear(x))


def get_inputs():
    return [torch.randn(BATCH, FEATURES_IN)]


def get_init_inputs():
    return [FEATURES_IN, FEATURES_OUT]
