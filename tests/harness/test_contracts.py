"""What the referee makes of contract files, good and bad."""

import textwrap
import unittest

import torch
from conversation import Call, Conversation

DOUBLE = """
    import torch

    CASES = [{"n": 1 << 20, "dtype": "float32"}]
    SMALL_CASES = [{"n": 8, "dtype": "float32"}, {"name": "odd", "n": 7, "dtype": "float32", "weight": 3}]

    def make_inputs(device, seed, n, dtype):
        generator = torch.Generator(device=device).manual_seed(seed)
        return (torch.randn(n, generator=generator, device=device, dtype=getattr(torch, dtype)),)

    def reference(x):
        return 2 * x
"""


class Native(Conversation):
    def test_small_cases_are_used_on_cpu_and_named_by_their_parameters(self):
        contract = self.open(DOUBLE)
        self.assertEqual(contract["kind"], "native")
        self.assertEqual(contract["entries"], ["kernel_function"])
        self.assertEqual([case["name"] for case in contract["cases"]], ["n=8,dtype=float32", "odd"])
        self.assertEqual([case["weight"] for case in contract["cases"]], [1.0, 3.0])
        self.assertEqual(contract["cases"][1]["params"], {"n": 7, "dtype": "float32"})

    def test_without_small_cases_the_large_ones_are_used_with_a_note(self):
        contract = self.open(DOUBLE.replace("SMALL_CASES", "OTHER"))
        self.assertEqual(contract["cases"][0]["params"]["n"], 1 << 20)
        self.assertTrue(any("no SMALL_CASES" in note for note in contract["notes"]), contract["notes"])

    def test_equal_names_are_told_apart(self):
        contract = self.open(DOUBLE.replace('{"n": 8, "dtype"', '{"name": "odd", "n": 8, "dtype"'))
        self.assertEqual([case["name"] for case in contract["cases"]], ["odd", "odd#2"])

    def test_bfloat16_becomes_float32_on_cpu_with_a_note(self):
        text = DOUBLE.replace('"n": 8, "dtype": "float32"', '"n": 8, "dtype": "bfloat16"')
        contract = self.open(text)
        self.assertEqual(contract["cases"][0]["params"]["dtype"], "float32")
        self.assertTrue(any("bfloat16 became float32" in note for note in contract["notes"]))
        self.assertEqual(str(Call(self.referee).arguments[0].dtype), "torch.float32")

    def test_bfloat16_that_make_inputs_chooses_itself_is_converted_too(self):
        contract = self.open(DOUBLE.replace("dtype=getattr(torch, dtype)", "dtype=torch.bfloat16"))
        self.assertTrue(any("bfloat16 became float32" in note for note in contract["notes"]))
        self.assertEqual(str(Call(self.referee).arguments[0].dtype), "torch.float32")

    def test_imports_of_the_candidate_are_not_followed(self):
        self.write("input_kernel.py", "raise RuntimeError('this must not run in the referee')")
        contract = self.open("from input_kernel import kernel_function\n" + textwrap.dedent(DOUBLE))
        self.assertEqual(len(contract["cases"]), 2)

    def test_modules_beside_the_contract_may_be_called_like_the_referees_own(self):
        self.write("compare.py", "FACTOR = 2")
        self.write("wire.py", "BIAS = 0")
        text = textwrap.dedent(DOUBLE).replace("return 2 * x", "return FACTOR * x + BIAS")
        self.open("from compare import FACTOR\nfrom wire import BIAS\n" + text)
        self.assertEqual(len(Call(self.referee).arguments), 1)

    def test_nothing_is_written_beside_the_contract(self):
        self.write("helper.py", "FACTOR = 2")
        self.open("import helper\n" + textwrap.dedent(DOUBLE))
        Call(self.referee)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["helper.py", "test.py"])

    def test_prints_do_not_disturb_the_conversation(self):
        text = textwrap.dedent(DOUBLE).replace("return 2 * x", "print('{\"id\": 1}'); return 2 * x")
        self.open("print('hello\\n' * 1000)\nimport sys; sys.stdin.read()\n" + text)
        self.assertEqual(len(Call(self.referee).arguments), 1)


class Shorthand(Conversation):
    TEXT = """
        import torch

        SHAPES = [(1024, 1024)]
        SMALL_SHAPES = [(4, 8), (3, 5)]
        DTYPES = ["float32", "float16"]

        def make_inputs(shape, dtype, device, seed):
            generator = torch.Generator().manual_seed(seed)
            return (torch.randn(shape, generator=generator).to(device, dtype),)

        def reference(x):
            return x.sum(dim=-1)
    """

    def test_every_shape_with_every_dtype(self):
        contract = self.open(self.TEXT)
        names = [case["name"] for case in contract["cases"]]
        self.assertEqual(names, ["4x8,float32", "3x5,float32", "4x8,float16", "3x5,float16"])
        self.assertEqual(contract["cases"][2]["params"], {"shape": [4, 8], "dtype": "float16"})
        self.assertEqual(str(Call(self.referee, case=3).arguments[0].dtype), "torch.float16")

    def test_a_dtype_that_does_not_exist(self):
        error = self.refuse(self.open, self.TEXT.replace('"float16"', '"half precision"'))
        self.assertRegex(error.message, "DTYPES: 'half precision' is neither")


