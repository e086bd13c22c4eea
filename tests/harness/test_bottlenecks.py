"""The kernels with planted bottlenecks compute what their contracts say, in the interpreter."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

KERNELS = sorted((pathlib.Path(__file__).parents[1] / "gpu" / "bottlenecks").glob("*.py"))

# In a process of its own: Triton decides at its import whether it interprets.
CHECK = """
import importlib.util, json, sys, torch
wrong = []
for path in sys.argv[1:]:
    spec = importlib.util.spec_from_file_location("planted", path)
    planted = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(planted)
    for case in planted.SMALL_CASES:
        inputs = planted.make_inputs("cpu", 1, **{k: v for k, v in case.items() if k != "name"})
        given, wanted = planted.kernel_function(*inputs), planted.reference(*inputs)
        if given.dtype != wanted.dtype or not torch.allclose(given, wanted, rtol=1e-4, atol=1e-4):
            wrong.append(path)
print(json.dumps(wrong))
"""


class PlantedBottlenecks(unittest.TestCase):
    def test_there_are_ten_kinds_of_them_and_each_kernel_is_right(self):
        expected = {line for path in KERNELS for line in path.read_text().splitlines() if line.startswith("EXPECTED")}
        self.assertEqual(len(expected), 10)
        ran = subprocess.run(
            [sys.executable, "-c", CHECK, *KERNELS],
            env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True,
        )
        self.assertEqual(ran.stderr, "")
        self.assertEqual(json.loads(ran.stdout), [])


if __name__ == "__main__":
    unittest.main()
