"""Makes tests/reference/golden/packed/*.safetensors: linear layers packed by GPTQ and AWQ, and their weights as
unpacked by AutoGPTQ 0.7.1 and AutoAWQ 0.2.9, in f16.

Run with a Python that has numpy, torch, transformers and safetensors, after
    pip install --no-deps auto-gptq==0.7.1 autoawq==0.2.9
(only two of their source files are loaded, so that nothing else has to fit). Each file holds qweight, qzeros, scales,
g_idx if the layer has one, and weight [out, in].
"""

import importlib.util
import pathlib
import shutil

import torch
from safetensors.torch import save_file

DIR = pathlib.Path(__file__).parent / "golden" / "packed"
IN, OUT = 64, 40


def load(package, path):
    root = pathlib.Path(importlib.util.find_spec(package).origin).parent
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, root / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


gptq = load("auto_gptq", "nn_modules/qlinear/qlinear_cuda.py")
awq = load("awq", "utils/packing_utils.py")


def words(*shape):
    return torch.randint(-(2**31), 2**31, shape, dtype=torch.int32)


def scales(groups):
    return (0.02 * torch.rand(groups, OUT) + 1e-4).half()


def make_gptq(name, group_size, act_order):
    groups = IN // group_size
    layer = gptq.QuantLinear(4, group_size, IN, OUT, bias=False, weight_dtype=torch.float16)
    layer.qweight, layer.qzeros = words(IN // 8, OUT), words(groups, OUT // 8)
    layer.scales = scales(groups)
    if act_order:
        layer.g_idx = layer.g_idx[torch.randperm(IN)].to(torch.int32)
    identity = torch.eye(IN, dtype=torch.float16)
    tensors = dict(
        qweight=layer.qweight,
        qzeros=layer.qzeros,
        scales=layer.scales,
        g_idx=layer.g_idx.to(torch.int32),
        weight=layer(identity).T.contiguous(),
    )
    save_file(tensors, DIR / f"{name}.safetensors")


def make_awq(name, group_size):
    groups = IN // group_size
    tensors = dict(qweight=words(IN, OUT // 8), qzeros=words(groups, OUT // 8), scales=scales(groups))
    weight = awq.dequantize_gemm(*tensors.values(), bits=4, group_size=group_size)
    save_file(tensors | dict(weight=weight.T.contiguous()), DIR / f"{name}.safetensors")


if __name__ == "__main__":
    shutil.rmtree(DIR, ignore_errors=True)
    DIR.mkdir(parents=True)
    torch.manual_seed(0)
    make_gptq("gptq", group_size=16, act_order=False)
    make_gptq("gptq_act_order", group_size=16, act_order=True)
    make_gptq("gptq_one_group", group_size=IN, act_order=False)
    make_awq("awq", group_size=32)
