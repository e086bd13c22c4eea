"""What expert tasks show a model is right: it computes what it should, and compiles for compute capability 9.0."""
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import exemplars  # noqa: E402
import test_zygote_compile as offline  # noqa: E402


def setUpModule():
    offline.setUpModule()


def tearDownModule():
    offline.tearDownModule()


class Exemplars(unittest.TestCase):
    def test_each_has_a_check(self):
        self.assertEqual(exemplars.names(), sorted(exemplars.CHECKS))

    def test_each_computes_what_it_should(self):
        done = subprocess.run(
            [sys.executable, "-B", exemplars.__file__],
            env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True, timeout=600,
        )
        self.assertEqual((done.returncode, done.stdout.strip()), (0, ""), done.stderr[-2000:])

    def test_each_compiles_without_spills(self):
        for name in exemplars.names():
            with self.subTest(name):
                child = offline.host.candidate(exemplars.source(name))
                try:
                    for shapes in exemplars.shapes(name):
                        arguments = [offline.tensor("bfloat16", *shape) for shape in shapes]
                        compiled = child.ask(
                            "compile", inputs=offline.inputs(*arguments), call=offline.NATIVE, capability=offline.HOPPER
                        )
                        self.assertIsNone(compiled["skipped"])
                        self.assertTrue(compiled["kernels"])
                        for facts in compiled["kernels"]:
                            self.assertEqual(facts["spills"], 0, facts)
                finally:
                    child.close()


if __name__ == "__main__":
    unittest.main()
