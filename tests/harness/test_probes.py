"""Inputs beyond the contract's own: what is asked, who passes, who does not."""

import unittest

import torch
from conversation import Call, Conversation, Refused

SOFTMAX = """
    import torch
    CASES = [{"rows": 4, "cols": 128}]
    TOLERANCE = {"rtol": 1e-4, "atol": 1e-7}
    def make_inputs(device, seed, rows, cols):
        generator = torch.Generator(device=device).manual_seed(seed)
        return (torch.randn(rows, cols, generator=generator, device=device),)
    def reference(x):
        return torch.softmax(x, dim=-1)
    """

PRODUCT = """
    import torch
    CASES = [{"m": 32, "n": 32, "k": 32}]
    TOLERANCE = {"rtol": 5e-3, "atol": 5e-3}
    def make_inputs(device, seed, m, n, k):
        generator = torch.Generator(device=device).manual_seed(seed)
        return torch.randn(m, k, generator=generator), torch.randn(k, n, generator=generator) / k**0.5
    def reference(a, b):
        return a @ b
    """

MEAN = """
    import torch
    SMALL_SHAPES = [(2, 65536)]
    ODD_SHAPES = [(1, 64)]
    DTYPES = ["float32"]
    TOLERANCE = {"rtol": 1e-2, "atol": 2e-2}
    def make_inputs(shape, dtype, device, seed):
        generator = torch.Generator().manual_seed(seed)
        return (torch.randn(shape, generator=generator).to(device, dtype),)
    def reference(x):
        return x.mean(dim=-1)
    """

DIAGONAL = """
    import torch
    CASES = [{"rows": 4, "cols": 64}]
    TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}
    def make_inputs(device, seed, rows, cols):
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(rows, generator=generator), torch.randn(rows, cols, generator=generator)
    def reference(d, b):
        return torch.diag(d) @ b
    """


# As models make the tables of rotary embeddings: both halves alike.
ROTARY = """
    import torch
    CASES = [{"rows": 6, "cols": 32}]
    TOLERANCE = {"rtol": 1e-5, "atol": 1e-5}
    def make_inputs(device, seed, rows, cols):
        generator = torch.Generator().manual_seed(seed)
        angles = torch.outer(torch.arange(rows).float(), 0.5 ** torch.arange(cols // 2))
        angles = torch.cat([angles, angles], -1)
        return torch.randn(rows, cols, generator=generator), angles.cos(), angles.sin()
    def reference(x, cos, sin):
        left, right = x.chunk(2, -1)
        return x * cos + torch.cat([-right, left], -1) * sin
    """

QUANTISED = """
    import torch
    CASES = [{"rows": 4, "cols": 64}]
    TOLERANCE = {"int8": {"rtol": 0, "atol": 1}, "float32": {"rtol": 1e-5, "atol": 1e-6}}
    def make_inputs(device, seed, rows, cols):
        generator = torch.Generator().manual_seed(seed)
        return (torch.randn(rows, cols, generator=generator),)
    def reference(x):
        scale = x.abs().amax(-1, keepdim=True) / 127
        return (x / scale).round().to(torch.int8)
    """


class Probing(Conversation):
    def failed(self, contract, kernel):
        """Names of the probes, and of the unlisted sizes, that a kernel fails."""
        self.open(contract)
        asked = self.referee.ask("probes", case=0, seed=1)["probes"]
        questions = [(probe["name"], {"case": 0, "probe": probe["name"]}) for probe in asked]
        questions += [(size["name"], {"case": size["case"]}) for size in self.referee.ask("sizes")["cases"]]
        names = []
        for name, question in questions:
            try:
                call = Call(self.referee, seed=1, **question)
            except Refused as refused:
                self.assertIn(refused.kind, ("probe", "contract"))
                continue
            outputs = kernel(*[argument.clone() for argument in call.arguments])
            if not call.compare([outputs])["pass"]:
                names.append(name)
        return names


