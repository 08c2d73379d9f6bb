"""The operators against torch's own: index_select, matmul, topk, logsumexp, argmax."""

import math
import random

import pytest
import torch

import shortlist
from conftest import on_cuda

SEED = random.randrange(1 << 30)
DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def problem(dtype, num_tokens, num_rows, tails, device="cpu", hidden=72, vocab_size=500):
    """Returns arguments, and the ids of each token's rows in order. Small integers: all sums are exact in any
    order."""
    generator = torch.Generator().manual_seed(SEED)
    x = torch.randint(-8, 9, (num_tokens, hidden), generator=generator).to(dtype)
    weight = torch.randint(-8, 9, (vocab_size, hidden), generator=generator).to(dtype)
    order = torch.randperm(vocab_size, generator=generator).to(torch.int32)
    row_ids = order[:num_rows].clone()
    arguments = [x, weight, row_ids]
    rows = [row_ids.tolist() for _ in range(num_tokens)]
    if tails:
        lengths = [(7 * m) % 5 for m in range(num_tokens)]
        indptr = torch.tensor([0] + lengths).cumsum(0).to(torch.int32)
        tail_ids = torch.cat([order[num_rows:][:n] for n in lengths]) if lengths else order[:0]
        for m, length in enumerate(lengths):
            rows[m] += order[num_rows:][:length].tolist()
        arguments += [indptr, tail_ids.clone()]
    return [tensor.to(device) for tensor in arguments], rows


def expected_logits(arguments, rows):
    x, weight = arguments[0].cpu().double(), arguments[1].cpu().double()
    return [weight.index_select(0, torch.tensor(ids, dtype=torch.int64)) @ x[m] for m, ids in enumerate(rows)]


CASES = [(m, r, t) for m in (0, 1, 3, 17) for r in (0, 1, 300) for t in (False, True)]
CASES.append((130, 300, True))  # more than one CUDA launch handles


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("num_tokens,num_rows,tails", CASES)
def test_equals_torch(device, dtype, num_tokens, num_rows, tails):
    arguments, rows = problem(dtype, num_tokens, num_rows, tails, device)
    want = expected_logits(arguments, rows)
    message = f"seed {SEED}"

    logits = torch.ops.shortlist.gather_head(*arguments, **({"max_tail": 4} if tails else {}))
    assert logits.shape == (num_tokens, num_rows + (4 if tails else 0)) and logits.device.type == device, message
    ids, best = shortlist.gather_head_argmax(*arguments)
    k = 5
    top_ids, top_logits, log_sum_exp = shortlist.gather_head_topk(*arguments[:3], k, *arguments[3:])
    assert top_ids.shape == top_logits.shape == (num_tokens, k) and log_sum_exp.shape == (num_tokens,)
    logits, ids, best, top_ids, top_logits, log_sum_exp = (
        tensor.cpu() for tensor in (logits, ids, best, top_ids, top_logits, log_sum_exp)
    )
    for m in range(num_tokens):
        count = len(rows[m])
        assert torch.equal(logits[m, :count].double(), want[m]), message
        assert (logits[m, count:] == -math.inf).all(), message
        ranked = sorted((-logit, id) for logit, id in zip(want[m].tolist(), rows[m]))[:k]
        assert top_ids[m].tolist() == [id for _, id in ranked] + [-1] * (k - len(ranked)), message
        assert top_logits[m].tolist() == [-v for v, _ in ranked] + [-math.inf] * (k - len(ranked)), message
        assert ids[m].item() == (ranked[0][1] if ranked else -1), message
        assert best[m].item() == (-ranked[0][0] if ranked else -math.inf), message
        torch.testing.assert_close(log_sum_exp[m].double(), torch.logsumexp(want[m], 0))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_close_to_matmul_of_real_numbers(device, dtype):
    generator = torch.Generator().manual_seed(SEED)
    x = torch.randn(4, 896, generator=generator).to(dtype)
    weight = torch.randn(3000, 896, generator=generator).to(dtype)
    row_ids = torch.randperm(3000, generator=generator)[:1000].to(torch.int32)
    want = x.double() @ weight.double().index_select(0, row_ids.long()).T
    got = shortlist.gather_head(x.to(device), weight.to(device), row_ids.to(device))
    torch.testing.assert_close(got.cpu().double(), want, rtol=1e-4, atol=1e-3)


