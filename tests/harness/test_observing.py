"""Writing outside of tensors, in shared buffers and in a candidate's own, and what else is observed."""
import pathlib
import sys
import unittest

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import conversation  # noqa: E402
from kernelbrain_harness import observing, redzones  # noqa: E402
from zygote_host import Case, Host  # noqa: E402

CONTRACT = """
    import torch
    CASES = [{"name": "one", "n": 5}]
    def make_inputs(*, n, device, seed):
        generator = torch.Generator(device).manual_seed(seed)
        return torch.randn(n, generator=generator, device=device), torch.randn(3, n, generator=generator, device=device)
    def reference(x, y):
        return x * 2
"""

SHIFTED = """
import torch
import triton
import triton.language as tl

@triton.jit
def double(x, y, n, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)
    tl.store(y + at + SHIFT, 7.0, mask=at < 1)

def kernel_function(x):
    y = torch.empty_like(x)
    double[(1,)](x, y, x.numel(), SHIFT=WHERE, BLOCK=8)
    return y
"""


class SharedBuffers(conversation.Conversation):
    def call(self):
        self.open(CONTRACT)
        return conversation.Call(self.referee)

    def test_an_answer_within_bounds_passes(self):
        call = self.call()
        self.assert_passed(call.compare([call.arguments[0] * 2]), "tolerance")

    def test_writing_around_an_input_is_found_with_its_place(self):
        for offset, words in ((20, r"argument 0: 1 bytes around it changed, the nearest 1 bytes past its end"),
                              (23, "the nearest 4 bytes past its end"), (-3, "the nearest 3 bytes before its start")):
            call = self.call()
            at = call.inputs["arguments"][0]["tensor"]
            call._memory[at["buffer"]][at["offset"] + offset] = 7
            self.assert_rejected(call.compare([call.arguments[0] * 2]), words, "integrity")

    def test_the_next_inputs_find_their_red_zones_mended(self):
        call = self.call()
        at = call.inputs["arguments"][1]["tensor"]
        call._memory[at["buffer"]][0] = 7
        self.assert_rejected(call.compare([call.arguments[0] * 2]), "argument 1", "integrity")
        again = conversation.Call(self.referee)
        self.assert_passed(again.compare([again.arguments[0] * 2]), "tolerance")

    def test_around_an_answer_too(self):
        call = self.call()
        (at,) = call.inputs["outputs"]
        call._memory[at["buffer"]][at["offset"] + 4 * 5] = 7
        self.assert_rejected(call.compare([call.arguments[0] * 2]), "buffer for an answer", "integrity")

    def test_what_lies_around_a_tensor_is_no_number(self):
        call = self.call()
        at = call.inputs["arguments"][0]["tensor"]
        beyond = call._memory[at["buffer"]][at["offset"] + 4 * 5 :][:64].view(torch.float32)
        self.assertTrue(beyond.isnan().all())

    def test_a_checksum_tells_answers_apart(self):
        call = self.call()
        sums = []
        for answer in (call.arguments[0] * 2, call.arguments[0] * 2, call.arguments[0] * 3):
            call.write("outputs", [answer])
            sums.append(self.referee.ask("checksum", case=0)["checksum"])
        self.assertEqual(sums[0], sums[1])
        self.assertNotEqual(sums[0], sums[2])
        self.assertIsNone(self.referee.ask("memory")["free_bytes"])


class OwnAllocations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.host = Host()

    @classmethod
    def tearDownClass(cls):
        cls.host.close()

    def bounds(self, shift):
        child = self.host.candidate(SHIFTED.replace("WHERE", str(shift)))
        self.addCleanup(child.close)
        x = torch.arange(5.0)
        case = Case(self.host, [x], [x])
        return child.ask("observe", inputs=case.request(), what="bounds")

    def test_a_write_past_the_end_of_an_output_is_found(self):
        self.assertEqual(self.bounds(0), {"allocations": 1, "breach": None})
        self.assertRegex(self.bounds(5)["breach"], r"empty_like, shape \[5\]\): 4 bytes .* the nearest 1 bytes past its end")
        self.assertRegex(self.bounds(-2)["breach"], "the nearest 5 bytes before its start")

    def test_guarded_tensors_are_what_was_asked_for(self):
        with observing.Guarding("cpu") as guarding:
            made = [torch.empty(3, 4, dtype=torch.bfloat16), torch.zeros(2, 5), torch.full((3,), 2, dtype=torch.int8),
                    torch.empty_strided((2, 3), (1, 2)), torch.ones(4, dtype=torch.bool), torch.empty(0)]
        self.assertEqual(len(guarding.zones), 5)
        self.assertEqual([tuple(t.stride()) for t in made[:4]], [(4, 1), (5, 1), (1,), (1, 2)])
        self.assertTrue((made[1] == 0).all() and (made[2] == 2).all() and made[4].all())
        self.assertTrue(all(t.data_ptr() % 16 == 0 for t in made[:5]))
        self.assertIsNone(redzones.breach(guarding.zones))
        made[0].as_strided((1,), (1,), made[0].storage_offset() + 12).zero_()
        self.assertIn("shape [3, 4]", redzones.breach(guarding.zones))


if __name__ == "__main__":
    unittest.main()
