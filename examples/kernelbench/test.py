"""The check of KernelAgent's layout; kernelbrain reads problem.py and needs this file only as the place to start."""

import sys

import torch
from input_kernel import kernel_function
from problem import Model, get_init_inputs, get_inputs


def test_kernel():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Model(*get_init_inputs()).to(device)
    x = get_inputs()[0].to(device)
    with torch.no_grad():
        expected = model(x)
        answer = kernel_function(x, model.linear.weight, model.linear.bias)
    return torch.allclose(answer, expected, rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    good = test_kernel()
    print("PASS" if good else "FAIL")
    sys.exit(0 if good else 1)
