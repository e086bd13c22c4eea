"""What only a GPU does is tried here with its two calls replaced."""

import unittest
from unittest import mock

import conversation  # noqa: F401  (makes the harness importable)
import torch
from kernelbrain_harness import conduct


class Late(unittest.TestCase):
    def test_inputs_hold_other_values_until_the_stream_has_waited(self):
        x, weight, rows = torch.arange(6.0), torch.tensor([3.0]), torch.arange(4)
        before = [tensor.clone() for tensor in (x, weight, rows)]
        seen = []

        def sleep(_cycles):
            seen.extend(tensor.clone() for tensor in (x, weight, rows))

        with mock.patch.object(conduct, "_synchronize"), mock.patch.object(torch.cuda, "_sleep", sleep):
            conduct.write_late([x, weight, rows], "cuda:0")
        self.assertFalse(torch.equal(seen[0], before[0]) or torch.equal(seen[1], before[1]))
        self.assertTrue(torch.equal(seen[2], before[2]), "what may be an index stays legal")
        for tensor, was in zip((x, weight, rows), before):
            self.assertTrue(torch.equal(tensor, was))

    def test_a_layout_that_cannot_be_written_as_a_whole_is_left_alone(self):
        x = torch.ones(1).expand(8)
        with mock.patch.object(conduct, "_synchronize"), mock.patch.object(torch.cuda, "_sleep"):
            conduct.write_late([x], "cuda:0")
        self.assertTrue(torch.equal(x, torch.ones(8)))


class WentOn(unittest.TestCase):
    def test_an_output_that_lies_at_an_odd_place(self):
        output = torch.arange(100, dtype=torch.float16)[1:]
        landed = output.clone()
        self.assertEqual(conduct.went_on([output], [landed]), [])
        output[98] = 7
        self.assertEqual(len(conduct.went_on([output], [landed])), 1)

    def test_an_output_that_changes_after_it_was_copied(self):
        output = torch.tensor([1.0, float("nan"), 3.0])
        landed = output.clone()
        self.assertEqual(conduct.went_on([output], [landed]), [])
        output[0] = 2.0
        (told,) = conduct.went_on([output], [landed])
        self.assertIn("went on writing output 0", told["what"])

    def test_large_outputs_are_compared_in_pieces(self):
        output = torch.zeros(10)
        with mock.patch.object(conduct, "_PIECE", 8):
            self.assertEqual(conduct.went_on([output], [output.clone()]), [])
            changed = output.clone()
            changed[9] = 1
            self.assertEqual(len(conduct.went_on([output], [changed])), 1)


if __name__ == "__main__":
    unittest.main()
