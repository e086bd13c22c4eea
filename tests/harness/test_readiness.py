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

    def segment(self, *free, device=0, stream=0, pool=(0, 0)):
        blocks = [{"size": size, "state": "inactive"} for size in free]
        blocks.append({"size": 64 * self.MIB, "state": "active_allocated"})
        return {"device": device, "stream": stream, "segment_pool_id": pool, "blocks": blocks}

    def test_every_piece_that_could_become_an_output_is_found_the_largest_first(self):
        segments = [self.segment(9 * self.MIB, 7 * self.MIB), self.segment(24 * self.MIB)]
        self.assertEqual(poison.free_pieces(segments, 0, 0, 8 * self.MIB), [24 * self.MIB, 9 * self.MIB])
        self.assertEqual(poison.free_pieces([self.segment(512)], 0, 0, 100), [512], "sizes are rounded up")
        self.assertEqual(poison.free_pieces([self.segment(512)], 0, 0, 600), [])

    def test_what_this_stream_cannot_get_is_left_alone(self):
        others = [self.segment(self.MIB, device=1), self.segment(self.MIB, stream=7), self.segment(self.MIB, pool=(0, 1))]
        self.assertEqual(poison.free_pieces(others, 0, 0, 512), [])

    def test_with_blocks_enough_nothing_more_is_taken_from_the_driver(self):
        """Against an allocator that keeps what it has got, for two outputs of one size and a smaller one."""
        keeper = Keeper()
        fakes = {
            "_filled": keeper.allocate,
            "_snapshot": lambda: [self.segment(*keeper.free)],
            "_place": lambda device: (0, 0),
        }
        taken = []
        with mock.patch.multiple(poison, **fakes), mock.patch.object(torch.cuda, "synchronize", lambda _: keeper.release()):
            for _ in range(4):
                poison.poison_freed_blocks("cuda:0", [4096, 4096, 1024], 3)
                taken.append(keeper.taken)
        self.assertEqual(taken, [9, 9, 9, 9])
        self.assertEqual(sorted(keeper.free), [1024] * 3 + [4096] * 6)


class Keeper:
    """Hands out the smallest free piece that is large enough, whole, or takes a new one."""

    def __init__(self):
        self.free, self.held, self.taken = [], [], 0

    def allocate(self, size, _device):
        fitting = [piece for piece in self.free if piece >= size]
        if fitting:
            self.free.remove(min(fitting))
        else:
            self.taken += 1
        self.held.append(min(fitting, default=size))
        return object()

    def release(self):
        self.free += self.held
        self.held = []


if __name__ == "__main__":
    unittest.main()
