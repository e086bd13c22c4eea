"""What only a GPU does is tried here with its two calls replaced."""

import _thread
import sys
import time
import types
import unittest
from unittest import mock

import conversation  # noqa: F401  (makes the harness importable)
import torch
from kernelbrain_harness import arithmetic, conduct


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


class Earlier(unittest.TestCase):
    def test_outputs_of_earlier_calls_stay_as_they_were(self):
        watched, x = conduct.Conduct("cpu"), torch.zeros(4)
        bound = types.SimpleNamespace(arguments=[x], weights={})
        earlier = torch.zeros(3 * conduct._SAMPLE, dtype=torch.uint8)
        watched.remember()
        watched.begin(bound)
        self.assertEqual(watched.end([earlier], bound) + watched.disturbed(), [])
        earlier[5] = 1  # between two calls it is the caller's
        for at in (0, -1):
            watched.remember()
            self.assertEqual(watched.disturbed(), [])
            watched.remember()
            earlier[at] = 7
            (told,) = watched.disturbed()
            self.assertIn("wrote into an output of an earlier call", told["what"])
            earlier[at] = 0


class OfTheWayBack(unittest.TestCase):
    def test_an_operator_that_nothing_in_python_called(self):
        """On a GPU gradients are added up in a thread that has no frame of Python's."""
        watch, done = arithmetic.Arithmetic("candidate.py", [torch.ones(8)]), []
        operator = mock.Mock(_schema=types.SimpleNamespace(name="aten::add"), side_effect=lambda: done.append(1) or torch.ones(8))
        with mock.patch.object(sys, "unraisablehook", lambda it: done.append(it.exc_value)):
            _thread.start_new_thread(watch.__torch_dispatch__, (operator, ()))
            deadline = time.monotonic() + 10
            while not done and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.1)
        self.assertEqual((done, watch.found), ([1], []))


if __name__ == "__main__":
    unittest.main()