class Values(Probing):
    def test_the_reference_itself_passes_every_probe(self):
        for contract, kernel in (
            (SOFTMAX, lambda x: torch.softmax(x, -1)),
            (PRODUCT, torch.matmul),
            (MEAN, lambda x: x.mean(-1)),
            (DIAGONAL, lambda d, b: torch.diag(d) @ b),
        ):
            self.assertEqual(self.failed(contract, kernel), [])

    def test_rounding_inputs_to_tf32_is_forgiven_where_the_tolerance_allows_it(self):
        def tf32(tensor):
            return ((tensor.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)

        self.assertEqual(self.failed(PRODUCT, lambda a, b: tf32(a) @ tf32(b) if a.isfinite().all() else a @ b), [])

    def test_cutting_inputs_to_tf32_is_forgiven_whatever_the_seed(self):
        """What tensor cores do. In the product of two spikes the effects of small changes must not cancel."""

        def tf32(tensor):
            return (tensor.view(torch.int32) & ~0x1FFF).view(torch.float32)

        self.open(PRODUCT)
        for seed in range(1, 65):
            call = Call(self.referee, case=0, probe="spikes", seed=seed)
            a, b = (argument.clone() for argument in call.arguments)
            self.assertTrue(call.compare([tf32(a) @ tf32(b)])["pass"], f"seed {seed}")

    def test_half_precision_overflows_on_large_values(self):
        failed = self.failed(PRODUCT, lambda a, b: (a.half() @ b.half()).float())
        self.assertIn("large", failed)

    def test_a_softmax_without_its_maximum_overflows(self):
        failed = self.failed(SOFTMAX, lambda x: x.exp() / x.exp().sum(-1, keepdim=True))
        self.assertIn("large", failed)

    def test_a_variance_in_one_pass_is_lost_far_from_zero_and_one_in_two_is_not(self):
        contract = SOFTMAX.replace("torch.softmax(x, dim=-1)", "x.var(-1, unbiased=False)").replace("1e-7", "1e-5")
        self.assertEqual(self.failed(contract, lambda x: (x.square().mean(-1) - x.mean(-1).square())), ["far"])
        two = lambda x: (x - x.sum(-1, keepdim=True) * (1 / x.shape[-1])).square().sum(-1) / x.shape[-1]  # noqa: E731
        self.assertEqual(self.failed(contract, two), [])

    def test_zeros_are_no_mean(self):
        failed = self.failed(MEAN, lambda x: torch.zeros(x.shape[0]))
        self.assertIn("shifted", failed)
        self.assertIn("spikes", failed)

    def test_the_mean_of_every_fourth_value_misses_the_spikes(self):
        self.assertIn("spikes", self.failed(MEAN, lambda x: x[:, ::4].mean(-1)))


class Structure(Probing):
    def test_a_table_that_is_the_same_for_every_seed_is_not_torn_apart(self):
        def half(x, cos, sin):
            cos, sin, middle = cos[:, :16], sin[:, :16], 16
            left, right = x[:, :middle], x[:, middle:]
            return torch.cat([left * cos - right * sin, right * cos + left * sin], -1)

        self.assertEqual(self.failed(ROTARY, half), [])
        notes = self.referee.ask("probes", case=0, seed=1)["notes"]
        self.assertIn("argument 1, argument 2: the same for every seed, and so taken for a table", "; ".join(notes))

    def test_but_its_values_count(self):
        rows = torch.arange(6).float()
        angles = torch.outer(rows, 0.5 ** torch.arange(16))
        known = torch.cat([angles, angles], -1).cos()

        def remembers(x, cos, sin):
            left, right = x.chunk(2, -1)
            return x * (known if x.shape == known.shape else cos) + torch.cat([-right, left], -1) * sin

        self.assertIn("negated", self.failed(ROTARY, remembers))

    def test_a_weight_of_ones_is_no_table(self):
        weighted = SOFTMAX.replace("device=device),)", "device=device), torch.ones(cols))")
        weighted = weighted.replace("def reference(x):", "def reference(x, w):").replace("torch.softmax(x, dim=-1)", "w * torch.softmax(x, dim=-1)")
        self.assertIn("shifted", self.failed(weighted, lambda x, w: torch.softmax(x, -1)))

    def test_every_kind_is_asked_early(self):
        self.open(PRODUCT)
        kinds = [probe["kind"] for probe in self.referee.ask("probes", case=0, seed=1)["probes"]]
        self.assertEqual(kinds[:8], ["state", "state", *["values", "special", "state"] * 2])


class Integers(Probing):
    def test_a_tolerance_that_names_their_dtype_holds(self):
        def truncated(x):
            scale = x.abs().amax(-1, keepdim=True) / 127
            return (x / scale).nan_to_num().add(0.5).floor().to(torch.int8)

        def coarse(x):
            scale = x.abs().amax(-1, keepdim=True) / 127
            return ((x / scale).nan_to_num() / 4).round().mul(4).to(torch.int8)

        def one_off_without_the_nan(x):
            scale = x.nan_to_num(0.0).abs().amax(-1, keepdim=True) / 127
            return (x.nan_to_num(0.0) / scale).nan_to_num().floor().to(torch.int8)

        self.assertEqual(self.failed(QUANTISED, truncated), [])
        self.assertNotIn("nan 0", self.failed(QUANTISED, one_off_without_the_nan))
        self.assertIn("shifted", self.failed(QUANTISED, coarse))

    def test_what_follows_a_nan_may_be_any_integer_and_nothing_else_may(self):
        exact = QUANTISED.replace('"int8": {"rtol": 0, "atol": 1}, ', "")

        def ignores(x):
            scale = x.nan_to_num(0.0).abs().amax(-1, keepdim=True) / 127
            return (x / scale).nan_to_num().clamp(-128, 127).round().to(torch.int8)

        def spreads(x):
            answer = ignores(x)
            return torch.zeros_like(answer) if x.isnan().any() else answer

        self.assertNotIn("nan 0", self.failed(exact, ignores))
        self.assertIn("nan 0", self.failed(exact, spreads))


class Special(Probing):
    def test_nan_must_reach_what_depends_on_it(self):
        failed = self.failed(SOFTMAX, lambda x: torch.softmax(x.nan_to_num(), -1))
        self.assertIn("nan 0", failed)

    def test_who_passes_over_a_nan_is_wrong_and_accused_of_nothing(self):
        self.open(SOFTMAX)
        own = Call(self.referee, seed=1, case=0)
        self.assertTrue(own.compare([torch.softmax(own.arguments[0].clone(), -1)])["pass"])
        probe = Call(self.referee, seed=1, case=0, probe="nan 0")
        verdict = probe.compare([torch.softmax(probe.arguments[0].clone().nan_to_num(0.0), -1)])
        self.assertEqual((verdict["pass"], verdict["gate"]), (False, "correctness"))

    def test_nan_that_only_a_multiplication_by_zero_would_spread_may_stay_where_it_is(self):
        self.assertEqual(self.failed(DIAGONAL, lambda d, b: d[:, None] * b), [])


class Sizes(Probing):
    def test_a_size_that_is_not_listed_shows_a_tail_left_out(self):
        def whole_blocks(x):
            y, whole = torch.zeros_like(x), x.shape[1] // 64 * 64
            y[:, :whole] = torch.softmax(x, -1)[:, :whole]
            return y

        self.assertIn("rows=5,cols=129", self.failed(SOFTMAX, whole_blocks))

    def test_the_shorthand_form_binds_and_cases_do_not(self):
        for contract, binding in ((MEAN, True), (SOFTMAX, False)):
            self.open(contract)
            sizes = self.referee.ask("sizes")["cases"]
            self.assertTrue(sizes)
            self.assertEqual({size["binding"] for size in sizes}, {binding})
        self.assertEqual(sizes[0]["name"], "rows=5,cols=129")

    def test_the_sizes_that_the_contract_itself_calls_odd_come_first(self):
        self.open(MEAN)
        self.assertEqual(self.referee.ask("sizes")["cases"][0]["name"], "1x64")


class Memory(Conversation):
    def test_an_earlier_answer_is_named_as_such(self):
        self.open(SOFTMAX)
        call = Call(self.referee, seed=1)
        kept = torch.softmax(call.arguments[0], -1)
        self.assertTrue(call.compare([kept])["pass"])
        verdict = Call(self.referee, seed=2).compare([kept])
        self.assertEqual(verdict["gate"], "integrity")
        self.assertIn("returned the same output for two different inputs", verdict["reason"])

    def test_an_answer_that_was_renewed_in_part_is_named_as_such(self):
        self.open(SOFTMAX)
        call = Call(self.referee, seed=1)
        kept = torch.softmax(call.arguments[0], -1)
        call.compare([kept])
        later = Call(self.referee, seed=2)
        kept[:1] = torch.softmax(later.arguments[0], -1)[:1]
        self.assertIn("in 384 of 512 elements what it had returned", later.compare([kept])["reason"])

    def test_probes_of_one_case_share_their_memory(self):
        self.open(SOFTMAX)
        places = set()
        for probe in (None, "rolled", "middle"):
            call = Call(self.referee, seed=1, probe=probe)
            places.add(tuple(buffer["path"] for buffer in call.inputs["buffers"]))
        self.assertEqual(len(places), 1)

    def test_the_middle_changes_and_the_ends_do_not(self):
        self.open(SOFTMAX)
        own = Call(self.referee, seed=1).arguments[0].clone()
        changed = Call(self.referee, seed=1, probe="middle").arguments[0]
        self.assertTrue(torch.equal(own.view(-1)[:16], changed.view(-1)[:16]))
        self.assertTrue(torch.equal(own.view(-1)[-16:], changed.view(-1)[-16:]))
        self.assertFalse(torch.equal(own, changed))


class Limits(Conversation):
    def test_a_reference_that_refuses_an_input_makes_no_probe(self):
        self.open(SOFTMAX.replace("def reference(x):", "def reference(x):\n        assert x.abs().max() < 6"))
        with self.assertRaises(Refused) as refused:
            Call(self.referee, seed=1, probe="spikes")
        self.assertEqual(refused.exception.kind, "probe")

    def test_a_comparison_of_the_contracts_own_is_asked_for_no_other_scale(self):
        self.open(SOFTMAX + "\n    def compare(answer, expected):\n        return True\n")
        asked = self.referee.ask("probes", case=0, seed=1)
        self.assertEqual({probe["kind"] for probe in asked["probes"]}, {"state"})
        self.assertIn("compares answers by itself", asked["notes"][0])


if __name__ == "__main__":
    unittest.main()
