"""The head of a draft model over the currently likely tokens, and the vocabulary that selects these tokens.

`gather_head`, `gather_head_argmax` and `gather_head_topk` are those of torch.ops.shortlist. VocabList,
VocabularyManager and ActiveVocab are the C++ classes. See python/README.md.
"""

import torch

from shortlist._build import TORCH_VERSION

if torch.__version__ != TORCH_VERSION:
    raise ImportError(
        f"shortlist was built against PyTorch {TORCH_VERSION}, and this is {torch.__version__}: "
        "build it again with pip install --force-reinstall --no-deps --no-cache-dir"
    )

from shortlist._vocab import ActiveVocab, VocabList, VocabularyManager
from shortlist.ops import gather_head, gather_head_argmax, gather_head_topk

__all__ = [
    "ActiveVocab",
    "VocabList",
    "VocabularyManager",
    "gather_head",
    "gather_head_argmax",
    "gather_head_topk",
]
