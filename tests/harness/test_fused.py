"""The kernels of the referee find what torch's operations find; here in the interpreter."""
import math
import pathlib
import sys
import unittest
from unittest import mock

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import conversation  # noqa: E402, F401 (makes the harness importable)
from kernelbrain_harness import agreement, fingerprint, fused  # noqa: E402

CPU = torch.device("cpu")


def small_pieces():
    pieces = mock.patch.object(agreement, "_CHUNK", 2 * fused.STRETCH)
    return pieces, mock.patch.object(fused, "_WORTH_IT", 1), mock.patch.object(fingerprint, "_CHUNK", fused.STRETCH), mock.patch.dict(fingerprint._weights, clear=True)


class InOnePass(unittest.TestCase):
    def setUp(self):
        for patch in small_pieces():
            self.enterContext(patch)

    def test_ratios_and_sums_are_torchs(self):
        for dtype in (torch.bfloat16, torch.float16, torch.float32):
            self.assertTrue(agreement.agrees_in_one_pass(fused.largest_ratios, dtype, CPU), dtype)
        self.assertTrue(fingerprint.agrees_in_one_pass(fused.weighted_sum, CPU))

    def test_a_kernel_that_finds_something_else_is_not_used(self):
        def forgets_nan(*arguments):
            return torch.nan_to_num(fused.largest_ratios(*arguments), posinf=0.0)

        def forgets_the_order(words, weights):
            return int((words * weights[:1]).sum())

        def fails(*_arguments):
            raise RuntimeError("no compiler")

        numbers, words = torch.ones(9), torch.ones(9, dtype=torch.int64)
        ratios, sums = agreement.agrees_in_one_pass, fingerprint.agrees_in_one_pass
        for checks, trusted in (
            ((lambda _, *rest: ratios(forgets_nan, *rest), lambda _, device: sums(forgets_the_order, device)), False),
            ((fails, fails), False),
            ((ratios, sums), True),
        ):
            with mock.patch.dict(fused._trusted, clear=True), mock.patch.dict(fused._checks, clear=True):
                self.assertFalse(fused.compares(numbers, numbers))
                fused._trusted.clear()
                fused.enable(CPU, *checks)
                self.assertEqual((fused.compares(numbers, numbers), fused.sums(words)), (trusted, trusted))
                self.assertFalse(fused.compares(numbers, numbers.double()))

    def test_verdicts_are_the_same(self):
        wanted = torch.randn(3 * fused.STRETCH + 7, generator=torch.Generator().manual_seed(1))
        wanted[3], wanted[-1] = math.inf, math.nan
        wrong = wanted.clone()
        wrong[2 * fused.STRETCH + 1], wrong[5] = math.nan, wrong[5] + 1
        close = wanted * (1 + 1e-3)
        for got in (wanted, wrong, close):
            ours = agreement.deviation(got, wanted, 1e-2, 1e-3)
            with mock.patch.dict(fused._trusted, {(CPU, torch.float32): True, (CPU, torch.int64): True}, clear=True):
                theirs = agreement.deviation(got, wanted, 1e-2, 1e-3)
            self.assertEqual((theirs.off, theirs.worst, theirs.unwritten), (ours.off, ours.worst, ours.unwritten))
            self.assertTrue(theirs.error == ours.error or math.isclose(theirs.error, ours.error, rel_tol=1e-5))

    def test_fingerprints_are_the_same(self):
        for size in (0, 3, 8, 8 * fused.STRETCH + 24, 16 * fused.STRETCH + 3):
            memory = torch.randint(0, 256, (size,), dtype=torch.uint8, generator=torch.Generator().manual_seed(size))
            ours = fingerprint.fingerprint(memory)
            with mock.patch.dict(fused._trusted, {(CPU, torch.int64): True}, clear=True):
                self.assertEqual(fingerprint.fingerprint(memory), ours)


if __name__ == "__main__":
    unittest.main()
