"""Contracts that cannot be used: one clear error each, and the referee goes on."""

import textwrap
import unittest

from conversation import Call, Conversation

GOOD = textwrap.dedent("""
    import torch

    CASES = [{"n": 6}]

    def make_inputs(device, seed, n):
        generator = torch.Generator(device=device).manual_seed(seed)
        return (torch.randn(n, generator=generator, device=device),)

    def reference(x):
        return x + 1
""")


class BadFiles(Conversation):
    def refused(self, text):
        return self.refuse(self.open, text)

    def test_no_such_file(self):
        error = self.refuse(self.referee.open, self.folder / "missing.py")
        self.assertEqual(error.kind, "contract")
        self.assertRegex(error.message, "missing.py does not exist")

    def test_no_python(self):
        error = self.refused("import torch\ndef reference(x:\n")
        self.assertRegex(error.message, "not valid Python: SyntaxError")
        self.assertEqual((error.file, error.line), (str(self.folder / "test.py"), 2))

    def test_not_utf8(self):
        (self.folder / "test.py").write_bytes(b"import torch\n# caf\xe9\n")
        error = self.refuse(self.referee.open, self.folder / "test.py")
        self.assertRegex(error.message, "not UTF-8")
        self.assertEqual(error.line, 2)

    def test_does_not_import(self):
        error = self.refused(GOOD + "\nimport nonexistent_module_of_this_test\n")
        self.assertRegex(error.message, "does not import: ModuleNotFoundError: .*nonexistent_module_of_this_test")
        self.assertEqual(error.line, GOOD.count("\n") + 2)

    def test_is_no_contract_at_all(self):
        error = self.refused("X = 1\n")
        self.assertRegex(error.message, "is no contract: a contract defines CASES")

    def test_lacks_names(self):
        error = self.refused(GOOD.replace("def make_inputs", "def make_input"))
        self.assertRegex(error.message, "defines CASES, reference but lacks make_inputs")

    def test_lacks_names_of_kernelbench(self):
        error = self.refused("import torch\nclass Model(torch.nn.Module):\n    pass\n")
        self.assertRegex(error.message, "defines Model but lacks get_inputs and get_init_inputs")
        self.assertEqual(error.line, 2)

    def test_imports_half_of_its_names_from_nowhere(self):
        error = self.refused(GOOD.replace("CASES = ", "from nonexistent_module_of_this_test import *\nCASES = "))
        self.assertRegex(error.message, "ModuleNotFoundError")

    def test_ends_the_process(self):
        for end in ("import sys; sys.exit(3)", "import os; os._exit(3)", "raise SystemExit(3)"):
            error = self.refused(GOOD + f"\n{end}\n")
            self.assertRegex(error.message, r"it ends the process \(exit status 3\)")

    def test_reads_standard_input(self):
        error = self.refused(GOOD + "\ninput()\n")
        self.assertRegex(error.message, "EOFError")

    def test_empty_cases(self):
        self.assertRegex(
            self.refused(GOOD.replace('[{"n": 6}]', "[]")).message, "CASES must be a list with at least one"
        )

    def test_cases_that_are_no_dicts(self):
        self.assertRegex(self.refused(GOOD.replace('[{"n": 6}]', "[6]")).message, r"CASES\[0\] must be a dict")

    def test_weight_of_nothing(self):
        error = self.refused(GOOD.replace('{"n": 6}', '{"n": 6, "weight": 0}'))
        self.assertRegex(error.message, r"CASES\[0\] has weight 0; it must be a number greater than 0")

    def test_tolerances(self):
        for tolerance, complaint in (
            ('{"rtol": "small"}', "'small' is not a number"),
            ('{"float33": 1e-3}', "'float33' is neither rtol, atol nor a dtype"),
            ('{"float32": {"rol": 1}}', "expected rtol and atol, found"),
            ("-1.0", "-1.0 is not a finite number of at least 0"),
        ):
            error = self.refused(GOOD + f"\nTOLERANCE = {tolerance}\n")
            self.assertRegex(error.message, f"TOLERANCE: {complaint}")

    def test_positions_that_are_none(self):
        self.assertRegex(self.refused(GOOD + "\nMUTATES = 'x'\n").message, "MUTATES must be a list of positions")

    def test_a_device_that_is_not_there(self):
        path = self.write("test.py", GOOD)
        error = self.refuse(self.referee.open, path, device="cuda:77")
        self.assertEqual(error.kind, "device")
        self.assertRegex(error.message, "CUDA")


