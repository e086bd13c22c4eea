"""Contracts that let wrong answers through, small versions of public ones, and the same contracts hardened."""

import unittest

from conversation import Call, Conversation

MATVEC = """
    import torch

    class Model(torch.nn.Module):
        def forward(self, a, b):
            return torch.matmul(a, b)

    def get_inputs():
        return [torch.rand(8, 200_000), torch.rand(200_000, 1)]

    def get_init_inputs():
        return []

    TOLERANCE = {"rtol": 1e-2, "atol": 1e-2}
"""
SOFTMAX = """
    import torch

    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.softmax(x, dim=1)

    def get_inputs():
        return [torch.rand(4, 30_000)]

    def get_init_inputs():
        return []
"""
ATTENTION = """
    import torch

    class Model(torch.nn.Module):
        def forward(self, q, k, v):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v)

    def get_inputs():
        return [torch.rand(1, 1, 512, 64) for _ in range(3)]

    def get_init_inputs():
        return []

    TOLERANCE = {"rtol": 1e-2, "atol": 1e-2}
"""


class Audit(Conversation):
    def audit(self, text):
        self.open(text)
        return {m["name"]: m for m in self.referee.ask("audit", case=0, seed=1)["mutants"]}

    def passing(self, mutants):
        return sorted(name for name, mutant in mutants.items() if mutant["passed"])

    def assert_sound(self, text):
        mutants = self.audit(text)
        self.assertEqual(self.passing(mutants), [], mutants)
        self.assertGreaterEqual(len(mutants), 5)

    def test_a_constant_passes_the_public_matvec(self):
        mutants = self.audit(MATVEC)
        self.assertTrue(mutants["constant mean"]["passed"])
        self.assertTrue(mutants["another seed's answer"]["passed"])
        self.assertFalse(mutants["zeros"]["passed"])
        self.assertRegex(
            mutants["constant mean"]["advice"], "no value of argument 0, argument 1 is negative: .* use standard normal"
        )
        self.assert_sound(MATVEC.replace("torch.rand(", "torch.randn("))

    def test_of_one_number_the_mean_is_the_answer(self):
        mutants = self.audit(MATVEC.replace("torch.rand(", "torch.randn(").replace("torch.matmul(a, b)", "torch.matmul(a, b).mean()"))
        self.assertNotIn("constant mean", mutants)
        self.assertIn("zeros", mutants)

    def test_zeros_pass_the_public_softmax(self):
        mutants = self.audit(SOFTMAX)
        self.assertTrue(mutants["zeros"]["passed"])
        self.assertRegex(
            mutants["zeros"]["advice"],
            r"atol 0.0001 is larger than every expected value of output 0 \(at most \S+\): use one like",
        )
        hardened = (
            SOFTMAX.replace("torch.rand(", "4 * torch.randn(") + "\n    TOLERANCE = {'rtol': 1e-4, 'atol': 1e-8}\n"
        )
        self.assert_sound(hardened)

    def test_the_mean_of_v_passes_the_public_attention(self):
        mutants = self.audit(ATTENTION)
        self.assertTrue(mutants["argument 0 ignored"]["passed"])
        self.assertTrue(mutants["argument 1 ignored"]["passed"])
        self.assertFalse(mutants["argument 2 ignored"]["passed"])
        self.assertFalse(mutants["zeros"]["passed"])
        self.assert_sound(ATTENTION.replace("torch.rand(", "torch.randn("))

    def test_a_weight_of_ones_is_not_tested(self):
        mutants = self.audit(NORM.format(weight="torch.ones(64)", use="weight"))
        self.assertEqual(self.passing(mutants), ["argument 1 ignored"])
        self.assertRegex(mutants["argument 1 ignored"]["advice"], "same constant value for every seed.*make it random")
        self.assert_sound(NORM.format(weight="torch.randn(64, generator=generator)", use="weight"))

    def test_an_argument_that_counts_for_nothing_is_said_to_be_one(self):
        mutants = self.audit(NORM.format(weight="torch.randn(64, generator=generator)", use="1"))
        self.assertEqual(self.passing(mutants), ["argument 1 ignored"])
        self.assertRegex(mutants["argument 1 ignored"]["advice"], "does not depend on the values of argument 1")

    def test_a_weight_of_a_model_is_an_argument_too(self):
        mutants = self.audit(LINEAR)
        self.assertEqual(self.passing(mutants), ["parameter bias ignored"])

    def test_integers(self):
        mutants = self.audit(TOP)
        self.assertEqual(self.passing(mutants), [])
        self.assertIn("zeros", mutants)

    def test_inputs_for_which_the_operation_does_nothing(self):
        mutants = self.audit(
            NORM.replace("torch.randn(9, 64", "torch.rand(9, 64")
            .replace("return {use}", "return x.clamp(min=0) #")
            .format(weight="0", use="")
        )
        self.assertTrue(mutants["argument 0 returned as it is"]["passed"])
        self.assertRegex(
            mutants["argument 0 returned as it is"]["advice"],
            "right answer in this case.* no value of argument 0 is negative",
        )

    def test_an_audit_leaves_inputs_and_answers_as_they_were(self):
        self.open(NORM.format(weight="torch.randn(64, generator=generator)", use="weight"))
        call = Call(self.referee)
        self.referee.ask("audit", case=0, seed=1)
        x, weight = call.arguments
        self.assert_passed(call.compare([weight * x / x.square().mean(dim=1, keepdim=True).sqrt()]), "tolerance")


NORM = """
    import torch

    CASES = [{{}}]
    TOLERANCE = {{"rtol": 1e-4, "atol": 1e-5}}

    def make_inputs(device, seed):
        generator = torch.Generator(device=device).manual_seed(seed)
        return torch.randn(9, 64, generator=generator), {weight}

    def reference(x, weight):
        return {use} * x / x.square().mean(dim=1, keepdim=True).sqrt()
"""
LINEAR = """
    import torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(5, 6))
            self.bias = torch.nn.Parameter(torch.zeros(5))

        def forward(self, x):
            return torch.nn.functional.linear(x, self.weight, self.bias)

    def get_inputs():
        return [torch.randn(7, 6)]

    def get_init_inputs():
        return []
"""
TOP = """
    import torch

    CASES = [{}]

    def make_inputs(device, seed):
        generator = torch.Generator(device=device).manual_seed(seed)
        return (torch.randn(40, 64, generator=generator),)

    def reference(x):
        return x.argmax(dim=1)
"""

if __name__ == "__main__":
    unittest.main()
