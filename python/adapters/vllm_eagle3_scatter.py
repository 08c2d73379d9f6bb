"""vLLM's EAGLE-3 drafts have a head of a reduced vocabulary; its logits are scattered to full width. Compact instead.

The checkpoint's `d2t` contains, for each draft row i, the distance from i to its token id. For every draft token,
vLLM fills a tensor of the target's width with -infinity and writes the draft's logits into it, so that readers see
token ids. A greedy drafter needs only the best id, a sampling one ids, logits and their log-sum-exp. All of that is
available before the scatter, and a draft step then touches draft_vocab_size numbers and not vocab_size.

To adopt it, in place of the drafter's compute_logits(hidden).argmax(-1):

    rows, logits = shortlist.gather_head_argmax(hidden, draft_head, all_rows)   # all_rows: arange(draft_vocab_size)
    ids = target_of_row[rows.long()]                                            # once: arange + d2t

A row of -1 means that no logit was a number (a NaN state): keep it -1, since it would index the last row.

usage: python vllm_eagle3_scatter.py
"""

import time

import torch

import shortlist

# An EAGLE-3 head for Llama 3.1 8B: 32,000 of 128,256 tokens, 4,096 wide.
VOCAB_SIZE, DRAFT_SIZE, HIDDEN, BATCH = 128_256, 32_000, 4_096, 4


def best_ms(function, repeats=10):
    function()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return 1e3 * min(times)


def main():
    torch.manual_seed(0)
    draft_head = (torch.randn(DRAFT_SIZE, HIDDEN) / HIDDEN**0.5).to(torch.bfloat16)
    token_ids = torch.randperm(VOCAB_SIZE)[:DRAFT_SIZE].sort().values
    d2t = token_ids - torch.arange(DRAFT_SIZE)
    hidden = torch.randn(BATCH, HIDDEN).to(torch.bfloat16)

    def scatter(logits):
        full = logits.new_full((logits.shape[0], VOCAB_SIZE), float("-inf"))
        full[:, torch.arange(DRAFT_SIZE) + d2t] = logits
        return full

    def original():
        return scatter(hidden @ draft_head.T).argmax(dim=-1)

    target_of_row = torch.arange(DRAFT_SIZE) + d2t
    all_rows = torch.arange(DRAFT_SIZE, dtype=torch.int32)

    def ours():
        rows, _ = shortlist.gather_head_argmax(hidden, draft_head, all_rows)
        return target_of_row[rows.long()]

    # Equality: against the original's steps in f32, whose sums are not rounded to bf16 in between.
    full = scatter(hidden.float() @ draft_head.float().T)
    assert torch.equal(ours(), full.argmax(dim=-1)), "the drafted tokens differ"
    rows, logits, log_sum_exp = shortlist.gather_head_topk(hidden, draft_head, all_rows, 8)
    want, ids = torch.log_softmax(full, dim=-1).topk(8, dim=-1)
    torch.testing.assert_close(logits - log_sum_exp[:, None], want, rtol=1e-3, atol=1e-3)
    assert torch.equal(target_of_row[rows.long()], ids), "the top 8 differ"

    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads: same tokens and probabilities")
    print(f"{'':24s} {'ms/step':>8s} {'logits written':>16s}")
    print(f"{'scatter to full width':24s} {best_ms(original):8.3f} {BATCH * (VOCAB_SIZE + DRAFT_SIZE):16,d}")
    print(f"{'shortlist, compact':24s} {best_ms(ours):8.3f} {BATCH:16,d}")


if __name__ == "__main__":
    main()
