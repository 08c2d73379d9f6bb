"""Every caller error is a ValueError that names it."""

import math

import numpy as np
import pytest
import torch

import shortlist
from conftest import on_cuda
from shortlist import _build

GOOD = {
    "hidden": torch.zeros(2, 8),
    "weight": torch.zeros(10, 8),
    "row_ids": torch.tensor([1, 2, 3], dtype=torch.int32),
    "tail_indptr": torch.tensor([0, 1, 2], dtype=torch.int32),
    "tail_ids": torch.tensor([4, 5], dtype=torch.int32),
}


def ids(*values):
    return torch.tensor(values, dtype=torch.int32)


BAD = [
    ({"hidden": torch.zeros(2, 7)}, "hidden has rows of 7, weight of 8"),
    ({"hidden": torch.zeros(8)}, "hidden has 1 dimensions"),
    ({"hidden": torch.tensor(0.0)}, "hidden has 0 dimensions"),
    ({"hidden": torch.zeros(2, 8, dtype=torch.float64)}, "hidden is Double"),
    ({"hidden": torch.zeros(2, 8, dtype=torch.int64)}, "hidden is Long"),
    ({"weight": torch.zeros(10, 8, dtype=torch.int8)}, "weight is Char"),
    ({"weight": torch.zeros(8, 10).T}, "weight has strides"),
    ({"weight": torch.zeros(10, 16)[:, ::2]}, "weight has strides"),
    ({"weight": torch.zeros(1, 8).expand(10, 8)}, "weight has strides"),
    ({"weight": torch.zeros(10)}, "weight has 1 dimensions"),
    ({"weight": torch.zeros(10, 0), "hidden": torch.zeros(2, 0)}, "no element"),
    ({"row_ids": torch.tensor([1, 2])}, "row_ids is Long, not int32"),
    ({"row_ids": ids(1, 10)}, r"row_ids\[1\] is 10, not in \[0, 10\)"),
    ({"row_ids": ids(-1, 1)}, r"row_ids\[0\] is -1"),
    ({"row_ids": ids(1, 2, 3, 4)[::2]}, "row_ids has stride 2"),
    ({"row_ids": ids(1, 2)[:, None]}, "row_ids has 2 dimensions"),
    ({"row_ids": torch.tensor(1, dtype=torch.int32)}, "row_ids has 0 dimensions"),
    ({"tail_ids": None}, "come together"),
    ({"tail_indptr": None}, "come together"),
    ({"tail_indptr": ids(0, 1)}, "tail_indptr has 2 elements, not 3"),
    ({"tail_indptr": ids(1, 1, 2)}, r"tail_indptr\[0\] is 1"),
    ({"tail_indptr": ids(0, 3, 2)}, r"tail_indptr\[2\] is 2, less than 3"),
    ({"tail_indptr": ids(0, -2, 2)}, r"tail_indptr\[1\] is -2"),
    ({"tail_indptr": ids(0, 1, 1)}, "ends with 1"),
    ({"tail_indptr": ids(0, 1, 2**31 - 1)}, "ends with 2147483647"),
    ({"tail_ids": ids(4, 77)}, r"tail_ids\[1\] is 77"),
]


@pytest.mark.parametrize("changed,message", BAD)
def test_operators_name_what_is_wrong(changed, message):
    arguments = {**GOOD, **changed}
    with pytest.raises(ValueError, match=message):
        shortlist.gather_head(**arguments, max_tail=1)
    with pytest.raises(ValueError, match=message):
        shortlist.gather_head_argmax(**arguments)
    with pytest.raises(ValueError, match=message):
        shortlist.gather_head_topk(**arguments, k=2)


@pytest.mark.parametrize("k", [0, -1, 11, 2**62])
def test_k_has_bounds(k):
    with pytest.raises(ValueError, match=rf"k is {k}, not in \[1, 10\]"):
        shortlist.gather_head_topk(**GOOD, k=k)


@pytest.mark.parametrize("max_tail,message", [(0, "longest tail has 1"), (-1, "max_tail is -1"), (2**62, "max_tail is")])
def test_max_tail_has_bounds(max_tail, message):
    with pytest.raises(ValueError, match=message):
        shortlist.gather_head(**GOOD, max_tail=max_tail)


@pytest.mark.parametrize(
    "out,message",
    [
        (torch.zeros(2, 5), r"out has shape \[2, 5\], not \[2, 4\]"),
        (torch.zeros(2, 4, dtype=torch.float64), "out is Double"),
        (torch.zeros(4, 2).T, "out is not contiguous"),
        (torch.zeros(1, 4).expand(2, 4), "out is not contiguous"),
    ],
)
def test_out_is_taken_as_it_must_be(out, message):
    with pytest.raises(ValueError, match=message):
        torch.ops.shortlist.gather_head.out(**GOOD, max_tail=1, out=out)


