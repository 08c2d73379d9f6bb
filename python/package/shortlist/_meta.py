"""Shapes of the operators' results, for meta and fake tensors: torch.compile and torch.export trace by them."""

import torch


def _logits(hidden, weight, row_ids, tail_indptr=None, tail_ids=None, max_tail=0):
    return hidden.new_empty((hidden.shape[0], row_ids.shape[0] + max_tail), dtype=torch.float32)


def _argmax(hidden, weight, row_ids, tail_indptr=None, tail_ids=None):
    num_tokens = hidden.shape[0]
    return (
        hidden.new_empty((num_tokens,), dtype=torch.int32),
        hidden.new_empty((num_tokens,), dtype=torch.float32),
    )


def _topk(hidden, weight, row_ids, k, tail_indptr=None, tail_ids=None):
    num_tokens = hidden.shape[0]
    return (
        hidden.new_empty((num_tokens, k), dtype=torch.int32),
        hidden.new_empty((num_tokens, k), dtype=torch.float32),
        hidden.new_empty((num_tokens,), dtype=torch.float32),
    )


def _logits_out(*args, out, **kwargs):
    return out


def _argmax_out(*args, ids, logits, **kwargs):
    return ids, logits


def _topk_out(*args, ids, logits, log_sum_exp, **kwargs):
    return ids, logits, log_sum_exp


_library = torch.library.Library("shortlist", "IMPL")  # what it registers goes when it does
for _name, _function in (
    ("gather_head", _logits),
    ("gather_head.out", _logits_out),
    ("gather_head_argmax", _argmax),
    ("gather_head_argmax.out", _argmax_out),
    ("gather_head_topk", _topk),
    ("gather_head_topk.out", _topk_out),
):
    _library.impl(_name, _function, "Meta")
