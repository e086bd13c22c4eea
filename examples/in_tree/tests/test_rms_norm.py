"""The repository's own tests. Without a GPU they run in Triton's interpreter."""

import os
import pathlib
import sys
import unittest

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from tinynorm import rms_norm  # noqa: E402


class RmsNorm(unittest.TestCase):
    def test_agrees_with_torch(self):
        for cols in (1, 64, 1500):
            x = torch.randn(3, cols, device=DEVICE)
            weight = torch.randn(cols, device=DEVICE)
            expected = torch.nn.functional.rms_norm(x, (cols,), weight, eps=1e-6)
            torch.testing.assert_close(rms_norm(x, weight), expected, rtol=1e-4, atol=1e-5)

    def test_takes_transposed_input(self):
        x = torch.randn(70, 4, device=DEVICE).T
        expected = torch.nn.functional.rms_norm(x, (70,), eps=1e-6)
        torch.testing.assert_close(rms_norm(x, torch.ones(70, device=DEVICE)), expected, rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
