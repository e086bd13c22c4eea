"""What is done before the GPU turn, with a driver that only notes what it is asked."""
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import conversation  # noqa: E402, F401 (makes the harness importable)
from kernelbrain_harness import readiness  # noqa: E402


class Readiness(unittest.TestCase):
    def test_a_binary_is_loaded_once_and_another_when_it_is_launched(self):
        asked = []

        def load_binary(*what):
            asked.append(what)
            return len(asked), *what

        utils = types.SimpleNamespace(load_binary=load_binary)
        driver = types.SimpleNamespace(active=types.SimpleNamespace(utils=utils))
        with tempfile.NamedTemporaryFile() as file, mock.patch.object(readiness, "driver", driver):
            file.write(b"binary")
            file.flush()
            readiness.load([["scale", file.name, 48]], "cuda:1")
        self.assertEqual(asked, [("scale", b"binary", 48, 1)])
        self.assertEqual(utils.load_binary("scale", b"binary", 48, 1)[0], 1)
        self.assertEqual(utils.load_binary("scale", b"other", 48, 1)[0], 2)
        self.assertEqual(len(asked), 2)

    def reserve(self, free, sizes, further):
        with mock.patch.object(torch.cuda, "mem_get_info", lambda _device: (free, 1 << 40)):
            return readiness.reserve("cpu", sizes, further)

    def test_memory_is_reserved_as_long_as_there_is_enough_for_others(self):
        self.assertTrue(self.reserve(4 * (3 * 1000 + 200), [1000], 200))
        self.assertFalse(self.reserve(4 * (3 * 1000 + 200) - 4, [1000], 200))
        self.assertTrue(self.reserve(1 << 20, [0, 16], 0))


if __name__ == "__main__":
    unittest.main()
