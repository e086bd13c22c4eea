"""What a candidate's process does with a call: run, time, deliver, describe. On the CPU."""
import math
import pathlib
import sys
import unittest

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from zygote_host import Case, Gone, Host, Refused  # noqa: E402

host = None

KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    total = tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside)
    tl.store(out + at, total, mask=inside)
"""

ADD = KERNEL + """
def kernel_function(x, y):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
    return out
"""


def setUpModule():
    global host
    host = Host()


def tearDownModule():
    host.close()


class Calling(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.x, self.y = torch.randn(5, 33), torch.randn(5, 33)

    def case(self, *arguments, outputs=None, **fields):
        return Case(host, arguments or (self.x, self.y), [self.x] if outputs is None else outputs, **fields)

    def candidate(self, source, **load):
        child = host.candidate(source, **load)
        self.addCleanup(child.close)
        return child

    def refusal(self, source, case=None, **call):
        child = self.candidate(source)
        with self.assertRaises(Refused) as caught:
            (case or self.case()).run(child, **call)
        return caught.exception


class Running(Calling):
    def test_load_run_time(self):
        child = host.fork()
        self.addCleanup(child.close)
        self.assertEqual(child.load(ADD), {"entry": "kernel_function", "kernels": ["add_kernel"], "observed": []})
        self.assertEqual(child.ask("compile", inputs={}, call={})["kernels"], [])
        case = self.case()
        ran = case.run(child)
        self.assertEqual(
            ran["returned"],
            [{"dtype": "float32", "shape": [5, 33], "stride": [33, 1], "device": "cpu", "alias": None}],
        )
        self.assertEqual((ran["launched"], ran["gradients"], ran["notes"]), (["add_kernel"], None, []))
        torch.testing.assert_close(case.read(case.outputs[0]), self.x + self.y)

        case = self.case()
        timed = case.time(child, repeat=4)
        self.assertEqual(len(timed["device_us"]), 4)
        self.assertGreater(min(timed["device_us"]), 0)
        self.assertEqual(timed["returned"], ran["returned"])
        torch.testing.assert_close(case.read(case.outputs[0]), self.x + self.y)

    def test_an_autotuned_kernel_runs_with_the_first_configuration_that_pruning_leaves(self):
        tuned = """
import torch
import triton
import triton.language as tl

@triton.autotune(
    [triton.Config({"BLOCK": block}, num_warps=warps) for block in (16, 32) for warps in (4, 8)],
    key=["n"],
    prune_configs_by={"early_config_prune": lambda configs, arguments, **_: configs[2:]},
)
@triton.heuristics({"EVEN": lambda arguments: arguments["n"] % arguments["BLOCK"] == 0})
@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (at < n) | EVEN
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)

def kernel_function(x, y):
    out = torch.empty_like(x)
    add_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, out, x.numel())
    return out
