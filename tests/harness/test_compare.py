"""Verdicts on answers, right and wrong."""

import unittest

import torch
from conversation import Call, Conversation, describe

TEMPLATE = """
    import torch

    CASES = [{{}}]
    {settings}

    def make_inputs(device, seed):
        generator = torch.Generator(device=device).manual_seed(seed)
        return ({inputs},)

    def reference({names}):
        {reference}
"""
NORMAL = "torch.randn(4, 6, generator=generator, device=device)"


class Verdicts(Conversation):
    def call(self, reference, inputs=NORMAL, names="x", settings="TOLERANCE = {'rtol': 1e-3, 'atol': 1e-3}", seed=1):
        self.open(TEMPLATE.format(reference=reference, inputs=inputs, names=names, settings=settings))
        return Call(self.referee, seed=seed)


class Outputs(Verdicts):
    def test_a_right_answer_passes_with_its_error_in_units_of_the_tolerance(self):
        call = self.call("return 2 * x", settings="TOLERANCE = {'rtol': 0, 'atol': 1e-3}")
        verdict = call.compare([2 * call.arguments[0] + 4e-4])
        self.assert_passed(verdict, "tolerance")
        self.assertAlmostEqual(verdict["error"], 0.4, places=2)

    def test_a_wrong_element_is_named(self):
        call = self.call("return 2 * x")
        answer = 2 * call.arguments[0]
        answer[2, 3] = 100.0
        verdict = call.compare([answer])
        self.assert_rejected(
            verdict, r"output 0: 1 of 24 elements \(4.17 %\) are off .* 100 at \[2, 3\], expected -?\d"
        )

    def test_memory_that_was_never_written(self):
        call = self.call("return 2 * x")
        answer = 2 * call.arguments[0]
        answer[3, 4:] = float("nan")
        self.assert_rejected(
            call.compare([answer]), r"2 of 24 elements .* NaN where the reference has a number.*\[3, 4\]"
        )

    def test_an_output_that_was_not_copied_is_still_poisoned(self):
        call = self.call("return 2 * x")
        self.assert_rejected(call.ask_compare([describe(call.arguments[0])]), "24 of 24 elements .*100 %.* NaN")
        call = self.call("return x > 0")
        self.assert_rejected(call.ask_compare([describe(call.arguments[0] > 0)]), "24 of 24 elements")

    def test_number_of_outputs(self):
        call = self.call("return 2 * x, x.sum()")
        x = call.arguments[0]
        self.assert_passed(call.compare([2 * x, x.sum()]), "tolerance")
        self.assert_rejected(call.compare([2 * x]), "returned 1 tensor instead of 2")
        self.assert_rejected(call.compare([]), "returned 0 tensors instead of 2")

    def test_dtype(self):
        call = self.call("return 2 * x")
        self.assert_rejected(call.compare([(2 * call.arguments[0]).half()]), "dtype float16 instead of float32")

    def test_shape(self):
        call = self.call("return 2 * x")
        got = describe((2 * call.arguments[0]).T)
        self.assert_rejected(call.ask_compare([got]), r"shape \[6, 4\] instead of \[4, 6\]")

    def test_a_layout_that_is_neither_contiguous_nor_the_references(self):
        call = self.call("return 2 * x")
        answer = (2 * call.arguments[0]).T.contiguous().T
        self.assert_rejected(call.compare([answer]), r"stride \[1, 4\] instead of \[6, 1\]")

    def test_the_references_own_layout_and_a_contiguous_one_are_both_right(self):
        call = self.call("return (2 * x).T")
        answer = (2 * call.arguments[0]).T
        self.assert_passed(call.compare([answer]), "tolerance")
        self.assert_passed(call.compare([answer.contiguous()]), "tolerance")

    def test_an_answer_on_another_device(self):
        call = self.call("return 2 * x")
        got = dict(describe(2 * call.arguments[0]), device="meta")
        self.assert_rejected(call.ask_compare([got]), "lies on meta instead of cpu")

    def test_integers_and_bools_agree_exactly(self):
        call = self.call("return x.argmax(dim=1), x > 0")
        x = call.arguments[0]
        self.assert_passed(call.compare([x.argmax(dim=1), x > 0]), "exact")
        wrong = x.argmax(dim=1)
        wrong[1] += 1
        self.assert_rejected(call.compare([wrong, x > 0]), r"output 0: 1 of 4 elements .* at \[1\]")
        self.assert_rejected(call.compare([x.argmax(dim=1), x >= x]), "output 1: .* True at .* expected False")

    def test_infinities_must_be_the_same_ones(self):
        call = self.call("return x.clamp(min=0).log()")
        answer = call.arguments[0].clamp(min=0).log()
        self.assertTrue(answer.isinf().any())
        self.assert_passed(call.compare([answer]), "tolerance")
        self.assert_rejected(call.compare([-answer]), "are off")
        self.assert_rejected(call.compare([answer.clamp(min=-80)]), "are off .* expected -inf")

    def test_no_tolerance_at_all_means_equal(self):
        call = self.call("return 2 * x", settings="TOLERANCE = 0")
        self.assert_passed(call.compare([2 * call.arguments[0]]), "tolerance")
        self.assert_rejected(call.compare([2 * call.arguments[0] + 1e-6]), "are off")

    def test_empty_outputs(self):
        call = self.call("return x[:0]")
        self.assert_passed(call.compare([call.arguments[0][:0].clone()]), "tolerance")

    def test_narrow_and_complex_answers(self):
        call = self.call("return x.to(torch.float8_e4m3fn), torch.complex(x, -x)")
        x = call.arguments[0]
        self.assert_passed(call.compare([x.to(torch.float8_e4m3fn), torch.complex(x, -x)]), "tolerance")
        self.assert_rejected(
            call.compare([x.to(torch.float8_e4m3fn), torch.complex(x, x)]), r"output 1: .* at \[\d, \d\]"
        )

    def test_the_contracts_own_comparison_decides_when_it_has_one(self):
        settings = "compare = lambda output, expected: (output.sum() > 0, f'sum {output.sum():.0f}')"
        call = self.call("return 2 * x", settings=settings)
        verdict = call.compare([torch.ones(4, 6)])
        self.assert_passed(verdict, "contract")
        self.assertIsNone(verdict["error"])
        self.assert_rejected(call.compare([-torch.ones(4, 6)]), "rejects the answer: sum -24")

    def test_a_comparison_may_speak_by_assertion(self):
        call = self.call("return 2 * x", settings="compare = torch.testing.assert_close")
        self.assert_passed(call.compare([2 * call.arguments[0]]), "contract")
        self.assert_rejected(call.compare([3 * call.arguments[0]]), "Tensor-likes are not close")

    def test_a_tensor_of_many_pieces(self):
        size = (1 << 22) + 5
        call = self.call("return 2 * x", inputs=f"torch.randn({size}, generator=generator)")
        answer = 2 * call.arguments[0]
        self.assert_passed(call.compare([answer]), "tolerance")
        answer[-2] += 1
        self.assert_rejected(call.compare([answer]), rf"1 of {size} elements \(<0.01 %\) .* at \[{size - 2}\]")


