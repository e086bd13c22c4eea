"""Which shared buffers a candidate's process keeps open."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import conversation  # noqa: E402, F401 (makes the harness importable)
from kernelbrain_harness import buffers, calling  # noqa: E402


class Memory(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.exporter = buffers.FileExporter(folder.name)
        self.memory = calling.Memory("cpu")

    def export(self, number):
        return self.exporter.allocate(64).describe(number)

    def is_open(self, description):
        return description["path"] in self.memory._open

    def test_what_a_call_does_not_need_is_closed(self):
        first, second = self.export(0), self.export(1)
        self.memory.use([first])
        self.memory.use([second])
        self.assertEqual([self.is_open(it) for it in (first, second)], [False, True])

    def test_what_is_held_stays_open_and_is_known_as_shared_memory(self):
        held, other = self.export(7), self.export(8)
        self.memory.hold([held])
        address = self.memory._open[held["path"]].memory.data_ptr()
        self.memory.use([other])
        self.assertTrue(self.is_open(held) and self.is_open(other))
        self.assertEqual(self.memory.buffer_at(address, address + 4), 7)
        self.memory.use([])
        self.assertEqual([self.is_open(it) for it in (held, other)], [True, False])
        self.memory.close()
        self.assertFalse(self.is_open(held))


if __name__ == "__main__":
    unittest.main()
