"""Shared by the makers of golden models: where they write, and the shape of a tiny model."""

import json
import pathlib
import shutil

import numpy as np

GOLDEN_DIR = pathlib.Path(__file__).parent / "golden"
MASK = (1 << 64) - 1


def tiny_config(**overrides):
    """Returns fields of a decoder's config.json, small but without degenerate values."""
    return dict(
        vocab_size=100,
        hidden_size=32,
        intermediate_size=56,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        rms_norm_eps=1e-5,
        tie_word_embeddings=False,
        bos_token_id=1,
        eos_token_id=2,
    ) | overrides


def fresh_dir(*parts):
    """Makes an empty directory below GOLDEN_DIR."""
    directory = GOLDEN_DIR.joinpath(*parts)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory


def save_model(model, directory, **options):
    """Saves config.json and weights as transformers does."""
    model.save_pretrained(directory, **options)
    (directory / "generation_config.json").unlink(missing_ok=True)


def write_json(path, value, **style):
    path.write_text(json.dumps(value, **style) + "\n")


def weights(name, shape):
    """Returns values in [-1, 1) from SplitMix64 over the index, seeded with the name's FNV-1a hash,
    then spread so that every operation shows in the logits. All in f32, bit for bit as in the
    tests."""
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = ((seed ^ byte) * 0x100000001B3) & MASK
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, np.prod(shape) + 1, dtype=np.uint64) * np.uint64(
            0x9E3779B97F4A7C15
        )
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    unit = (z >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1)
    if name.lower().endswith("norm.weight"):
        values = np.float32(1) + np.float32(0.25) * unit
    elif name.endswith(".bias"):
        values = np.float32(0.5) * unit
    elif name == "model.embed_tokens.weight":
        values = np.float32(1.75) * unit
    else:
        values = np.float32(np.sqrt(6.0 / shape[-1])) * unit
    return values.reshape(shape)