"""
        child = self.candidate(tuned)
        case = self.case()
        ran = case.run(child)
        torch.testing.assert_close(case.read(case.outputs[0]), self.x + self.y)
        self.assertEqual(ran["launched"], ["add_kernel"])
        self.assertEqual(len(ran["notes"]), 1)
        self.assertIn("add_kernel was not tuned", ran["notes"][0])
        self.assertIn("BLOCK: 32", ran["notes"][0])
        self.assertEqual(self.case().run(child)["notes"], ran["notes"], "noted once")

    def test_nothing_is_launched_by_torch_alone(self):
        ran = self.case().run(self.candidate(KERNEL + "def kernel_function(x, y): return x + y\n"))
        self.assertEqual(ran["launched"], [])

    def test_memory_that_is_not_written_is_nan(self):
        x = torch.ones(1 << 16)
        for source in ("torch.empty_like(x)", "torch.empty(x.shape, dtype=torch.float64)"):
            child = self.candidate(f"import torch\ndef kernel_function(x):\n    return {source}\n")
            case = self.case(x, outputs=[torch.zeros(x.shape, dtype=torch.float64 if "float64" in source else x.dtype)])
            case.read(case.outputs[0]).zero_()
            case.run(child)
            self.assertTrue(case.read(case.outputs[0]).isnan().all(), source)

    def test_non_tensor_arguments_arrive_as_they_were(self):
        child = self.candidate(
            """
            import math, torch
            def kernel_function(x, scale, limit, flag, name, dtype, pair, options):
                assert (scale, flag, name, dtype) == (3, True, "relu", torch.float16), (scale, flag, name, dtype)
                assert limit == math.inf and pair == (1, [2.5, None]) and options["at"].shape == (5, 33)
                return x * scale
            """
        )
        case = self.case(self.x, 3, math.inf, True, "relu", torch.float16, (1, [2.5, None]), {"at": self.y})
        case.run(child)
        torch.testing.assert_close(case.read(case.outputs[0]), self.x * 3)


class Returning(Calling):
    def returned(self, source, outputs=None, **call):
        case = self.case(outputs=outputs, **({"mutated": [self.x]} if call else {}))
        return case, case.run(self.candidate("import torch\ndef kernel_function(x, y):\n" + source), **call)["returned"]

    def test_several_outputs_are_flattened_in_order(self):
        case, returned = self.returned("    return x + 1, [y.sum(), {'z': y}]\n", [self.x, self.y.sum(), self.y])
        self.assertEqual([output["shape"] for output in returned], [[5, 33], [], [5, 33]])
        self.assertEqual([output["alias"] for output in returned], [None, None, {"argument": 1}])
        torch.testing.assert_close(case.read(case.outputs[1]), self.y.sum())

    def test_what_does_not_fit_is_described_and_not_copied(self):
        case, returned = self.returned("    return (x + y).double()\n")
        self.assertEqual(returned[0]["dtype"], "float64")
        self.assertTrue(case.read(case.outputs[0]).isnan().all())
        case, returned = self.returned("    return (x + y).t()\n")
        self.assertEqual((returned[0]["shape"], returned[0]["stride"]), ([33, 5], [1, 33]))
        self.assertTrue(case.read(case.outputs[0]).isnan().all())

    def test_a_view_of_an_input_is_an_alias(self):
        _, returned = self.returned("    return x.view(-1)[3:]\n")
        self.assertEqual(returned[0]["alias"], {"argument": 0})

    def test_too_few_outputs_are_seen(self):
        _, returned = self.returned("    return x + y\n", [self.x, self.y])
        self.assertEqual(len(returned), 1)

    def test_a_call_that_returns_none_worked_in_place(self):
        case, returned = self.returned("    x += y\n", [self.x], mutates=[0])
        self.assertEqual(returned[0]["alias"], {"argument": 0})
        for place in (case.outputs[0], case.mutated[0]):
            torch.testing.assert_close(case.read(place), self.x + self.y)
        _, returned = self.returned("    x += y\n")
        self.assertEqual(returned, [], "nothing may be written to")

    def test_subclasses_of_tensor_are_refused_by_name(self):
        source = """
            import torch
            class Agreeable(torch.Tensor):
                pass
            def kernel_function(x, y):
                return (x + y).as_subclass(Agreeable)
            """
        refusal = self.refusal(source)
        self.assertEqual(refusal.kind, "integrity")
        self.assertIn("kernelbrain_candidate.Agreeable", refusal.message)

    def test_a_sparse_output_is_refused(self):
        refusal = self.refusal("def kernel_function(x, y): return x.to_sparse()\n")
        self.assertIn("sparse", refusal.message)


class Failing(Calling):
    def test_an_exception_in_a_call_names_its_line(self):
        refusal = self.refusal(ADD.replace("    return out", "    return out / undefined"))
        self.assertEqual((refusal.kind, refusal.line), ("call", 16))
        self.assertIn("NameError", refusal.message)

    def test_an_exception_in_a_kernel_names_its_line(self):
        refusal = self.refusal(ADD.replace("total, mask", "total.nonsense, mask"))
        self.assertEqual((refusal.kind, refusal.line), ("call", 11))

    def test_leaving_in_a_call_is_an_error_like_another(self):
        refusal = self.refusal("import sys\ndef kernel_function(x, y): sys.exit(1)\n")
        self.assertEqual((refusal.kind, refusal.line), ("call", 2))

    def test_wrong_arguments_are_an_error_like_another(self):
        self.assertIn("TypeError", self.refusal("def kernel_function(x): return x\n").message)

    def test_after_an_error_the_child_goes_on(self):
        child = self.candidate("def kernel_function(x, y):\n    assert x.shape == y.shape\n    return x + y\n")
        with self.assertRaises(Refused):
            self.case(self.x, self.y[1:]).run(child)
        self.case().run(child)

    def test_memory_that_runs_out_is_told_apart(self):
        for source in ("torch.ones(1 << 30)", "bytearray(4 << 30)"):
            refusal = self.refusal(f"import torch\ndef kernel_function(x, y): return {source}\n")
            self.assertEqual((refusal.kind, refusal.line), ("out_of_memory", 2), refusal)

    def test_a_crash_in_a_call_ends_this_child_only(self):
        child, other = host.candidate("import os\ndef kernel_function(x, y): os.abort()\n"), self.candidate(ADD)
        with self.assertRaises(Gone):
            self.case().run(child)
        self.assertEqual(child.end()["signal"], 6)
        self.case().run(other)

    def test_a_call_without_a_candidate(self):
        child = host.fork()
        self.addCleanup(child.close)
        with self.assertRaisesRegex(Refused, "no candidate"):
            self.case().run(child)


    def test_an_exception_whose_text_cannot_be_read(self):
        odd = """
            class Odd(Exception):
                def __str__(self): raise Odd()
                __repr__ = __str__
            """
        refusal = self.refusal(odd + "\ndef kernel_function(x, y):\n    raise Odd()\n".replace("\n", "\n" + " " * 12))
        self.assertEqual((refusal.kind, refusal.line), ("call", 7))
        self.assertEqual(refusal.message, "Odd, whose text cannot be read: its __str__ fails")
        child = host.fork()
        self.addCleanup(child.close)
        with self.assertRaises(Refused) as caught:
            child.load(odd + " " * 12 + "raise Odd()\n")
        self.assertEqual((caught.exception.kind, caught.exception.line), ("import", 5))

    def test_text_that_is_none(self):
        refusal = self.refusal("def kernel_function(x, y):\n    raise ValueError('\\udc80 half')\n")
        self.assertEqual((refusal.kind, refusal.message), ("call", "ValueError: \\udc80 half"))

    def test_nests_without_an_end(self):
        for making in ("out = [x]\n    out.append(out)", "out = x\n    for _ in range(200_000): out = [out]"):
            refusal = self.refusal(f"def kernel_function(x, y):\n    {making}\n    return out\n")
            self.assertEqual(refusal.kind, "call")
            self.assertRegex(refusal.message, "^the call returned lists, tuples or dicts more than 32 deep")

    def test_more_outputs_than_anybody_wants(self):
        refusal = self.refusal("def kernel_function(x, y): return [x] * 300_000\n")
        self.assertEqual((refusal.kind, refusal.message), ("call", "the call returned more than 4096 tensors"))
        refusal = self.refusal("def kernel_function(x, y):\n    out = []\n    for _ in range(30): out = [out, out]\n    return out\n")
        self.assertRegex(refusal.message, "a nest of more than 131072 values")

    def test_a_tensor_that_is_conjugated_when_it_is_read(self):
        refusal = self.refusal("import torch\ndef kernel_function(x, y): return torch.complex(x, y).conj()\n")
        self.assertEqual(refusal.kind, "call")
        self.assertRegex(refusal.message, "^the call returned a tensor that is conjugated only when it is read")


class Weights(Calling):
    def setUp(self):
        super().setUp()
        first, second, bias = torch.randn(33, 33), torch.randn(33, 33), torch.randn(33)
        self.weights = {"first.weight": first, "second.weight": second, "bias": bias, "norm.eps": 0.5}
        self.expected = self.x @ first.t() @ second.t() + bias

    def check(self, source, **load):
        child = self.candidate("import torch\n" + source, **load)
        case = self.case(self.x, parameters=self.weights, init=(33,))
        for _ in range(2):
            case.run(child)
            torch.testing.assert_close(case.read(case.outputs[0]), self.expected, rtol=1e-4, atol=1e-4)

    def test_a_function_gets_them_by_name(self):
        self.check("def kernel_function(x, bias, second_weight, first_weight, eps=1e-5, axis=-1):\n"
                   "    assert (eps, axis) == (0.5, -1)\n"
                   "    return x @ first_weight.t() @ second_weight.t() + bias\n")

    def test_a_function_of_any_arguments_gets_them_in_order(self):
        self.check("def kernel_function(x, *weights):\n    a, b, c = weights\n    return x @ a.t() @ b.t() + c\n")

    def test_a_name_that_two_weights_end_with_is_refused(self):
        child = self.candidate("def kernel_function(x, weight, bias): return x\n")
        with self.assertRaises(Refused) as caught:
            self.case(self.x, parameters=self.weights).run(child)
        self.assertEqual(caught.exception.kind, "entry")
        self.assertIn("'weight'", caught.exception.message)
        self.assertIn("first.weight, second.weight, bias, norm.eps", caught.exception.message)

    def test_a_class_is_built_and_gets_them(self):
        self.check(
            """
