"""The kernels under examples/ are right on the cases that their contracts have for the interpreter."""

import importlib
import importlib.util
import pathlib
import sys
import unittest

import torch
from conversation import REPOSITORY, Call, Conversation

EXAMPLES = REPOSITORY / "examples"


def load(path):
    """The file of a candidate as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{path.parent.name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kernel_function(example):
    return load(EXAMPLES / example / "input_kernel.py").kernel_function


class Examples(Conversation):
    def assert_right(self, test, entry, seeds=(1, 2)):
        contract = self.referee.open(test)["contract"]
        for case in range(len(contract["cases"])):
            for seed in seeds:
                call = Call(self.referee, case, seed)
                verdict = self.answer(call, contract, entry)
                self.assertTrue(verdict["pass"], (contract["cases"][case]["name"], verdict))
            mutants = self.referee.ask("audit", case=case, seed=1)["mutants"]
            self.assertEqual([m for m in mutants if m["passed"]], [])
        return contract

    def answer(self, call, contract, entry):
        arguments = list(call.arguments)
        weights = {name: value for name, value in call.parameters.items() if isinstance(value, torch.Tensor)}
        named = {name.split(".")[-1]: value for name, value in weights.items()}
        for at in contract["grads"]:
            arguments[at].requires_grad_()
        output = entry(*arguments, **named)
        if not contract["grads"]:
            return call.compare([output])
        output.backward(call.tensor(call.inputs["cotangents"][0]))
        gradients = [arguments[at].grad for at in contract["grads"]]
        for at in contract["grads"]:
            arguments[at].requires_grad_(False)
        return call.compare([output], gradients)

    def test_softmax(self):
        contract = self.assert_right(EXAMPLES / "softmax" / "test.py", kernel_function("softmax"))
        self.assertEqual(contract["kind"], "native")

    def test_shapes(self):
        contract = self.assert_right(EXAMPLES / "shapes" / "test.py", kernel_function("shapes"))
        self.assertEqual([case["name"] for case in contract["cases"]], ["4x300", "3x64"])

    def test_gradients(self):
        contract = self.assert_right(EXAMPLES / "gradients" / "test.py", kernel_function("gradients"))
        self.assertEqual(contract["grads"], [0, 1])

    def test_kernelbench(self):
        contract = self.assert_right(EXAMPLES / "kernelbench" / "test.py", kernel_function("kernelbench"))
        self.assertEqual(contract["kind"], "kernel_bench")

    def test_gpumode(self):
        contract = self.assert_right(EXAMPLES / "gpumode", load(EXAMPLES / "gpumode" / "submission.py").custom_kernel)
        self.assertEqual(contract["kind"], "gpu_mode")

    def test_in_tree(self):
        root = EXAMPLES / "in_tree"
        sys.path.insert(0, str(root))
        self.addCleanup(sys.path.remove, str(root))
        entry = importlib.import_module("tinynorm.kernels.rms_norm").rms_norm
        self.assert_right(root / "contracts" / "rms_norm.py", entry)

    def test_every_example_is_in_the_table(self):
        table = (EXAMPLES / "README.md").read_text()
        folders = [path.name for path in pathlib.Path(EXAMPLES).iterdir() if path.is_dir()]
        self.assertEqual([name for name in folders if f"]({name})" not in table], [])


if __name__ == "__main__":
    unittest.main()
