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
from kernelbrain_harness import poison, readiness  # noqa: E402


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

    def reserve(self, free, sizes, **plan):
        plan = {"repeat": 3, "keep": 0, "flush_bytes": 0, **plan}
        with mock.patch.object(torch.cuda, "mem_get_info", lambda _device: (free, 1 << 40)):
            return readiness.reserve("cpu", sizes, plan)

    def test_memory_is_reserved_as_long_as_there_is_enough_for_others(self):
        needed = 5 * 1024 + 200  # three results, two spare blocks
        self.assertTrue(self.reserve(4 * needed, [1000], flush_bytes=200))
        self.assertFalse(self.reserve(4 * needed - 4, [1000], flush_bytes=200))
        self.assertFalse(self.reserve(4 * needed, [1000], flush_bytes=200, keep=1), "and copies of results")
        self.assertTrue(self.reserve(1 << 20, [0, 16]))

    def test_fewer_results_stay_alive_where_each_is_large(self):
        self.assertEqual(readiness.kept_alive([1 << 20], 10), 8)
        self.assertEqual(readiness.kept_alive([1 << 20], 3), 3)
        self.assertEqual(readiness.kept_alive([3 << 30], 10), 1)
        self.assertEqual(readiness.kept_alive([], 10), 8)


class Poison(unittest.TestCase):
    """What torch's allocator could hand out, from its own account of what it keeps."""

    MIB = 1 << 20

    def at_hand(self, size, *free, kind="large", device=0):
        blocks = [{"size": block, "state": "inactive"} for block in free]
        blocks.append({"size": 64 * self.MIB, "state": "active_allocated"})
        return poison.blocks_at_hand([{"device": device, "segment_type": kind, "blocks": blocks}], 0, size)

    def test_a_block_that_is_kept_is_cut_as_long_as_enough_is_left(self):
        self.assertEqual(self.at_hand(8 * self.MIB, 24 * self.MIB), 3)
        self.assertEqual(self.at_hand(8 * self.MIB, 9 * self.MIB), 1, "a rest of one MiB goes with the block")
        self.assertEqual(self.at_hand(8 * self.MIB, 7 * self.MIB), 0)
        self.assertEqual(self.at_hand(8 * self.MIB - 100, 16 * self.MIB), 2, "sizes are rounded up")

    def test_small_blocks_and_those_of_other_devices_are_apart(self):
        self.assertEqual(self.at_hand(1000, 2 * self.MIB), 0)
        self.assertEqual(self.at_hand(1000, 2 * self.MIB, kind="small"), 2048)
        self.assertEqual(self.at_hand(8 * self.MIB, 24 * self.MIB, device=1), 0)


if __name__ == "__main__":
    unittest.main()
