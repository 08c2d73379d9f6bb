"""Tests that take `device` run on the CPU, and on CUDA if this build and this machine support it."""

import pytest
import torch

from shortlist import _build

NO_CUDA = "" if torch.cuda.is_available() else "there is no GPU"
if not _build.CUDA:
    NO_CUDA = "this build of shortlist has no CUDA"

on_cuda = pytest.mark.skipif(bool(NO_CUDA), reason=NO_CUDA)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=on_cuda)])
def device(request):
    return request.param
