"""SGLang's hot tokens (FR-Spec, --speculative-token-map): the static copy of the draft's head, and its replacement.

SGLang clones the target's head for the draft at start, keeps the rows of `hot_token_id`, and maps the draft's top-k
through hot_token_id. The set is fixed, and the copy is as large as the set. Here the draft scores rows of the one
head in place, and a VocabularyManager holds the set: tokens that escape the list enter it while requests run.

To adopt it, in the worker's code that makes its draft head:

    manager = shortlist.VocabularyManager(hot_token_id, vocab_size=V, dynamic_capacity=1024)   # no clone
    snapshot = manager.active()                    # once for each draft step, held until it is verified
    ids, logits, lse = shortlist.gather_head_topk(hidden, head, snapshot.row_ids, k)   # token ids already
    manager.observe(emitted, drafted, snapshot)    # after verification

`softmax(logits)` of the original's top-k is exp(logits - lse).

usage: python sglang_hot_token_id.py
"""

import time

import torch

import shortlist

# A head of Qwen2.5-0.5B, the draft batch of four requests, FR-Spec's 32,768 tokens, --speculative-eagle-topk 8.
VOCAB_SIZE, HIDDEN, NUM_HOT, BATCH, TOPK = 151_936, 896, 32_768, 4, 8


def best_ms(function, repeats=15):
    function()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return 1e3 * min(times)


def main():
    torch.manual_seed(0)
    head = (torch.randn(VOCAB_SIZE, HIDDEN) / HIDDEN**0.5).to(torch.bfloat16)
    hot_token_id = torch.randperm(VOCAB_SIZE)[:NUM_HOT].sort().values
    hidden = torch.randn(BATCH, HIDDEN).to(torch.bfloat16)

    # The original's way: a copy of the rows, softmax over all of them, top-k, then hot_token_id.
    hot_head = head[hot_token_id]

    def original():
        probabilities = torch.softmax((hidden @ hot_head.T).float(), dim=-1)
        values, rows = probabilities.topk(TOPK, dim=-1)
        return hot_token_id[rows], values

    manager = shortlist.VocabularyManager(hot_token_id, vocab_size=VOCAB_SIZE, dynamic_capacity=1024)

    def ours():
        ids, logits, log_sum_exp = shortlist.gather_head_topk(hidden, head, manager.active().row_ids, TOPK)
        return ids, torch.exp(logits - log_sum_exp[:, None])

    # Equality: against the original's steps in f32, whose sums are not rounded to bf16 in between.
    logits = hidden.float() @ hot_head.float().T
    want, rows = torch.softmax(logits, dim=-1).topk(TOPK, dim=-1)
    ids, probabilities = ours()
    torch.testing.assert_close(probabilities, want, rtol=1e-3, atol=1e-7)
    assert torch.equal(ids.long(), hot_token_id[rows]), "the drafted tokens differ"

    # Dynamic: a token that escapes the list is drafted from the next step on, without another copy.
    cold = torch.ones(VOCAB_SIZE, dtype=torch.bool).index_fill_(0, hot_token_id, False).nonzero()[123, 0]
    snapshot = manager.active()
    manager.observe(emitted=[int(cold)], snapshot=snapshot)
    hidden[0] = head[cold] * 8  # a state for which the head chooses this token
    assert ours()[0][0, 0] == cold and cold not in original()[0][0]

    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads: same tokens and probabilities")
    print(f"{'':24s} {'ms/step':>8s} {'bytes besides the head':>24s}")
    print(f"{'clone and slice':24s} {best_ms(original):8.3f} {hot_head.numel() * hot_head.element_size():24,d}")
    print(f"{'shortlist, dynamic':24s} {best_ms(ours):8.3f} {manager.active().row_ids.numel() * 4:24,d}")


if __name__ == "__main__":
    main()