class Inputs(Verdicts):
    TWO = f"{NORMAL}, {NORMAL}"

    def test_an_input_that_was_changed_is_named(self):
        call = self.call("return x + y", inputs=self.TWO, names="x, y")
        answer = call.arguments[0] + call.arguments[1]
        call.arguments[1][3, 5] += 1
        self.assert_rejected(call.compare([answer]), "argument 1 was changed by the call", "integrity")

    def test_swapping_two_values_of_an_input_is_a_change(self):
        call = self.call("return x + y", inputs=self.TWO, names="x, y")
        answer = call.arguments[0] + call.arguments[1]
        call.arguments[0][[0, 1]] = call.arguments[0][[1, 0]]
        self.assert_rejected(call.compare([answer]), "argument 0 was changed", "integrity")

    def test_an_output_that_is_memory_of_an_input(self):
        call = self.call("return x * 1")
        verdict = call.compare([call.arguments[0]], aliases={0: 0})
        self.assert_rejected(verdict, "output 0 is memory of argument 0", "integrity")

    def test_an_output_that_is_other_shared_memory(self):
        call = self.call("return x * 1")
        output = dict(describe(call.arguments[0]), alias={"buffer": 1})
        call.write("outputs", [call.arguments[0]])
        verdict = call.ask_compare([output])
        self.assert_rejected(verdict, "output 0 is memory of a buffer that the referee shares", "integrity")

    def test_a_view_is_right_where_the_reference_returns_one(self):
        call = self.call("return x.view(24)")
        self.assert_passed(call.compare([call.arguments[0].view(24)], aliases={0: 0}), "tolerance")

    def test_inputs_that_are_defined_to_be_overwritten(self):
        settings = "TOLERANCE = {'rtol': 1e-3, 'atol': 1e-3}; MUTATES = [0]"
        call = self.call("return x.add_(y)", inputs=self.TWO, names="x, y", settings=settings)
        answer = call.arguments[0] + call.arguments[1]
        call.arguments[0].copy_(answer)
        call.write("mutated", [answer])
        self.assert_passed(call.compare([answer], aliases={0: 0}), "tolerance")
        call.write("mutated", [answer + 1])
        self.assert_rejected(
            call.compare([answer], aliases={0: 0}), r"overwritten tensor 0 \(in the order of MUTATES\): .* are off"
        )

    def test_an_operation_that_only_overwrites(self):
        settings = "TOLERANCE = {'rtol': 1e-3, 'atol': 1e-3}; MUTATES = [0]"
        call = self.call("x.mul_(2)", settings=settings)
        self.assertEqual(call.inputs["outputs"], [])
        call.write("mutated", [2 * call.arguments[0]])
        self.assert_passed(call.compare([]), "tolerance")
        overwritten = dict(describe(call.arguments[0]), alias={"argument": 0})
        self.assert_passed(call.ask_compare([overwritten]), "tolerance")
        self.assert_rejected(call.ask_compare([describe(call.arguments[0])]), "returned 1 tensor instead of 0")

    def test_asking_about_inputs_that_are_not_out(self):
        call = self.call("return 2 * x", seed=1)
        Call(self.referee, seed=2)
        error = self.refuse(call.compare, [2 * call.arguments[0]])
        self.assertRegex(error.message, "inputs of case 0 with seed 1 are not out")