def test_nan_counts_as_the_least():
    weight = torch.ones(10, 8)
    weight[2] = float("nan")
    got = shortlist.gather_head_argmax(torch.ones(1, 8), weight, ids(2, 3))
    assert got[0].item() == 3
    got = shortlist.gather_head_topk(torch.ones(1, 8), weight, ids(2, 3), k=2)
    assert got[0].tolist() == [[3, -1]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_a_state_without_logits_chooses_nothing(dtype, value):
    hidden = torch.tensor([[value] * 8, [1.0] * 8]).to(dtype)
    weight = torch.ones(10, 8, dtype=dtype)
    best, logits = shortlist.gather_head_argmax(hidden, weight, ids(2, 3))
    assert best.tolist() == [-1, 2] and logits[0] == float("-inf")
    best, logits, total = shortlist.gather_head_topk(hidden, weight, ids(2, 3), k=2)
    assert best.tolist() == [[-1, -1], [2, 3]]
    assert logits[0].tolist() == [float("-inf")] * 2 and total[0] == float("-inf")


def test_sparse_is_refused():
    with pytest.raises((ValueError, NotImplementedError)):
        shortlist.gather_head(GOOD["hidden"], GOOD["weight"].to_sparse(), GOOD["row_ids"])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("name", ["hidden", "weight", "row_ids"])
def test_tensors_of_two_devices_are_refused_by_name(name):
    with pytest.raises(ValueError, match=r"is on \S+, weight on" if _build.CUDA else f"{name} is on cuda"):
        shortlist.gather_head(**{**GOOD, name: GOOD[name].cuda()}, max_tail=1)


@on_cuda
@pytest.mark.parametrize(
    "changed,k,message",
    [
        ({"hidden": torch.zeros(2, 6), "weight": torch.zeros(40, 6)}, 2, "rows of 6, not a multiple of 4"),
        (
            {"hidden": torch.zeros(2, 12), "weight": torch.zeros(40, 12, dtype=torch.bfloat16)},
            2,
            "rows of 12, not a multiple of 8",
        ),
        ({"weight": torch.zeros(40, 8)}, 33, r"k is 33, not in \[1, 32\] on CUDA"),
        ({"tail_indptr": ids(0, 1)}, 2, "tail_indptr has 2 elements, not 3"),
        ({"row_ids": torch.tensor([1, 2])}, 2, "row_ids is Long"),
    ],
)
def test_cuda_names_what_is_wrong(changed, k, message):
    arguments = {name: tensor.cuda() for name, tensor in {**GOOD, **changed}.items()}
    with pytest.raises(ValueError, match=message):
        shortlist.gather_head_topk(**arguments, k=k)


@on_cuda
def test_cuda_refuses_a_weight_off_16_bytes():
    arguments = {name: tensor.cuda() for name, tensor in GOOD.items()}
    arguments["weight"] = torch.zeros(81, device="cuda")[1:].view(10, 8)
    with pytest.raises(ValueError, match="weight begins 4 bytes after"):
        shortlist.gather_head_argmax(**arguments)


@on_cuda
def test_cuda_refuses_more_tail_ids_than_max_tail_has_room_for():
    with pytest.raises(ValueError, match="max_tail is 0, and 2 tails have 2 ids"):
        shortlist.gather_head(**{name: tensor.cuda() for name, tensor in GOOD.items()}, max_tail=0)


@on_cuda
def test_cuda_leaves_values_out_of_range_out():
    arguments = {name: tensor.cuda() for name, tensor in GOOD.items()}
    arguments["row_ids"] = ids(1, 10, -1).cuda()
    arguments["tail_indptr"] = ids(0, 1, 2**31 - 1).cuda()
    logits = shortlist.gather_head(**arguments, max_tail=1).tolist()
    assert logits == [[0, -math.inf, -math.inf, 0], [0, -math.inf, -math.inf, -math.inf]]
    top, _, log_sum_exp = shortlist.gather_head_topk(**arguments, k=3)
    assert top.tolist() == [[1, 4, -1], [1, -1, -1]]
    torch.testing.assert_close(log_sum_exp.cpu(), torch.tensor([math.log(2), 0.0]))


@pytest.mark.parametrize(
    "make,message",
    [
        (lambda: shortlist.VocabList([1, 1], 10), "1"),
        (lambda: shortlist.VocabList([1, 10], 10), "10"),
        (lambda: shortlist.VocabList([-1], 10), r"ids\[0\] is -1"),
        (lambda: shortlist.VocabList([2**40], 10), "ids\\[0\\] is 1099511627776"),
        (lambda: shortlist.VocabList(np.array([2**63], dtype=np.uint64), 10), "ids\\[0\\]"),
        (lambda: shortlist.VocabList([], 10), "no "),
        (lambda: shortlist.VocabList([1.5], 10), "not of integers"),
        (lambda: shortlist.VocabList([[1]], 10), "2 dimensions"),
        (lambda: shortlist.VocabList(None, 10), "ids"),
        (lambda: shortlist.VocabList([True], 10), "bool"),
        (lambda: shortlist.VocabList([1], 0), "vocab_size is 0"),
        (lambda: shortlist.VocabList([1], -5), "vocab_size is -5"),
        (lambda: shortlist.VocabList([1], 10, counts=[1, 2]), "2 counts for 1 id"),
        (lambda: shortlist.VocabList([1, 2], 10, counts=[1, 2]), r"counts\[1\]: 2 above"),
        (lambda: shortlist.VocabList.read("/nonexistent/a.vocab.json"), "nonexistent"),
        (lambda: shortlist.VocabList([1], 10).write("/nonexistent/a.vocab.json"), "nonexistent"),
        (lambda: shortlist.VocabList([1], 10).select(top=0), "top_n 0"),
        (lambda: shortlist.VocabList([1], 10).select(ratio=float("nan")), "ratio nan"),
        (lambda: shortlist.VocabList([1], 10).select(top=1, ratio=0.5), "at most 1"),
        (lambda: shortlist.VocabularyManager([1]), "vocab_size is missing"),
        (lambda: shortlist.VocabularyManager([1], vocab_size=10, top=1), "VocabList"),
        (lambda: shortlist.VocabularyManager([1], vocab_size=10, dynamic_capacity=-1), "-1"),
        (lambda: shortlist.VocabularyManager([1], vocab_size=10, dynamic_capacity=2**60), "1152921504606846976"),
        (lambda: shortlist.VocabularyManager([1], vocab_size=10, pinned=[12]), "12"),
        (lambda: shortlist.VocabularyManager(shortlist.VocabList([1], 10), vocab_size=2000), "10 is not the target's 2000"),
    ],
)
def test_vocabulary_names_what_is_wrong(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_closed_manager_says_so():
    manager = shortlist.VocabularyManager([1, 2], vocab_size=10, dynamic_capacity=2)
    snapshot = manager.active()
    manager.close()
    manager.close()
    assert manager.closed
    for call in (
        manager.active,
        manager.stats,
        manager.escapes,
        lambda: manager.add([3]),
        lambda: manager.observe([3]),
        lambda: manager.replace_base([3]),
    ):
        with pytest.raises(ValueError, match="closed"):
            call()
    assert snapshot.rows.tolist() == [1, 2]  # outlives the manager


def test_ids_out_of_range_change_nothing():
    manager = shortlist.VocabularyManager([1, 2], vocab_size=10, dynamic_capacity=2)
    for call in (lambda: manager.add([3, 10]), lambda: manager.observe([3, 10]), lambda: manager.observe([3], [-1])):
        with pytest.raises(ValueError, match="10|-1"):
            call()
    assert manager.active().rows.tolist() == [1, 2]
    with pytest.raises(ValueError, match="12"):
        manager.active().rows_of([12])
    with pytest.raises(ValueError, match="last is 10"):
        manager.active().successors_of(10)


def test_a_snapshot_of_another_vocabulary_is_refused():
    manager = shortlist.VocabularyManager([1, 2], vocab_size=10)
    other = shortlist.VocabularyManager([1, 2], vocab_size=4)
    with pytest.raises(ValueError, match="4 tokens, not of 10"):
        manager.observe([1], [2], other.active())
    with pytest.raises(ValueError):
        manager.replace_base(shortlist.VocabList([1], 2000))


@pytest.mark.parametrize("name", list(GOOD))
def test_a_meta_tensor_among_others_is_refused(name):
    arguments = {**GOOD, name: GOOD[name].to("meta")}
    with pytest.raises((ValueError, NotImplementedError, RuntimeError), match="meta"):
        shortlist.gather_head(**arguments, max_tail=1)
    with pytest.raises((ValueError, NotImplementedError, RuntimeError), match="meta"):
        torch.ops.shortlist.gather_head.out(**arguments, max_tail=1, out=torch.zeros(2, 4))


@pytest.mark.parametrize("changed,message", [
    ({"hidden": torch.zeros(2, 7)}, "hidden has rows of 7, weight of 8"),
    ({"weight": torch.zeros(10)}, "weight has 1 dimensions, not 2"),
    ({"row_ids": torch.tensor([1, 2])}, "row_ids is torch.int64, not int32"),
])
def test_tracing_refuses_what_a_call_refuses(changed, message):
    with pytest.raises(ValueError, match=message):
        shortlist.gather_head_argmax(**{name: tensor.to("meta") for name, tensor in {**GOOD, **changed}.items()})
