"""Shapes of the operators' results, for meta and fake tensors: torch.compile and torch.export use them for
tracing."""

import torch


def _check(hidden, weight, row_ids, tail_indptr=None, tail_ids=None, outs=()):
    """Rejects what the operators reject, as far as shapes, types and devices show it. A meta tensor among other
    tensors is rejected too: it cannot be scored."""
    tensors = {"hidden": hidden, "weight": weight, "row_ids": row_ids, "tail_indptr": tail_indptr, "tail_ids": tail_ids}
    tensors = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    for name, tensor in [*tensors.items(), *(("out", out) for out in outs)]:
        if tensor.device != hidden.device:
            raise ValueError(f"{name} is on {tensor.device}, hidden on {hidden.device}")
    for name, tensor in tensors.items():
        num_dims = 2 if name in ("hidden", "weight") else 1
        if tensor.dim() != num_dims:
            raise ValueError(f"{name} has {tensor.dim()} dimensions, not {num_dims}")
        if num_dims == 1 and tensor.dtype != torch.int32:
            raise ValueError(f"{name} is {tensor.dtype}, not int32")
        if num_dims == 2 and tensor.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            raise ValueError(f"{name} is {tensor.dtype}, not float32, float16 or bfloat16")
    if hidden.shape[1] != weight.shape[1]:
        raise ValueError(f"hidden has rows of {hidden.shape[1]}, weight of {weight.shape[1]}")


def _logits(hidden, weight, row_ids, tail_indptr=None, tail_ids=None, max_tail=0):
    _check(hidden, weight, row_ids, tail_indptr, tail_ids)
    return hidden.new_empty((hidden.shape[0], row_ids.shape[0] + max_tail), dtype=torch.float32)


def _argmax(hidden, weight, row_ids, tail_indptr=None, tail_ids=None):
    _check(hidden, weight, row_ids, tail_indptr, tail_ids)
    num_tokens = hidden.shape[0]
    return (
        hidden.new_empty((num_tokens,), dtype=torch.int32),
        hidden.new_empty((num_tokens,), dtype=torch.float32),
    )


def _topk(hidden, weight, row_ids, k, tail_indptr=None, tail_ids=None):
    _check(hidden, weight, row_ids, tail_indptr, tail_ids)
    num_tokens = hidden.shape[0]
    return (
        hidden.new_empty((num_tokens, k), dtype=torch.int32),
        hidden.new_empty((num_tokens, k), dtype=torch.float32),
        hidden.new_empty((num_tokens,), dtype=torch.float32),
    )


def _logits_out(hidden, weight, row_ids, tail_indptr=None, tail_ids=None, max_tail=0, *, out):
    _check(hidden, weight, row_ids, tail_indptr, tail_ids, [out])
    return out


def _argmax_out(hidden, weight, row_ids, tail_indptr=None, tail_ids=None, *, ids, logits):
    _check(hidden, weight, row_ids, tail_indptr, tail_ids, [ids, logits])
    return ids, logits


def _topk_out(hidden, weight, row_ids, k, tail_indptr=None, tail_ids=None, *, ids, logits, log_sum_exp):
    _check(hidden, weight, row_ids, tail_indptr, tail_ids, [ids, logits, log_sum_exp])
    return ids, logits, log_sum_exp


_library = torch.library.Library("shortlist", "IMPL")  # its registrations end with its lifetime
for _name, _function in (
    ("gather_head", _logits),
    ("gather_head.out", _logits_out),
    ("gather_head_argmax", _argmax),
    ("gather_head_argmax.out", _argmax_out),
    ("gather_head_topk", _topk),
    ("gather_head_topk.out", _topk_out),
):
    _library.impl(_name, _function, "Meta")
