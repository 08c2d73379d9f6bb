"""Makes tests/reference/golden/llama_*: tiny random Llama models, and transformers' logits.

Run with a Python that has torch, transformers and safetensors:
    python tests/reference/make_llama_golden.py
Each case holds config.json, its weights as saved by transformers, and golden.safetensors with
input_ids [num_tokens] and logits [num_tokens, vocab_size], computed in f32 from the stored weights.
"""

import json

import torch
from safetensors.torch import save_file
from tiny_models import fresh_dir, save_model, tiny_config, write_json
from transformers import LlamaConfig, LlamaForCausalLM

NUM_TOKENS = 40

BASE = tiny_config(num_key_value_heads=4)

LLAMA3 = dict(
    rope_type="llama3",
    factor=8.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=16,
)

# name: (overrides, weight dtype, shard size or None)
CASES = {
    "llama_mha": (dict(), torch.float32, None),
    "llama_gqa_tied": (
        dict(num_key_value_heads=2, tie_word_embeddings=True, hidden_size=48, head_dim=16),
        torch.float32,
        None,
    ),
    "llama_linear": (
        dict(num_key_value_heads=1, rope=dict(rope_type="linear", factor=4.0)),
        torch.float32,
        None,
    ),
    "llama_llama3": (dict(rope=dict(LLAMA3, rope_theta=500.0)), torch.float32, None),
    "llama_bf16": (dict(num_key_value_heads=2, rope=LLAMA3), torch.bfloat16, None),
    "llama_f16": (dict(num_key_value_heads=2), torch.float16, None),
    "llama_sharded": (dict(num_key_value_heads=2), torch.float32, "40KB"),
}


def make_case(name, overrides, dtype, shard_size, seed):
    torch.manual_seed(seed)
    overrides = dict(overrides)
    rope = dict(rope_type="default", rope_theta=10000.0) | overrides.pop("rope", {})
    config = LlamaConfig(**(BASE | overrides), rope_parameters=rope)
    model = LlamaForCausalLM(config).eval()
    # transformers starts close to a linear map; spread the weights, so that every operation shows.
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.copy_(1.0 + 0.2 * torch.randn_like(parameter))
            else:
                parameter.normal_(0.0, 1.0 / parameter.shape[1] ** 0.5)
        model.get_input_embeddings().weight.normal_(0.0, 1.0)
    model = model.to(dtype)
    directory = fresh_dir(name)
    save_model(model, directory, **(dict(max_shard_size=shard_size) if shard_size else {}))
    if name == "llama_linear":
        write_rope_in_the_old_way(directory / "config.json")

    # Reloaded: .to(bfloat16) above has rounded the rotary frequencies too, which loading does not.
    reference = LlamaForCausalLM.from_pretrained(directory, dtype=torch.float32).eval()
    input_ids = torch.randint(0, config.vocab_size, (1, NUM_TOKENS))
    with torch.no_grad():
        logits = reference(input_ids).logits[0]
    golden = dict(input_ids=input_ids[0].to(torch.int32), logits=logits.contiguous())
    save_file(golden, directory / "golden.safetensors")
    size = sum(file.stat().st_size for file in directory.iterdir())
    print(f"{name}: {size} bytes, max |logit| {logits.abs().max():.3f}")


def write_rope_in_the_old_way(path):
    """Writes rope_scaling and torch_dtype like transformers 4, as most published checkpoints have
    them."""
    config = json.loads(path.read_text())
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope["rope_theta"]
    config["rope_scaling"] = {"type": rope["rope_type"], "factor": rope["factor"]}
    config["torch_dtype"] = config.pop("dtype")
    write_json(path, config, indent=2)


if __name__ == "__main__":
    for seed, (case_name, arguments) in enumerate(CASES.items()):
        make_case(case_name, *arguments, seed=seed)