class KernelBench(Conversation):
    PROBLEM = """
        import torch

        class Model(torch.nn.Module):
            def __init__(self, features, eps):
                super().__init__()
                self.linear = torch.nn.Linear(features, 3)
                self.norm = torch.nn.BatchNorm1d(3, eps=eps)
                self.eps = eps

            def forward(self, x):
                return self.norm(self.linear(x)) + self.eps

        def get_inputs():
            return [torch.randn(5, 4)]

        def get_init_inputs():
            return [4, 0.25]
    """

    def test_the_model_is_found_in_problem_py_when_the_test_imports_it(self):
        self.write("problem.py", self.PROBLEM)
        contract = self.open("""
            from kernel import kernel_function
            from problem import Model, get_inputs, get_init_inputs
        """)
        self.assertEqual(contract["kind"], "kernel_bench")
        self.assertEqual(contract["entries"], ["kernel_function", "ModelNew"])
        self.assertTrue(any("KernelBench" in note for note in contract["notes"]))

    def test_weights_buffers_and_constants_go_out_by_name_and_the_constructor_with_its_seed(self):
        self.open(self.PROBLEM)
        call = Call(self.referee, seed=3)
        self.assertEqual(list(call.parameters["linear.weight"].shape), [3, 4])
        self.assertEqual(list(call.parameters["norm.running_mean"].shape), [3])
        self.assertEqual(call.parameters["norm.eps"], 0.25)
        self.assertEqual(call.inputs["init"], [{"value": 4}, {"value": 0.25}])
        self.assertEqual(call.inputs["init_seed"], 3)

    def test_an_answer_computed_from_what_went_out_is_right(self):
        self.open(self.PROBLEM)
        for seed in (3, 4, 3):
            call = Call(self.referee, seed=seed)
            p = call.parameters
            y = torch.nn.functional.linear(call.arguments[0], p["linear.weight"], p["linear.bias"])
            y = torch.nn.functional.batch_norm(y, None, None, p["norm.weight"], p["norm.bias"], True, 0.1, 0.25)
            self.assert_passed(call.compare([y + 0.25]), "tolerance")

    def test_a_kernel_that_returns_nothing_has_written_over_its_first_input(self):
        self.open("""
            import torch

            class Model(torch.nn.Module):
                def forward(self, x):
                    return torch.relu(x)

            def get_inputs():
                return [torch.randn(4, 4)]

            def get_init_inputs():
                return []
        """)
        call = Call(self.referee)
        call.arguments[0].clamp_(min=0)
        self.assert_passed(call.compare([]), "tolerance")
        call = Call(self.referee)
        self.assert_rejected(call.compare([]), "output 0: .* are off")

    def test_a_kernel_that_returns_nothing_where_no_input_could_hold_the_answer(self):
        self.open(self.PROBLEM)
        self.assert_rejected(Call(self.referee).compare([]), r"no input of the output's kind \(float32 \[5, 3\]\)")


class GpuMode(Conversation):
    TASK = """
        files:
          - {"name": "utils.py", "source": "../utils.py"}
        tests:
          - {"size": 6, "seed": 1}
          - {"size": 9, "seed": 2}
        benchmarks:
          - {"size": 1000000, "seed": 3}
    """
    REFERENCE = """
        import torch
        from task import input_t, output_t
        from utils import make_match_reference

        def ref_kernel(data: input_t) -> output_t:
            x, y = data
            y[...] = 3 * x
            return y

        def generate_input(size: int, seed: int) -> input_t:
            generator = torch.Generator(device="cuda")
            generator.manual_seed(seed)
            x = torch.randn(size, device="cuda", generator=generator)
            return x, torch.empty(size, device="cuda").contiguous()

        check_implementation = make_match_reference(ref_kernel, rtol=1e-4, atol=1e-5)
    """

    def open_task(self, path=None):
        self.write("task.yml", self.TASK)
        self.write("reference.py", self.REFERENCE)
        return self.referee.open(path or self.folder)["contract"]

    def test_a_folder_a_task_file_and_its_reference_are_the_same_contract(self):
        for path in (self.folder, self.folder / "task.yml", self.folder / "reference.py"):
            contract = self.open_task(path)
            self.assertEqual(contract["kind"], "gpu_mode")
            self.assertEqual(contract["entries"], ["custom_kernel"])
            self.assertEqual([case["name"] for case in contract["cases"]], ["size=6", "size=9"])

    def test_data_is_one_argument_and_its_destination_may_be_written_and_returned(self):
        self.open_task()
        call = Call(self.referee)
        ((x, y),) = call.arguments
        y.copy_(3 * x)
        self.assert_passed(call.compare([y], aliases={0: 0}), "contract")

    def test_what_is_no_destination_may_not_be_written(self):
        self.open_task()
        call = Call(self.referee)
        ((x, _),) = call.arguments
        answer = 3 * x
        x.zero_()
        self.assert_rejected(call.compare([answer]), r"argument 0\[0\] was changed", "integrity")

    def test_the_tasks_own_comparison_decides(self):
        self.open_task()
        call = Call(self.referee)
        ((x, _),) = call.arguments
        self.assert_rejected(call.compare([2 * x]), "contract's comparison rejects the answer: 6 elements differ")

    def test_helpers_come_from_the_task_when_it_has_them(self):
        self.write("utils.py", "make_match_reference = lambda ref, **_: lambda data, output: 'never good enough'")
        self.open_task()
        call = Call(self.referee)
        self.assert_rejected(call.compare([3 * call.arguments[0][0]]), "never good enough")

    def test_a_task_without_cases(self):
        self.write("reference.py", self.REFERENCE)
        self.write("task.yml", "lang: py\n")
        self.assertRegex(self.refuse(self.referee.open, self.folder).message, "needs tests or benchmarks")

    def test_a_task_that_is_not_yaml_names_the_line(self):
        self.write("reference.py", self.REFERENCE)
        path = self.write("task.yml", "tests:\n  - {a: 1\n  - b\n")
        error = self.refuse(self.referee.open, self.folder)
        self.assertEqual((error.kind, error.file), ("contract", str(path)))
        self.assertGreaterEqual(error.line, 2)


if __name__ == "__main__":
    unittest.main()
