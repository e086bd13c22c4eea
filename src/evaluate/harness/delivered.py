"""What a candidate returned last on a case, to tell a wrong answer from one that was given before."""
import torch

from .agreement import is_inexact

# A copy is kept of outputs up to this size together.
_LARGEST = 512 << 20
# From this share of what should have changed on, an answer counts as an old one.
_TELLING = 0.25


class Delivered:
    """Outputs of the last call that was compared and found right."""

    def __init__(self):
        self._outputs = self._answers = None

    def consider(self, verdict, outputs, answers):
        """The verdict, with a better reason where a wrong answer is an earlier one."""
        if verdict["pass"]:
            self._keep(outputs, answers)
        elif verdict["gate"] == "correctness" and (words := self._resemblance(outputs, answers)):
            verdict = {**verdict, "gate": "integrity", "reason": f"{words}: {verdict['reason']}"}
        return verdict

    def _keep(self, outputs, answers):
        if sum(tensor.numel() * tensor.element_size() for tensor in outputs) > _LARGEST:
            self._outputs = self._answers = None
            return
        self._outputs, self._answers = [tensor.clone() for tensor in outputs], answers

    def _resemblance(self, outputs, answers):
        """Words for outputs that are bit for bit what was returned before, where another answer was due."""
        if self._outputs is None or [t.shape for t in self._outputs] != [t.shape for t in outputs]:
            return None
        changed = same = total = 0
        for output, before, due, earlier in zip(outputs, self._outputs, answers, self._answers):
            differs = _bits(due) != _bits(earlier)
            equal = _bits(output) == _bits(before)
            changed += int(differs.sum())
            same += int((differs & equal).sum())
            total += output.numel()
        if not changed or same < _TELLING * changed:
            return None
        if same == changed == total:
            return "returned the same output for two different inputs"
        return f"returned in {same} of {changed} elements what it had returned for other inputs, though the answer changed"


def _bits(tensor):
    """The elements as integers, so that NaN equals NaN."""
    flat = tensor.detach().contiguous().reshape(-1)
    if is_inexact(flat.dtype) or flat.dtype == torch.bool:
        kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
        if flat.is_complex():
            flat = torch.view_as_real(flat).reshape(-1)
        return flat.view(kinds[flat.dtype.itemsize])
    return flat
