import unittest

import torch

from rowwise.softmax import softmax


class Softmax(unittest.TestCase):
    def test_rows_sum_to_one(self):
        x = torch.randn(5, 301)
        torch.testing.assert_close(softmax(x).sum(dim=-1), torch.ones(5))
