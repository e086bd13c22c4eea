"""What the referee hands to a candidate's process."""

import os
import pathlib
import sys
import tempfile
import unittest

import torch
from conversation import Call, Conversation, Referee
from kernelbrain_harness.answers import Contents
from kernelbrain_harness.contracts import open_contract
from kernelbrain_harness.wire import Failure


class Inputs(Conversation):
    def test_values_follow_from_the_seed(self):
        self.open(LAYOUTS)
        first, again, other = (Call(self.referee, seed=seed).arguments[0].clone() for seed in (1, 1, 2))
        self.assertTrue(torch.equal(first, again))
        self.assertFalse(torch.equal(first, other))

    def test_shapes_and_strides_arrive_as_they_were_made(self):
        self.open(LAYOUTS)
        transposed, expanded, empty, scalar, windows, nest, dtype, number = Call(self.referee).arguments
        self.assertEqual((transposed.shape, transposed.stride()), ((5, 3), (1, 5)))
        self.assertEqual((expanded.shape, expanded.stride()), ((4, 6), (1, 0)))
        self.assertTrue(torch.equal(expanded, torch.arange(4.0)[:, None].expand(4, 6)))
        self.assertEqual(empty.shape, (0, 7))
        self.assertEqual(scalar.item(), 2.5)
        self.assertTrue(torch.equal(windows, torch.arange(10).unfold(0, 3, 1)))
        self.assertEqual(nest["pair"][1], [7, True, None, "text"])
        self.assertEqual(nest["pair"][0].item(), 3)
        self.assertEqual(dtype, torch.float16)
        self.assertEqual(number, float("-inf"))

    def test_every_tensor_has_a_buffer_of_its_own_and_release_removes_them(self):
        self.open(LAYOUTS)
        call = Call(self.referee)
        paths = [buffer["path"] for buffer in call.inputs["buffers"]]
        self.assertEqual(len(set(paths)), 7)
        self.assertTrue(all(map(os.path.exists, paths)))
        self.referee.ask("release", case=0)
        self.assertFalse(any(map(os.path.exists, paths)))

    def test_buffers_are_kept_and_outputs_poisoned_anew_by_every_call(self):
        self.open(LAYOUTS)
        call = Call(self.referee, seed=1)
        call.write("outputs", [torch.ones(5, 3)])
        again = Call(self.referee, seed=2)
        self.assertEqual(call.inputs["buffers"], again.inputs["buffers"])
        self.assertTrue(again.tensor(again.inputs["outputs"][0]).isnan().all())

    def test_what_a_candidate_did_to_its_inputs_is_gone_with_the_next_call(self):
        self.open(LAYOUTS)
        call = Call(self.referee)
        before = call.arguments[0].clone()
        call.arguments[0].zero_()
        self.assertTrue(torch.equal(Call(self.referee).arguments[0], before))

    def test_inputs_whose_gradients_count_ask_for_them(self):
        self.open(LAYOUTS.replace("GRADS = []", "GRADS = [0]"))
        call = Call(self.referee)
        self.assertTrue(call.inputs["arguments"][0]["tensor"]["grad"])
        self.assertFalse(call.inputs["arguments"][1]["tensor"]["grad"])
        self.assertEqual(call.inputs["cotangents"][0]["shape"], [5, 3])
        self.assertEqual(call.inputs["gradients"][0]["shape"], [5, 3])

    def test_times_of_eager_pytorch_one_for_every_repeat(self):
        self.open(LAYOUTS)
        timing = {"warmup": 1, "repeat": 4, "flush_bytes": 0}
        times = self.referee.ask("time", case=0, seed=1, what="eager", timing=timing)
        self.assertEqual(len(times["device_us"]), 4)
        self.assertGreater(min(times["device_us"]), 0)
        self.assertGreater(times["host_us"], 0)

    def test_timing_a_reference_that_overwrites_its_inputs_leaves_the_answers_alone(self):
        self.open(IN_PLACE)
        timing = {"warmup": 2, "repeat": 3, "flush_bytes": 0}
        self.referee.ask("time", case=0, seed=1, what="eager", timing=timing)
        call = Call(self.referee)
        answer = call.arguments[0] + call.arguments[1]
        call.write("mutated", [answer])
        self.assert_passed(call.compare([answer], aliases={0: 0}), "tolerance")


class GivenUpInputs(Conversation):
    """Inputs that are too large to keep beside the answers are made again when they are needed."""

    def contents(self, text):
        path = self.write("test.py", text)
        self.addCleanup(sys.path.__setitem__, slice(None), list(sys.path))
        contract = open_contract(path, "cpu")
        return Contents(contract, contract.cases[0], seed=1)

    def test_they_come_back_the_same(self):
        contents = self.contents(LAYOUTS)
        before, size = contents.problem.arguments[0], contents.size()
        contents.give_up_inputs()
        self.assertLess(contents.size(), size)
        self.assertTrue(torch.equal(contents.problem.arguments[0], before))

    def test_inputs_that_do_not_follow_from_the_seed_are_found_out(self):
        count = "import itertools\n    count = itertools.count()\n    CASES"
        contents = self.contents(LAYOUTS.replace("CASES", count).replace("2.5", "float(next(count))"))
        contents.give_up_inputs()
        with self.assertRaisesRegex(Failure, "inputs of case default differ between two calls with seed 1"):
            _ = contents.problem


class EndOfTheReferee(unittest.TestCase):
    def test_it_ends_when_the_parent_is_gone_even_while_a_contract_sleeps(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "test.py")
            path.write_text("import time\ntime.sleep(600)\nCASES, make_inputs, reference = [], 1, 1\n")
            referee = Referee(folder)
            referee.send("open", test=str(path), device="cpu", shared=folder, sys_path=[])
            referee.hang_up()
            referee.process.communicate(timeout=60)
            self.assertEqual(referee.process.returncode, 0)


LAYOUTS = """
    import torch

    CASES = [{}]
    GRADS = []

    def make_inputs(device, seed):
        generator = torch.Generator(device=device).manual_seed(seed)
        return (
            torch.randn(3, 5, generator=generator, device=device).T,
            torch.arange(4.0, device=device)[:, None].expand(4, 6),
            torch.empty(0, 7, device=device),
            torch.tensor(2.5, device=device),
            torch.arange(10, device=device).unfold(0, 3, 1),
            {"pair": (torch.tensor([3], device=device), [7, True, None, "text"])},
            torch.float16,
            float("-inf"),
        )

    def reference(x, *rest):
        return (2 * x).contiguous()
"""

IN_PLACE = """
    import torch

    CASES = [{"n": 9}]
    MUTATES = [0]
    TOLERANCE = {"rtol": 1e-6, "atol": 1e-6}

    def make_inputs(device, seed, n):
        generator = torch.Generator(device=device).manual_seed(seed)
        return tuple(torch.randn(n, generator=generator, device=device) for _ in range(2))

    def reference(x, y):
        return x.add_(y)
"""


if __name__ == "__main__":
    unittest.main()