def test_a_token_has_the_same_bits_in_any_batch(device):
    generator = torch.Generator().manual_seed(SEED)
    x, weight = torch.randn(130, 72, generator=generator), torch.randn(500, 72, generator=generator)
    row_ids = torch.randperm(500, generator=generator)[:300].to(torch.int32)
    x, weight, row_ids = (tensor.to(device) for tensor in (x, weight.bfloat16(), row_ids))
    logits, top = shortlist.gather_head(x, weight, row_ids), shortlist.gather_head_topk(x, weight, row_ids, 4)
    for m in (0, 63, 64, 129):
        alone = x[m : m + 1]
        assert torch.equal(shortlist.gather_head(alone, weight, row_ids)[0], logits[m]), f"seed {SEED}"
        for got, want in zip(shortlist.gather_head_topk(alone, weight, row_ids, 4), top):
            assert torch.equal(got[0], want[m]), f"seed {SEED}"


def test_out_variants_write_what_the_others_return(device):
    arguments, _ = problem(torch.bfloat16, 3, 40, True, device)
    ops = torch.ops.shortlist
    logits = torch.empty(3, 44, device=device)
    assert ops.gather_head.out(*arguments, max_tail=4, out=logits).data_ptr() == logits.data_ptr()
    assert torch.equal(logits, ops.gather_head(*arguments, max_tail=4))
    ids, best = torch.empty(3, dtype=torch.int32, device=device), torch.empty(3, device=device)
    ops.gather_head_argmax.out(*arguments, ids=ids, logits=best)
    assert all(map(torch.equal, (ids, best), ops.gather_head_argmax(*arguments)))
    outs = {
        "ids": torch.empty(3, 6, dtype=torch.int32, device=device),
        "logits": torch.empty(3, 6, device=device),
        "log_sum_exp": torch.empty(3, device=device),
    }
    ops.gather_head_topk.out(*arguments[:3], 6, *arguments[3:], **outs)
    assert all(map(torch.equal, outs.values(), ops.gather_head_topk(*arguments[:3], 6, *arguments[3:])))


def test_hidden_states_may_be_strided_and_a_parameter_may_be_the_weight(device):
    arguments, _ = problem(torch.float32, 3, 40, False, device)
    weight = torch.nn.Parameter(arguments[1])
    wide = torch.stack([arguments[0]] * 2, dim=2)[:, :, 0]
    assert not wide.is_contiguous()
    got = shortlist.gather_head(wide, weight, arguments[2])
    assert torch.equal(got, shortlist.gather_head(*arguments))


@on_cuda
def test_cuda_waits_for_nothing_and_a_graph_takes_it():
    arguments, _ = problem(torch.float16, 70, 300, True, "cuda")
    want = shortlist.gather_head_topk(*arguments[:3], 5, *arguments[3:])
    torch.cuda.set_sync_debug_mode("error")
    try:
        shortlist.gather_head_topk(*arguments[:3], 5, *arguments[3:])
        shortlist.gather_head(*arguments, max_tail=4)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # a synchronisation would break it
        got = shortlist.gather_head_topk(*arguments[:3], 5, *arguments[3:])
    graph.replay()
    assert all(map(torch.equal, got, want))
    arguments[2].copy_(arguments[2].flip(0))  # a replay reads the lists again
    graph.replay()
    assert all(map(torch.equal, got[:2], want[:2]))


