"""The operators, loaded from the shared object that registers them as torch.ops.shortlist.*"""

from pathlib import Path

import torch

torch.ops.load_library(str(Path(__file__).with_name("_ops.so")))

from shortlist import _meta  # noqa: E402,F401  (needs the schemas)

gather_head = torch.ops.shortlist.gather_head
gather_head_argmax = torch.ops.shortlist.gather_head_argmax
gather_head_topk = torch.ops.shortlist.gather_head_topk
