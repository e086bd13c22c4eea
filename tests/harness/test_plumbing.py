"""Wire, codec and buffers: what the referee and the candidate's process share."""

import math
import os
import socket
import tempfile
import threading
import unittest

import torch
from conversation import buffers, codec
from kernelbrain_harness import timing, wire


class Wires(unittest.TestCase):
    def setUp(self):
        ours, theirs = socket.socketpair()
        self.ours, self.theirs = wire.Wire(ours.detach()), theirs
        self.addCleanup(self.ours.close)
        self.addCleanup(self.theirs.close)

    def test_messages_come_out_as_they_went_in_however_they_are_cut(self):
        for piece in (b'{"id": 1, "te', b'xt": "a\\nb"}\n{"id"', b": 2}\n"):
            self.theirs.sendall(piece)
        self.assertEqual(self.ours.receive(), {"id": 1, "text": "a\nb"})
        self.assertEqual(self.ours.receive(), {"id": 2})
        self.theirs.shutdown(socket.SHUT_RDWR)
        self.assertIsNone(self.ours.receive())

    def test_descriptors_come_along(self):
        with tempfile.TemporaryFile() as file:
            socket.send_fds(self.theirs, [b'{"id": 1}\n'], [file.fileno()])
            self.ours.receive()
            (descriptor,) = self.ours.descriptors
            self.assertTrue(os.path.sameopenfile(descriptor, file.fileno()))
            os.close(descriptor)

    def test_a_line_without_end_is_refused(self):
        def flood():
            try:
                for _ in range(wire.REQUEST_BYTES // (1 << 16) + 2):
                    self.theirs.sendall(b"x" * (1 << 16))
            except OSError:
                pass

        thread = threading.Thread(target=flood, daemon=True)
        thread.start()
        with self.assertRaisesRegex(wire.Failure, "longer than"):
            self.ours.receive()

    def test_what_is_no_json_and_what_is_too_long_is_not_sent(self):
        self.assertRaises(ValueError, self.ours.send, {"error": math.nan})
        self.assertRaises(ValueError, self.ours.send, {"text": "x" * wire.ANSWER_BYTES})

    def test_operations_answer_and_fail_by_kind(self):
        def fail(request):
            raise wire.Failure("contract", "x" * 3000, "test.py", 3)

        self.theirs.sendall(b'{"id": 1, "op": "add", "n": 2}\n{"id": 2, "op": "fail"}\n{"id": 3, "op": "gone"}\n')
        self.theirs.shutdown(socket.SHUT_WR)
        wire.serve(self.ours, {"add": lambda request: {"n": request["n"] + 1}, "fail": fail})
        peer = wire.Wire(os.dup(self.theirs.fileno()))
        self.addCleanup(peer.close)
        self.assertEqual(peer.receive(), {"id": 1, "ok": {"n": 3}})
        error = peer.receive()["error"]
        self.assertEqual((error["kind"], error["file"], error["line"]), ("contract", "test.py", 3))
        self.assertLessEqual(len(error["message"]), wire.MESSAGE_CHARACTERS)
        self.assertRegex(peer.receive()["error"]["message"], "no operation 'gone'; known: add, fail")


class Arguments(unittest.TestCase):
    def test_there_and_back(self):
        value = [None, True, 3, 2.5, "text", -math.inf, torch.float16, (1, [2, {"x": (3,)}])]
        encoded = codec.encode_argument(value, None)
        self.assertEqual(codec.decode_argument(encoded, None), value)
        nan = codec.decode_argument(codec.encode_argument(math.nan, None), None)
        self.assertTrue(math.isnan(nan))

    def test_tensors_are_described_by_the_caller(self):
        tensors = [torch.ones(2), torch.zeros(3)]
        encoded = codec.encode_argument({"a": tensors}, lambda tensor: {"size": tensor.numel()})
        self.assertEqual(encoded, {"dict": {"a": {"list": [{"tensor": {"size": 2}}, {"tensor": {"size": 3}}]}}})

    def test_what_cannot_travel(self):
        self.assertRaisesRegex(TypeError, "type object", codec.encode_argument, [object()], None)
        self.assertRaisesRegex(TypeError, "strings as keys", codec.encode_argument, {1: 2}, None)


class Memory(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.exporter = buffers.exporter("cpu", folder.name)
        self.folder = folder.name

    def test_both_sides_see_the_same_bytes(self):
        ours = self.exporter.allocate(64)
        theirs = buffers.open_buffer(ours.describe(5), "cpu")
        description = codec.describe_tensor(5, torch.float32, [2, 3], [3, 1], offset=16)
        codec.view(theirs.memory, description).copy_(torch.arange(6.0).reshape(2, 3))
        self.assertEqual(codec.view(ours.memory, description).tolist(), [[0, 1, 2], [3, 4, 5]])

    def test_a_tensor_outside_its_buffer_is_refused(self):
        memory = self.exporter.allocate(64).memory
        for shape, stride, offset in (([17], [1], 0), ([4], [1], 52), ([2], [-1], 8), ([1], [1], -4)):
            description = codec.describe_tensor(0, torch.float32, shape, stride, offset)
            self.assertRaisesRegex(ValueError, "outside its buffer", codec.view, memory, description)

    def test_a_closed_buffer_leaves_no_file(self):
        buffer = self.exporter.allocate(64)
        self.assertEqual(len(os.listdir(self.folder)), 1)
        buffer.close()
        buffer.close()
        self.assertEqual(os.listdir(self.folder), [])

    def test_more_than_the_disk_holds(self):
        with self.assertRaises(buffers.OutOfMemory) as caught:
            self.exporter.allocate(1 << 55)
        self.assertEqual(caught.exception.wanted, 1 << 55)
        self.assertEqual(os.listdir(self.folder), [])


class Timing(unittest.TestCase):
    def test_warm_up_is_not_counted(self):
        calls = []
        times = timing.time_call(lambda: calls.append(1), "cpu", warmup=2, repeat=5, flush_bytes=0)
        self.assertEqual(len(calls), 7)
        self.assertEqual(len(times["device_us"]), 5)

    def test_a_clock_that_was_patched_afterwards_is_not_used(self):
        import time

        original, time.perf_counter_ns = time.perf_counter_ns, lambda: 0
        self.addCleanup(setattr, time, "perf_counter_ns", original)
        times = timing.time_call(lambda: sum(range(1000)), "cpu", warmup=0, repeat=3, flush_bytes=0)
        self.assertGreater(min(times["device_us"]), 0)


if __name__ == "__main__":
    unittest.main()
