"""What the makers of golden models share: where they write, and the shape of a tiny model."""

import json
import pathlib
import shutil

GOLDEN_DIR = pathlib.Path(__file__).parent / "golden"


def tiny_config(**overrides):
    """Fields of a decoder's config.json, small but with nothing degenerate about them."""
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
    """An empty directory below GOLDEN_DIR."""
    directory = GOLDEN_DIR.joinpath(*parts)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory


def save_model(model, directory, **options):
    """config.json and weights, as transformers saves them."""
    model.save_pretrained(directory, **options)
    (directory / "generation_config.json").unlink(missing_ok=True)


def write_json(path, value, **style):
    path.write_text(json.dumps(value, **style) + "\n")
