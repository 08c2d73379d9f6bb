"""Writes the trained models as Hugging Face directories, each with its model card."""

import json
import shutil

import torch
from safetensors.torch import save_file

TOKENIZER_CONFIG = {
    "tokenizer_class": "LlamaTokenizer",
    "bos_token": "<s>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "add_bos_token": True,
    "add_eos_token": False,
}


def _config(shape, architecture, tied):
    return {
        "architectures": [architecture],
        "model_type": "llama",
        "hidden_size": shape.hidden,
        "intermediate_size": shape.intermediate,
        "num_hidden_layers": shape.num_layers,
        "num_attention_heads": shape.num_heads,
        "num_key_value_heads": shape.num_kv_heads,
        "head_dim": shape.head_dim,
        "vocab_size": shape.vocab_size,
        "max_position_embeddings": shape.context_len,
        "rms_norm_eps": shape.rms_norm_eps,
        "rope_theta": shape.rope_theta,
        "hidden_act": "silu",
        "tie_word_embeddings": tied,
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "torch_dtype": "bfloat16",
    }


def write(folder, config, weights, tokenizer, card):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    tensors = {name: weight.detach().cpu().to(torch.bfloat16).contiguous() for name, weight in weights.items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)
    if tokenizer.resolve() != (folder / "tokenizer.model").resolve():
        shutil.copyfile(tokenizer, folder / "tokenizer.model")
    (folder / "tokenizer_config.json").write_text(json.dumps(TOKENIZER_CONFIG, indent=1) + "\n")
    (folder / "README.md").write_text(card)


def write_llama(folder, model, tokenizer, card):
    """The head is tied to the embedding."""
    weights = {f"model.{name}": weight for name, weight in model.state_dict().items()}
    write(folder, _config(model.shape, "LlamaForCausalLM", tied=True), weights, tokenizer, card)


def write_eagle(folder, eagle, tokenizer, card):
    """EAGLE-1 layout: without embedding and head, which are the target's."""
    config = _config(eagle.shape, "LlamaForCausalLMEagle", tied=True) | {"bias": False}
    write(folder, config, eagle.state_dict(), tokenizer, card)