class ModelNew(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.first = torch.nn.Linear(size, size, bias=False)
        self.second = torch.nn.Linear(size, size, bias=False)
        self.bias = torch.nn.Parameter(torch.zeros(size))

    def forward(self, x):
        return self.second(self.first(x)) + self.bias
""",
            entries=["kernel_function", "ModelNew"],
        )


class Interpreted(Calling):
    def test_what_the_interpreter_does_not_know_is_put_down_to_it(self):
        """Compiled, a number in the arguments has a dtype and `to`; interpreted, it is one of Python's."""
        scaled = KERNEL.replace("n, BLOCK", "n, scale, BLOCK").replace("total,", "total * scale.to(tl.float32),")
        refused = self.refusal(scaled + """
def kernel_function(x, y):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), 0.5, BLOCK=64)
    return out
""")
        self.assertIn("has no attribute 'to'", str(refused))
        self.assertIn("Triton's interpreter stands in for a GPU here", str(refused))


class Gradients(Calling):
    SQUARE = KERNEL + """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(context, x, y):
        out = torch.empty_like(x)
        add_kernel[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
        return out

    @staticmethod
    def backward(context, upstream):
        return upstream, 2 * upstream

def kernel_function(x, y):
    return Double.apply(x, y)
"""

    def case_with_gradients(self):
        self.x.requires_grad_(), self.y.requires_grad_()
        self.upstream = torch.randn(5, 33)
        return self.case(cotangents=[self.upstream], gradients=[self.x, self.y], outputs=[self.x.detach()])

    def test_gradients_are_delivered_and_timed(self):
        child, case = self.candidate(self.SQUARE), self.case_with_gradients()
        ran = case.run(child, grads=[0, 1])
        self.assertEqual([gradient["shape"] for gradient in ran["gradients"]], [[5, 33], [5, 33]])
        torch.testing.assert_close(case.read({**case.gradients[0], "grad": False}), self.upstream)
        torch.testing.assert_close(case.read({**case.gradients[1], "grad": False}), 2 * self.upstream)
        timed = case.time(child, repeat=5, grads=[0, 1])
        self.assertEqual(len(timed["backward_us"]), 1, "what the last call returned is alive")
        self.assertEqual([gradient["shape"] for gradient in timed["gradients"]], [[5, 33], [5, 33]])

    def test_a_backward_pass_may_use_up_what_was_saved(self):
        uses_up = self.SQUARE.replace("out = torch", "context.save_for_backward(x.clone())\n        out = torch")
        overwrites = "(saved,) = context.saved_tensors\n        first = upstream + 0 * saved\n"
        overwrites += "        saved.mul_(upstream)\n        return first, saved"
        uses_up = uses_up.replace("return upstream, 2 * upstream", overwrites)
        child, case = self.candidate(uses_up), self.case_with_gradients()
        for repeat in (1, 2, 3, 5):  # the one that was timed and others
            with self.subTest(repeat):
                case.time(child, repeat=repeat, grads=[0, 1])
                second = case.read({**case.gradients[1], "grad": False})
                torch.testing.assert_close(second, self.upstream * self.x.detach())

    def test_a_gradient_that_is_missing_is_null(self):
        child = self.candidate(self.SQUARE.replace("2 * upstream", "None"))
        ran = self.case_with_gradients().run(child, grads=[0, 1])
        self.assertEqual([gradient is None for gradient in ran["gradients"]], [False, True])

    def test_the_entry_may_be_a_method(self):
        child, case = self.candidate(self.SQUARE, entries=["Double.apply"]), self.case_with_gradients()
        ran = case.run(child, grads=[0, 1])
        torch.testing.assert_close(case.read({**case.gradients[1], "grad": False}), 2 * self.upstream)
        self.assertEqual((ran["launched"], ran["launched_back"]), (["add_kernel"], []))

    def test_a_class_of_gradients_is_told_from_a_model(self):
        child = self.candidate(self.SQUARE, entries=["Double"])
        with self.assertRaises(Refused) as caught:
            self.case_with_gradients().run(child, grads=[0, 1])
        self.assertIn("called by its method: Double.apply", str(caught.exception))

    def test_an_output_without_a_graph_has_none(self):
        ran = self.case_with_gradients().run(self.candidate(ADD), grads=[0, 1])
        self.assertEqual(ran["gradients"], [None, None])


if __name__ == "__main__":
    unittest.main()
