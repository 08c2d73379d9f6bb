"""Makes tests/reference/golden/torch/: one tiny random model as safetensors and as written by torch.save in several
ways.

Run with a Python that has torch, transformers and safetensors:
    python tests/reference/make_torch_golden.py
"""

import collections
import json

import torch
from safetensors.torch import save_file
from tiny_models import fresh_dir, tiny_config
from transformers import LlamaConfig, LlamaForCausalLM


def main():
    directory = fresh_dir("torch")
    torch.manual_seed(0)
    config = LlamaConfig(
        **tiny_config(vocab_size=40, hidden_size=16, intermediate_size=24, num_attention_heads=2,
                      num_key_value_heads=1, rms_norm_eps=1e-6),
        dtype="float16",
    )
    config.architectures = ["LlamaForCausalLM"]
    (directory / "config.json").write_text(config.to_json_string())
    model = LlamaForCausalLM(config).half()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    state = model.state_dict()  # an OrderedDict with _metadata
    save_file({name: tensor.contiguous() for name, tensor in state.items()}, directory / "model.safetensors")
    torch.save(state, directory / "state_dict.bin")
    torch.save(dict(model.named_parameters()), directory / "parameters.bin")
    torch.save(state, directory / "legacy.bin", _use_new_zipfile_serialization=False)

    # Views into one storage, as saved by older scripts for fused weights.
    flat = torch.cat([tensor.reshape(-1) for tensor in state.values()])
    views, at = collections.OrderedDict(), 0
    for name, tensor in state.items():
        views[name] = flat[at : at + tensor.numel()].view(tensor.shape)
        at += tensor.numel()
    torch.save(views, directory / "views.bin")

    names = list(state)
    shards = {"pytorch_model-00001-of-00002.bin": names[:9], "pytorch_model-00002-of-00002.bin": names[9:]}
    for shard, members in shards.items():
        torch.save({name: state[name] for name in members}, directory / shard)
    index = {
        "metadata": {"total_size": 2 * sum(tensor.numel() for tensor in state.values())},
        "weight_map": {name: shard for shard, members in shards.items() for name in members},
    }
    (directory / "pytorch_model.bin.index.json").write_text(json.dumps(index))

    torch.save({"w": torch.arange(6.0).view(2, 3).T}, directory / "strided.pt")
    torch.save([3, 1, 4, 1 << 40, -5], directory / "ints.pt")
    every_dtype = {
        str(dtype).removeprefix("torch."): torch.ones(2, 3).to(dtype)
        for dtype in (torch.float64, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
                      torch.bool, torch.bfloat16)
    }
    torch.save(every_dtype, directory / "dtypes.pt")
    make_integers(directory)


def make_integers(directory):
    """Writes token maps as torch.save does: ids 7 12 99 500 900 if the dtype can hold them."""
    ids = [7, 12, 99, 500, 900]
    torch.save(torch.tensor(ids, dtype=torch.uint16), directory / "map_uint16.pt")
    with_gaps = torch.arange(40).to(torch.uint32)
    torch.save(
        {
            "uint16": torch.tensor(ids, dtype=torch.uint16),
            "uint32": torch.tensor([*ids[:4], (1 << 32) - 1], dtype=torch.uint32),
            "uint64": torch.tensor([*ids[:4], 1 << 40], dtype=torch.uint64),
            "too_large": torch.tensor([7, (1 << 63) + 5], dtype=torch.uint64),
            "strided": with_gaps[3::9],  # 3 12 21 30 39
            "none": torch.tensor([], dtype=torch.uint16),
            "float8": torch.tensor([1.0, 2.0]).to(torch.float8_e4m3fn),
        },
        directory / "unsigned.pt",
    )
    attributed = torch.tensor(ids)
    attributed.note = "counted on prose"
    torch.save(attributed, directory / "map_attribute.pt")
    torch.save(torch._neg_view(torch.tensor(ids)), directory / "map_negated.pt")
    mask = torch.zeros(1000, dtype=torch.bool)
    mask[ids] = True
    d2t = torch.tensor([id - row for row, id in enumerate(ids)])
    torch.save({"d2t": d2t, "t2d": mask}, directory / "d2t.pt")


if __name__ == "__main__":
    main()
