"""Bursts of timed calls: what they run on, what is kept of them, and what cannot hide in them. On the CPU."""
import pathlib
import sys
import unittest

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from zygote_host import Case, Host, NATIVE, Refused  # noqa: E402

host = None


def setUpModule():
    global host
    host = Host()


def tearDownModule():
    host.close()


def plan(**fields):
    return {"warmup": 0, "repeat": 4, "keep": 4, "enough_us": 60e6, "flush_bytes": 0, "wait_us": 0, **fields}


class Bursts(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.values = [torch.randn(40, 50) for _ in range(3)]

    def candidate(self, source):
        child = host.candidate("import torch\n" + source)
        self.addCleanup(child.close)
        return child

    def cases(self, **fields):
        return [Case(host, [x], [x], **fields) for x in self.values]

    def burst(self, child, cases, call=NATIVE, **fields):
        timing = plan(**fields)
        ready = child.ask("ready", sets=[case.request() for case in cases], call=call, timing=timing)
        return ready, child.ask("time", call=call, timing=timing)

    def deliver(self, child, cases, kept, call=NATIVE):
        case = cases[kept["set"]]
        answer = child.ask("deliver", number=kept["call"], inputs=case.request(), call=call)
        return case.read(case.outputs[0]).clone(), answer

    def test_calls_take_the_sets_in_turn_and_every_kept_answer_is_that_of_its_own_set(self):
        child, cases = self.candidate("def kernel_function(x): return x * 2\n"), self.cases()
        ready, timed = self.burst(child, cases, repeat=3)
        self.assertIsNone(ready["host_us"], "nothing was to be warmed up")
        self.assertEqual(timed["kept"], [{"call": at, "set": at} for at in range(3)])
        self.assertEqual((len(timed["device_us"]), len(timed["tail_us"])), (3, 3))
        for kept in timed["kept"]:
            output, answer = self.deliver(child, cases, kept)
            torch.testing.assert_close(output, self.values[kept["set"]] * 2)
            self.assertEqual(answer["returned"][0]["shape"], [40, 50])

    def test_more_calls_than_sets_go_round_and_only_some_are_kept(self):
        child, cases = self.candidate("def kernel_function(x): return x + 1\n"), self.cases()
        drawn = set()
        for _ in range(20):
            _, timed = self.burst(child, cases, repeat=9, keep=2)
            self.assertEqual(len(timed["kept"]), 2)
            self.assertTrue(all(kept["set"] == kept["call"] % 3 for kept in timed["kept"]))
            drawn |= {kept["call"] for kept in timed["kept"]}
            output, _ = self.deliver(child, cases, timed["kept"][0])
            torch.testing.assert_close(output, self.values[timed["kept"][0]["set"]] + 1)
        self.assertGreater(len(drawn), 4, "drawn from all calls")

    def test_an_answer_that_comes_with_the_next_call_is_not_in_the_copy(self):
        child = self.candidate(
            """
late = []
def kernel_function(x):
    for out, value in late:
        out.copy_(value * 2)
    out = torch.zeros_like(x)
    late[:] = [(out, x)]
    return out
"""
        )
        cases = self.cases()
        _, timed = self.burst(child, cases, repeat=3)
        output, _ = self.deliver(child, cases, timed["kept"][1])
        self.assertTrue((output == 0).all(), "as it was right after the call")

    def test_an_answer_that_is_overwritten_later_is_kept_as_it_was(self):
        child = self.candidate(
            """
kept = []
def kernel_function(x):
    kept.append(torch.empty_like(x)) if not kept else None
    return torch.mul(x, 3, out=kept[0])
"""
        )
        cases = self.cases()
        _, timed = self.burst(child, cases, repeat=3)
        for kept in timed["kept"]:
            output, _ = self.deliver(child, cases, kept)
            torch.testing.assert_close(output, self.values[kept["set"]] * 3)

    def test_a_call_that_writes_to_its_input_finds_it_as_it_was(self):
        call = {**NATIVE, "mutates": [0]}
        child = self.candidate("def kernel_function(x):\n    x.mul_(2)\n    return x\n")
        cases = [Case(host, [x], [x], mutated=[x]) for x in self.values]
        child.ask("run", inputs=Case(host, [self.values[0]], [self.values[0]], mutated=[self.values[0]]).request(), call=call)
        sets = [case.request() for case in cases]
        self.assertGreater(child.ask("ready", sets=sets, call=call, timing=plan(warmup=3))["host_us"], 0)
        for case, x in zip(cases, self.values):
            case.read(case.arguments[0]["tensor"]).copy_(x)
        _, timed = self.burst(child, cases, call, repeat=9)
        for kept in timed["kept"]:
            output, answer = self.deliver(child, cases, kept, call)
            torch.testing.assert_close(output, self.values[kept["set"]] * 2)
            torch.testing.assert_close(cases[kept["set"]].read(cases[kept["set"]].mutated[0]), output)
            self.assertEqual(answer["returned"][0]["alias"], {"argument": 0})

    def test_a_subclass_that_computes_when_it_is_looked_at_is_refused_in_a_burst(self):
        child = self.candidate(
            """
class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, kinds, args=(), kwargs=None):
        raise SystemExit("looked at")
def kernel_function(x):
    return torch.zeros_like(x).as_subclass(Lazy)
"""
        )
        cases = self.cases()
        child.ask("ready", sets=[case.request() for case in cases], call=NATIVE, timing=plan())
        with self.assertRaises(Refused) as caught:
            child.ask("time", call=NATIVE, timing=plan())
        self.assertIn("must be a plain torch.Tensor", caught.exception.message)

    def test_a_list_that_fills_itself_when_it_is_read_is_no_answer(self):
        child = self.candidate(
            """
class Late(list):
    def __iter__(self):
        return iter([self.x * 2])
def kernel_function(x):
    late = Late()
    late.x = x
    return late
"""
        )
        cases = self.cases()
        child.ask("ready", sets=[case.request() for case in cases], call=NATIVE, timing=plan())
        with self.assertRaises(Refused) as caught:
            child.ask("time", call=NATIVE, timing=plan())
        self.assertIn("which is no plain list", caught.exception.message)

    def test_what_a_burst_takes_without_its_calls_is_less_and_can_be_asked_for(self):
        import time

        child = self.candidate("import time\ndef kernel_function(x):\n    time.sleep(0.05)\n    return x * 2\n")
        cases = self.cases()
        started = time.monotonic()
        self.burst(child, cases, repeat=6)
        whole = time.monotonic() - started
        started = time.monotonic()
        self.assertEqual(child.ask("pace", timing=plan(repeat=6)), {})
        self.assertLess(time.monotonic() - started, whole)
        kept = child.ask("time", call=NATIVE, timing=plan(repeat=3))["kept"]
        child.ask("pace", timing=plan(repeat=3))
        output, _ = self.deliver(child, cases, kept[0])
        torch.testing.assert_close(output, self.values[kept[0]["set"]] * 2, msg="pacing left what was kept alone")

    def test_after_a_rest_everything_is_made_anew(self):
        child, cases = self.candidate("def kernel_function(x): return x * 2\n"), self.cases()
        self.burst(child, cases)
        self.assertEqual(child.ask("rest"), {})
        with self.assertRaisesRegex(Refused, "ready"):
            child.ask("time", call=NATIVE, timing=plan())
        _, timed = self.burst(child, cases)
        output, _ = self.deliver(child, cases, timed["kept"][0])
        torch.testing.assert_close(output, self.values[timed["kept"][0]["set"]] * 2)

    def test_only_what_was_kept_can_be_delivered_and_nothing_is_timed_that_is_not_ready(self):
        child, cases = self.candidate("def kernel_function(x): return x\n"), self.cases()
        with self.assertRaisesRegex(Refused, "ready"):
            child.ask("time", call=NATIVE, timing=plan())
        self.burst(child, cases, repeat=3, keep=0)
        with self.assertRaisesRegex(Refused, "was not kept"):
            self.deliver(child, cases, {"call": 1, "set": 1})


if __name__ == "__main__":
    unittest.main()