def test_meta_tensors_have_the_results_shapes():
    arguments, _ = problem(torch.bfloat16, 3, 40, True)
    meta = [tensor.to("meta") for tensor in arguments]
    ops = torch.ops.shortlist
    for got, want in [
        (ops.gather_head(*meta, max_tail=4), ops.gather_head(*arguments, max_tail=4)),
        *zip(ops.gather_head_argmax(*meta), ops.gather_head_argmax(*arguments)),
        *zip(ops.gather_head_topk(*meta[:3], 6, *meta[3:]), ops.gather_head_topk(*arguments[:3], 6, *arguments[3:])),
    ]:
        assert got.is_meta and got.shape == want.shape and got.dtype == want.dtype


class Draft(torch.nn.Module):
    def __init__(self, weight, row_ids):
        super().__init__()
        self.weight = torch.nn.Parameter(weight, requires_grad=False)
        self.register_buffer("row_ids", row_ids)

    def forward(self, hidden):
        ids, logits, log_sum_exp = torch.ops.shortlist.gather_head_topk(hidden * 2, self.weight, self.row_ids, 4)
        best = torch.ops.shortlist.gather_head_argmax(hidden * 2, self.weight, self.row_ids)[0]
        all_logits = torch.ops.shortlist.gather_head(hidden * 2, self.weight, self.row_ids)
        return ids, torch.exp(logits - log_sum_exp[:, None]), best, all_logits.amax(1)


def test_compile_traces_through():
    if not hasattr(torch, "compile"):
        pytest.skip("this PyTorch has no torch.compile")
    arguments, _ = problem(torch.bfloat16, 3, 40, False)
    draft = Draft(*arguments[1:])
    compiled = torch.compile(draft, fullgraph=True, dynamic=True, backend="aot_eager")
    for hidden in (arguments[0], arguments[0][:2]):
        assert all(map(torch.equal, compiled(hidden), draft(hidden)))


def test_export_traces_through():
    if not hasattr(torch, "export"):
        pytest.skip("this PyTorch has no torch.export")
    arguments, _ = problem(torch.bfloat16, 3, 40, False)
    draft = Draft(*arguments[1:])
    batch = torch.export.Dim("batch", min=2, max=64)
    exported = torch.export.export(draft, (arguments[0],), dynamic_shapes=({0: batch},))
    assert "gather_head_topk" in str(exported.graph)
    for hidden in (arguments[0], arguments[0][:2]):
        assert all(map(torch.equal, exported.module()(hidden), draft(hidden)))


def test_opcheck():
    if not hasattr(torch.library, "opcheck"):
        pytest.skip("this PyTorch has no torch.library.opcheck")
    arguments, _ = problem(torch.float32, 3, 40, True)
    checks = ("test_schema", "test_faketensor")
    torch.library.opcheck(torch.ops.shortlist.gather_head.default, arguments, {"max_tail": 4}, test_utils=checks)
    torch.library.opcheck(torch.ops.shortlist.gather_head_argmax.default, arguments, test_utils=checks)
    torch.library.opcheck(
        torch.ops.shortlist.gather_head_topk.default, (*arguments[:3], 4, *arguments[3:]), test_utils=checks
    )


def test_threads_take_turns():
    from concurrent.futures import ThreadPoolExecutor

    arguments, _ = problem(torch.bfloat16, 17, 300, True)
    want = shortlist.gather_head_argmax(*arguments)
    with ThreadPoolExecutor(4) as threads:
        for got in threads.map(lambda _: shortlist.gather_head_argmax(*arguments), range(100)):
            assert all(map(torch.equal, got, want))


def test_a_forked_child_has_threads_of_its_own():
    import multiprocessing

    arguments, _ = problem(torch.float32, 17, 300, False)
    want = shortlist.gather_head_argmax(*arguments)[0].tolist()
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=lambda: queue.put(shortlist.gather_head_argmax(*arguments)[0].numpy().tolist()))
    child.start()
    child.join(60)
    assert child.exitcode == 0 and queue.get() == want
