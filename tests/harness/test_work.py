"""What the referee counts for the speed of light: operations by format, least bytes, declarations."""

import subprocess
import sys
import textwrap
import unittest
from unittest import mock

import torch
from conversation import Conversation, Refused
from kernelbrain_harness import work as counting
from kernelbrain_harness.answers import Contents
from kernelbrain_harness.contracts import open_contract
from kernelbrain_harness.wire import Failure

CONTRACT = """
    import torch

    CASES = SMALL_CASES = [{{"n": 64, "m": 32}}]
    {more}

    def make_inputs(device, seed, n, m):
        g = torch.Generator(device=device).manual_seed(seed)
        rand = lambda *shape: torch.randn(*shape, generator=g, device=device)
        {inputs}

    def reference({names}):
        {reference}
"""


class Counting(Conversation):
    """What is counted in one more call; `WithoutMemory` asks the same of fake tensors."""

    def count(self, inputs, names, reference, more=""):
        text = CONTRACT.format(inputs=inputs, names=names, reference=reference, more=more)
        self.open(text)
        return self.referee.ask("work", case=0, seed=1)

    def test_a_product_counts_two_operations_a_multiplication_and_each_byte_once(self):
        work = self.count("return rand(n, m), rand(m, n)", "a, b", "return a @ b")
        self.assertEqual(work["flops"], {"fp32": 2 * 64 * 32 * 64})
        self.assertEqual(work["elementwise"], 0)
        self.assertEqual((work["bytes_in"], work["bytes_out"]), (2 * 64 * 32 * 4, 64 * 64 * 4))
        self.assertEqual(work["declared"], [])

    def test_products_count_in_the_format_of_the_inputs_also_where_the_reference_widens_them(self):
        half = "return rand(n, m).half(), rand(m, n).half()"
        work = self.count(half, "a, b", "return (a.float() @ b.float()).half()")
        self.assertEqual(work["flops"], {"fp16": 2 * 64 * 32 * 64})
        self.assertEqual(work["bytes_in"], 2 * 64 * 32 * 2)

    def test_a_matrix_times_a_vector_is_a_product_too(self):
        work = self.count("return rand(n, m), rand(m)", "a, x", "return a @ x")
        self.assertEqual(work["flops"], {"fp32": 2 * 64 * 32})

    def test_causal_attention_counts_half(self):
        inputs = "return rand(2, 4, n, m), rand(2, 4, n, m), rand(2, 4, n, m)"
        call = "return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal={})"
        whole = self.count(inputs, "q, k, v", call.format(False))["flops"]["fp32"]
        self.assertEqual(whole, 2 * 4 * 2 * (2 * 64 * 64 * 32))
        causal = self.count(inputs, "q, k, v", call.format(True))["flops"]["fp32"]
        self.assertEqual(causal, whole // 2)

    def test_elementwise_operators_count_outputs_and_reductions_count_inputs(self):
        work = self.count("return (rand(n, m),)", "x", "return (x * 2).sum(-1)")
        self.assertEqual(work["elementwise"], 2 * 64 * 32)
        self.assertEqual(work["flops"], {})
        moved = self.count("return (rand(n, m),)", "x", "return x.t().contiguous()")
        self.assertEqual(moved["elementwise"], 0)

    def test_an_input_read_twice_counts_once_and_one_not_read_counts_nothing(self):
        work = self.count("return rand(n, m), rand(n, m)", "x, unused", "return x.sum(0) + x.t().sum(1) + x.view(-1)[0]")
        self.assertEqual(work["bytes_in"], 64 * 32 * 4)

    def test_only_the_parts_that_are_read_count(self):
        halves = "return x[:, : x.shape[1] // 2] + 1"
        self.assertEqual(self.count("return (rand(n, m),)", "x", halves)["bytes_in"], 64 * 16 * 4)
        both = "return x[:, : x.shape[1] // 2] + x[:, x.shape[1] // 2 :]"
        self.assertEqual(self.count("return (rand(n, m),)", "x", both)["bytes_in"], 64 * 32 * 4)
        diagonal = "return torch.diagonal(x).exp()"
        self.assertEqual(self.count("return (rand(n, n),)", "x", diagonal)["bytes_in"], 64 * 4)
        windows = "return x.unfold(0, 4, 1).sum(-1)"
        self.assertEqual(self.count("return (rand(n),)", "x", windows)["bytes_in"], 64 * 4)

    def test_a_gather_reads_no_more_than_it_writes(self):
        inputs = "return rand(n, m), torch.arange(4, device=device)"
        for call in ("table[at]", "torch.nn.functional.embedding(at, table)", "table.index_select(0, at)"):
            work = self.count(inputs, "table, at", f"return {call}")
            self.assertEqual(work["bytes_in"], 4 * 32 * 4 + 4 * 8, call)
            self.assertEqual(work["elementwise"], 0, call)

    def test_what_is_expanded_counts_once(self):
        work = self.count("return (rand(1, m).expand(n, m),)", "x", "return x.exp()")
        self.assertEqual(work["bytes_in"], 32 * 4)
        self.assertEqual(work["bytes_out"], 64 * 32 * 4)

    def test_an_input_that_is_overwritten_counts_twice(self):
        more = "MUTATES = [0]"
        work = self.count("return (rand(n, m),)", "x", "x.mul_(2)", more)
        self.assertEqual((work["bytes_in"], work["bytes_out"]), (64 * 32 * 4, 64 * 32 * 4))
        copied = self.count("return rand(n, m), rand(n, m)", "x, y", "x.copy_(y)", more)
        self.assertEqual((copied["bytes_in"], copied["bytes_out"]), (64 * 32 * 4, 64 * 32 * 4))

    def test_a_reference_may_look_at_values(self):
        work = self.count("return (rand(n, m),)", "x", "return x[x > float(x.mean())].sum() + x")
        self.assertGreaterEqual(work["elementwise"], 64 * 32)
        self.assertEqual(work["bytes_in"], 64 * 32 * 4)

    def test_the_contract_may_state_operations_and_bytes_itself(self):
        more = "flops = lambda n, m: 10 * n * m\n    bytes = lambda n, m: 100 * n * m"
        work = self.count("return rand(n, m), rand(m, n)", "a, b", "return a @ b", more)
        self.assertEqual(work["flops"], {"fp32": 10 * 64 * 32})
        self.assertEqual(work["bytes_out"], 64 * 64 * 4)
        self.assertEqual(work["bytes_in"] + work["bytes_out"], 100 * 64 * 32)
        self.assertEqual(work["declared"], ["flops", "bytes"])
        more = "flops = lambda n, m: {'bf16': 5, 'fp32': 7}"
        self.assertEqual(self.count("return (rand(n),)", "a", "return a", more)["flops"], {"bf16": 5, "fp32": 7})

    def test_declarations_that_are_no_numbers_are_errors_of_the_contract(self):
        for more, words in (
            ("bytes = lambda n, m: 'many'", "a number of at least 0 is needed"),
            ("bytes = lambda n, m: -1", "a number of at least 0 is needed"),
            ("bytes = lambda n: 1", "bytes fails for case"),
            ("bytes = 7", "bytes is not a function"),
            ("flops = lambda n, m: {'int4': 1}", "int4"),
        ):
            with self.assertRaises(Refused) as refused:
                self.count("return (rand(n),)", "a", "return a + 1", more)
            self.assertEqual(refused.exception.kind, "contract")
            self.assertIn(words, refused.exception.message)


class WithoutMemory(Counting):
    """The same, counted without memory as for large cases."""

    def count(self, inputs, names, reference, more=""):
        case = CONTRACT.format(inputs=inputs, names=names, reference=reference, more=more)
        path = self.write("test.py", case)
        contract = open_contract(path, torch.device("cpu"))
        with mock.patch.object(counting, "_CHEAP_BYTES", -1):
            try:
                return counting.count_work(contract, Contents(contract, contract.cases[0], 1))
            except Failure as failure:
                raise Refused({"kind": failure.kind, "message": failure.message}) from None


class Depending(Conversation):
    """Which sectors of the inputs the answer depends on."""

    def measure(self, inputs, names, reference, more=""):
        self.open(CONTRACT.format(inputs=inputs, names=names, reference=reference, more=more))
        return self.referee.ask("dependence", case=0, seed=1)

    def test_everything_is_needed_by_what_reads_everything(self):
        for reference in (
            "return torch.relu(x)",
            "return torch.softmax(x, -1)",
            "return x.amax(-1)",
            "return x.argmax(-1)",
            "return (x @ x.t()).bfloat16()",
            "return torch.nn.functional.max_pool1d(x[None], 2)[0]",
        ):
            found = self.measure("return (rand(n, m),)", "x", reference)
            self.assertEqual(found, {"sampled": 48, "needed": 48, "bytes": 64 * 32 * 4}, reference)

    def test_indices_and_masks_are_needed(self):
        inputs = "return rand(n, m), torch.randint(0, n, (n * m,), generator=g, device=device)"
        found = self.measure(inputs, "table, at", "return table[at]")
        self.assertEqual(found["needed"], found["sampled"])
        inputs = "return (rand(n, m) > 0,)"
        self.assertEqual(self.measure(inputs, "mask", "return mask.float() * 2")["needed"], 48)

    def test_what_a_triangle_leaves_out_is_not_needed(self):
        found = self.measure("return (rand(256, 256),)", "x", "return torch.tril(x) * 2")
        self.assertTrue(14 <= found["needed"] <= 36, found)

    def test_what_strides_pass_over_is_not_needed(self):
        found = self.measure("return (rand(4 * n, m),)", "x", "return x.contiguous()[::4] + 1 + 0 * x.sum() * 0")
        self.assertLess(found["needed"], 36)

    def test_a_reference_that_varies_says_nothing(self):
        found = self.measure("return (rand(n, m),)", "x", "return x + torch.rand_like(x)")
        self.assertEqual(found["sampled"], 0)

    def test_counting_leaves_the_inputs_as_they_were(self):
        self.open(CONTRACT.format(inputs="return (rand(n, m),)", names="x", reference="x.mul_(2)", more="MUTATES = [0]"))
        self.referee.ask("inputs", case=0, seed=1)
        self.referee.ask("work", case=0, seed=1)
        again = self.referee.ask("dependence", case=0, seed=1)
        self.assertEqual(again["sampled"], 48, "else the answer would differ from the first one")

    def test_the_inputs_are_put_back(self):
        self.measure("return rand(n, m), rand(n, m)", "x, y", "x.mul_(y)", "MUTATES = [0]")
        again = self.referee.ask("dependence", case=0, seed=1)
        self.assertEqual(again["needed"], 48, "else the answer would differ from the first one")


class Models(Conversation):
    def test_weights_of_a_model_are_inputs(self):
        self.open(
            """
            import torch

            class Model(torch.nn.Module):
                def __init__(self, wide):
                    super().__init__()
                    self.linear = torch.nn.Linear(16, wide)
                    self.norm = torch.nn.BatchNorm1d(wide)

                def forward(self, x):
                    return torch.relu(self.norm(self.linear(x)))

            def get_inputs():
                return [torch.randn(8, 16)]

            def get_init_inputs():
                return [32]
            """
        )
        work = self.referee.ask("work", case=0, seed=1)
        self.assertEqual(work["flops"], {"fp32": 2 * 8 * 16 * 32})
        weights = 16 * 32 + 32 + 32 + 32
        self.assertGreaterEqual(work["bytes_in"], 4 * (8 * 16 + weights))
        self.assertEqual(work["bytes_out"], 4 * 8 * 32)


class Startup(unittest.TestCase):
    """What every run waits for before it begins."""

    def test_counting_does_not_load_torch_compile(self):
        script = """
            import sys, torch
            from kernelbrain_harness.work import Counter
            x = torch.ones(4, 4)
            with Counter([x]) as counter:
                torch.relu(x @ x)
            print(counter.flops["fp32"], "torch._dynamo" in sys.modules)
        """
        told = subprocess.run(
            [sys.executable, "-c", "import conversation\n" + textwrap.dedent(script)], capture_output=True, text=True, check=True
        )
        self.assertEqual(told.stdout.split(), ["128", "False"])


if __name__ == "__main__":
    unittest.main()
