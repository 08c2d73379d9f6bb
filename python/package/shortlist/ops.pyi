from torch import Tensor

def gather_head(
    hidden: Tensor, weight: Tensor, row_ids: Tensor, tail_indptr: Tensor | None = ..., tail_ids: Tensor | None = ...,
    max_tail: int = ...,
) -> Tensor: ...
def gather_head_argmax(
    hidden: Tensor, weight: Tensor, row_ids: Tensor, tail_indptr: Tensor | None = ..., tail_ids: Tensor | None = ...,
) -> tuple[Tensor, Tensor]: ...
def gather_head_topk(
    hidden: Tensor, weight: Tensor, row_ids: Tensor, k: int, tail_indptr: Tensor | None = ...,
    tail_ids: Tensor | None = ...,
) -> tuple[Tensor, Tensor, Tensor]: ...
