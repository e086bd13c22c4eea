"""Several sets of inputs at once, and the landing for the answer of one of them."""

import unittest

import torch
from conversation import Call, Conversation, describe
from kernelbrain_harness import buffers, codec

PLAIN = """
import torch

CASES = [{"n": 64}]

def make_inputs(device, seed, n):
    generator = torch.Generator(device).manual_seed(seed)
    return torch.randn(n, generator=generator, device=device), 2

def reference(x, factor):
    return x * factor
"""

MODEL = """
import torch

class Model(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = torch.nn.Linear(size, size)

    def forward(self, x):
        return self.linear(x)

def get_inputs():
    return [torch.randn(3, 8)]

def get_init_inputs():
    return [8]
"""


class Sets(Conversation):
    def sets(self, *seeds, like=1, **request):
        asked = {"case": 0, "like": like, "patience_ms": 60_000, **request}
        made = self.referee.ask("sets", seeds=list(seeds), **asked)["sets"]
        memory = {b["buffer"]: buffers.open_buffer(b, "cpu").memory for b in made[0]["buffers"]}

        def tensor(description):
            return codec.view(memory[description["buffer"]], description)

        return made, [[codec.decode_argument(a, tensor) for a in one["arguments"]] for one in made], tensor

    def values(self, seed):
        return Call(self.referee, seed=seed).arguments[0].clone()

    def test_each_set_has_the_values_of_its_seed_at_an_address_of_its_own(self):
        self.open(PLAIN)
        expected = [self.values(seed) for seed in (5, 6)]
        made, arguments, _ = self.sets(5, 6)
        for (x, factor), wanted in zip(arguments, expected):
            self.assertTrue(torch.equal(x, wanted))
            self.assertEqual(factor, 2)
        self.assertEqual([one["seed"] for one in made], [5, 6])
        self.assertEqual(len({one["arguments"][0]["tensor"]["buffer"] for one in made}), 2)
        self.assertEqual(made[0]["buffers"], made[1]["buffers"], "whoever opens these has them all")
        again, _, _ = self.sets(7, 8)
        self.assertEqual(again[0]["buffers"], made[0]["buffers"], "filled anew in place")

    def test_no_more_sets_than_the_device_is_to_hold(self):
        self.open(PLAIN)
        made, _, _ = self.sets(1, 2, 3, 4, 5)
        self.assertEqual(len(made), 2)

    def test_the_answer_to_one_of_the_sets_is_compared(self):
        self.open(PLAIN)
        _, arguments, tensor = self.sets(5, 6)
        landing = self.referee.ask("landing", case=0, seed=6)
        output = tensor(landing["outputs"][0])
        self.assertTrue(output.isnan().all())
        for at, passes in ((1, True), (0, False)):
            output.copy_(arguments[at][0] * 2)
            returned = [describe(output)]
            verdict = self.referee.ask("compare", case=0, seed=6, returned=returned, gradients=None)
            self.assertEqual(verdict["pass"], passes, verdict)

    def test_a_set_that_was_written_to_is_rejected(self):
        self.open(PLAIN)
        _, arguments, tensor = self.sets(5, 6)
        landing = self.referee.ask("landing", case=0, seed=5)
        tensor(landing["outputs"][0]).copy_(arguments[0][0] * 2)
        arguments[0][0][3] = 7.0
        returned = [describe(arguments[0][0])]
        verdict = self.referee.ask("compare", case=0, seed=5, returned=returned, gradients=None)
        self.assert_rejected(verdict, "argument 0 was changed by the call", "integrity")

    def test_a_seed_that_fills_no_set_has_no_landing(self):
        self.open(PLAIN)
        self.sets(5, 6)
        error = self.refuse(self.referee.ask, "landing", case=0, seed=9)
        self.assertIn("are not out", error.message)

    def test_seeds_of_another_layout_are_left_out(self):
        self.open(PLAIN.replace("torch.randn(n,", "torch.randn(n + seed % 3,"))
        made, arguments, _ = self.sets(2, 4, like=1)
        self.assertEqual([one["seed"] for one in made], [4])
        self.assertEqual(arguments[0][0].shape, (65,))
        made, _, _ = self.sets(2, 5 + 3, like=1)
        self.assertEqual([one["seed"] for one in made], [1], "none is like it but itself")

    def test_without_patience_one_new_set_must_do(self):
        self.open(PLAIN)
        self.assertEqual(len(self.sets(11, 12, patience_ms=0)[0]), 1)
        self.assertEqual(len(self.sets(11, patience_ms=0)[0]), 1)
        self.assertEqual(len(self.sets(11, 12, patience_ms=60_000)[0]), 2)
        self.assertEqual(len(self.sets(11, 12, patience_ms=0)[0]), 2, "both are known by now")

    def test_a_models_weights_are_the_same_in_every_set(self):
        self.open(MODEL, "problem.py")
        made, arguments, tensor = self.sets(5, 6, like=4)
        weights = [tensor(one["parameters"]["linear.weight"]["tensor"]).clone() for one in made]
        self.assertTrue(torch.equal(*weights))
        self.assertTrue(torch.equal(weights[0], Call(self.referee, seed=4).parameters["linear.weight"]))
        _, arguments, tensor = self.sets(5, 6, like=4)
        self.assertFalse(torch.equal(arguments[0][0], arguments[1][0]))
        landing = self.referee.ask("landing", case=0, seed=6)
        output = tensor(landing["outputs"][0])
        bias = tensor(landing["parameters"]["linear.bias"]["tensor"])
        output.copy_(arguments[1][0] @ weights[0].t() + bias)
        verdict = self.referee.ask("compare", case=0, seed=6, returned=[describe(output)], gradients=None)
        self.assertTrue(verdict["pass"], verdict)


if __name__ == "__main__":
    unittest.main()
