"""What of a calibration needs no GPU: its kernels in the interpreter, its budget, its refusals."""

import json
import socket
import subprocess
import sys
import unittest

import conversation
import torch
from kernelbrain_harness import calibration, calibration_kernels


class Kernels(unittest.TestCase):
    def test_reading_once_reads_every_element(self):
        source, sink = torch.randn(4 * 128), torch.empty(4)
        calibration_kernels.read_once[(4,)](source, sink, BLOCK=128)
        torch.testing.assert_close(sink, source.view(4, 128).sum(dim=1))

    def test_reading_again_stays_within_the_cached_blocks(self):
        source, sink = torch.ones(8 * 128), torch.empty(3)
        source[6 * 128 :] = float("nan")  # beyond what may be read
        calibration_kernels.read_again[(3,)](source, sink, 6, 5, BLOCK=128)
        self.assertEqual(sink.tolist(), [5 * 128.0] * 3)

    def test_the_empty_kernel_leaves_memory_alone(self):
        pointer = torch.zeros(1)
        calibration_kernels.do_nothing[(1,)](pointer)
        self.assertEqual(pointer.item(), 0)


class Steps(unittest.TestCase):
    def test_a_step_that_cannot_be_is_skipped_with_its_reason_and_the_rest_is_measured(self):
        def absent(_):
            raise calibration.Skip("the device has no FP8 units")

        def broken(_):
            raise RuntimeError("CUBLAS_STATUS_NOT_SUPPORTED\nwith a long trace")

        steps = [("copy", lambda _: 4250.0), ("fp8", absent), ("int8", broken), ("read", lambda _: 4500.0)]
        values, skipped = calibration.measure(steps, calibration.Budget(10, now=lambda: 0), most=1)
        self.assertEqual(values, {"copy": 4250.0, "read": 4500.0})
        self.assertEqual(skipped["fp8"], "the device has no FP8 units")
        self.assertEqual(skipped["int8"], "RuntimeError: CUBLAS_STATUS_NOT_SUPPORTED")

    def test_time_is_shared_out_and_what_it_does_not_reach_is_named(self):
        clock = [0.0]
        given = []

        def step(seconds):
            given.append(seconds)
            clock[0] += 4
            return 1.0

        names = ["copy", "bf16", "read"]
        budget = calibration.Budget(6, now=lambda: clock[0])
        values, skipped = calibration.measure([(name, step) for name in names], budget, most=0.9)
        self.assertEqual(list(values), ["copy", "bf16"])
        self.assertEqual(given, [0.9, 0.5])
        self.assertIn("time ran out", skipped["read"])

    def test_formats_that_a_device_lacks_are_not_tried(self):
        for precision, capability in (("tf32", (7, 5)), ("bf16", (7, 5)), ("fp8", (8, 0)), ("int8", (7, 0))):
            with self.assertRaises(calibration.Skip):
                calibration._products("cpu", capability, precision, 64)

    def test_every_format_has_products_of_the_library(self):
        for precision in calibration._FORMATS:
            if precision == "fp8":
                continue  # the CPU's library has none of this layout
            for call in calibration._products("cpu", (9, 0), precision, 32):
                call()


class Process(unittest.TestCase):
    def test_without_cuda_it_says_so(self):
        ours, theirs = socket.socketpair()
        script = [sys.executable, "-I", str(conversation.HARNESS / "calibrate.py")]
        process = subprocess.Popen(script, stdin=theirs, stdout=subprocess.DEVNULL, env={"CUDA_VISIBLE_DEVICES": ""})
        theirs.close()
        request = {"id": 1, "op": "calibrate", "device": "cuda:0", "seconds": 8, "thorough": False}
        ours.sendall(json.dumps(request).encode() + b"\n")
        with ours.makefile("r") as stream:
            answer = json.loads(stream.readline())
        self.assertEqual(answer["error"]["kind"], "device")
        ours.close()
        self.assertEqual(process.wait(timeout=60), 0)


if __name__ == "__main__":
    unittest.main()