class BadInputsAndReferences(Conversation):
    def refused(self, text):
        self.open(text)
        return self.refuse(Call, self.referee)

    def test_reference_raises(self):
        error = self.refused(GOOD.replace("return x + 1", "return x + unknown"))
        self.assertEqual(error.kind, "contract")
        self.assertRegex(error.message, "the reference fails for case n=6: NameError: name 'unknown'")
        self.assertEqual(error.line, 11)

    def test_reference_gives_nan(self):
        error = self.refused(GOOD.replace("return x + 1", "return x.log()"))
        self.assertRegex(error.message, r"the reference gives NaN for case n=6: \d of 6 elements of output 0")

    def test_reference_gives_nothing_but_infinity(self):
        error = self.refused(GOOD.replace("return x + 1", "return x / 0 * x"))
        self.assertRegex(error.message, "nothing but infinities")

    def test_nan_is_right_where_an_input_is_nan(self):
        text = GOOD.replace(
            "return (torch.randn(n, generator=generator, device=device),)", "return torch.full((n,), float('nan'))"
        )
        self.open(text)
        call = Call(self.referee)
        self.assert_passed(call.compare([call.arguments[0] + 1]), "tolerance")

    def test_reference_returns_no_tensor(self):
        error = self.refused(GOOD.replace("return x + 1", "return 'done'"))
        self.assertRegex(error.message, "returns str .* must return a tensor")

    def test_reference_writes_to_an_input(self):
        error = self.refused(GOOD.replace("return x + 1", "return x.add_(1)"))
        self.assertRegex(error.message, "the reference writes to argument 0: list its position in MUTATES")

    def test_inputs_on_another_device(self):
        error = self.refused(
            GOOD.replace(
                "return (torch.randn(n, generator=generator, device=device),)",
                "return (torch.empty(n, device='meta'),)",
            )
        )
        self.assertRegex(error.message, "lie on device meta, but cpu was asked for")

    def test_make_inputs_takes_other_parameters(self):
        error = self.refused(GOOD.replace("seed, n)", "seed, m)"))
        self.assertRegex(error.message, "make_inputs fails for case n=6: TypeError")

    def test_make_inputs_ends_the_process(self):
        error = self.refused(
            GOOD.replace("    return (torch.randn", "    import os; os._exit(9)\n    return (torch.randn")
        )
        self.assertRegex(error.message, r"make_inputs fails .* ends the process \(exit status 9\)")

    def test_an_argument_that_cannot_travel(self):
        error = self.refused(GOOD.replace("device=device),)", "device=device), object())").replace("(x)", "(x, y)"))
        self.assertRegex(error.message, "argument 1: an argument of type object cannot be sent")

    def test_mutates_names_an_input_that_is_not_there(self):
        self.assertRegex(
            self.refused(GOOD + "\nMUTATES = [4]\n").message, "MUTATES names input 4, but there are only 1"
        )

    def test_grads_of_what_has_none(self):
        self.assertRegex(
            self.refused(GOOD.replace("x + 1", "x.detach() + 1") + "\nGRADS = [0]\n").message,
            "no output of the reference depends on",
        )

    def test_a_case_that_does_not_fit_the_memory(self):
        self.open(GOOD.replace('{"n": 6}', '{"name": "vast", "n": 1 << 48}'))
        error = self.refuse(Call, self.referee)
        self.assertEqual(error.kind, "out_of_memory")
        self.assertRegex(
            error.message, "case vast does not fit cpu: it asked for .*bytes.* free .*make the case smaller"
        )

    def test_the_referee_goes_on_after_an_error(self):
        self.refused(GOOD.replace("return x + 1", "return x + unknown"))
        self.open(GOOD)
        call = Call(self.referee)
        self.assert_passed(call.compare([call.arguments[0] + 1]), "tolerance")


if __name__ == "__main__":
    unittest.main()