class Gradients(Verdicts):
    def test_gradients_are_compared_under_the_same_cotangents(self):
        settings = "TOLERANCE = {'rtol': 1e-3, 'atol': 1e-3}; GRADS = [0, 1]"
        call = self.call("return x * y", inputs=Inputs.TWO, names="x, y", settings=settings)
        x, y = call.arguments
        upstream = call.tensor(call.inputs["cotangents"][0])
        answer, right = (x * y).detach(), [upstream * y, upstream * x]
        self.assert_passed(call.compare([answer], right), "tolerance")
        verdict = call.compare([answer], [right[0], torch.zeros(4, 6)])
        self.assert_rejected(verdict, "the gradient of argument 1: .* are off")
        self.assert_rejected(call.compare([answer]), "no gradient for argument 0")


class Float64(Verdicts):
    SUM = "torch.randn(8, 20000, generator=generator, device=device)"

    def test_another_order_of_summation_passes_where_the_contract_is_silent(self):
        call = self.call("return x.sum(dim=1) * 1e-3", inputs=self.SUM, settings="")
        x = call.arguments[0]
        answer = x.flip(1).cumsum(dim=1)[:, -1] * 1e-3
        verdict = call.compare([answer])
        self.assertTrue(verdict["pass"], verdict)
        self.assertLessEqual(verdict["error"], 1)

    def test_noise_beyond_the_default_is_measured_against_float64(self):
        reference = "return ((x + 1e4) - 1e4)"
        call = self.call(reference, settings="")
        verdict = call.compare([call.arguments[0].clone()])
        self.assert_passed(verdict, "float64")
        self.assertLess(verdict["error"], 0.2)

    def test_an_error_ten_times_the_references_own_is_too_much(self):
        call = self.call("return ((x + 1e4) - 1e4)", settings="")
        verdict = call.compare([call.arguments[0] + 0.1])
        self.assert_rejected(verdict, "against float64 the error is 0.1, the reference's own")

    def test_an_exact_reference_is_held_to_the_answers_scale(self):
        call = self.call("return x.clamp(min=0)", settings="")
        answer = call.arguments[0].clamp(min=0)
        self.assert_passed(call.compare([answer * (1 + 8e-5) + 1e-6]), "tolerance")
        self.assert_passed(call.compare([answer + 3e-5]), "float64")
        self.assert_rejected(call.compare([answer + 0.05]), "against float64 the error is .* of the largest answer")

    def test_zeros_do_not_pass_where_answers_are_small(self):
        call = self.call("return x * 1e-7", settings="")
        self.assert_rejected(call.compare([torch.zeros(4, 6)]), "are off")

    def test_a_declared_tolerance_is_final(self):
        call = self.call("return ((x + 1e4) - 1e4)", settings="TOLERANCE = {'rtol': 1e-5, 'atol': 1e-6}")
        self.assert_rejected(call.compare([call.arguments[0].clone()]), r"are off \(rtol 1e-05, atol 1e-06\)")

    def test_a_reference_that_rounds_by_itself_has_no_float64_answer(self):
        call = self.call("return ((x + 1e4) - 1e4).float()", settings="")
        self.assert_rejected(call.compare([call.arguments[0].clone()]), "gives float32 even for float64 inputs")


if __name__ == "__main__":
    unittest.main()
