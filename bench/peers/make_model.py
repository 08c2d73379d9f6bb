"""One random Llama, written twice: a Hugging Face directory for shortlist, GGUF for llama.cpp.

Qwen2.5-0.5B's dimensions without its biases, so that both engines run the plain Llama graph. The
weights are the same bf16 bits in both. Only the rows of the query and key projections are
reordered, because GGUF's Llama rotates neighbouring dimensions and Hugging Face's rotates halves.
"""

import json
import struct
from pathlib import Path

import gguf
import llama_cpp
import numpy as np

HIDDEN = 896
INTERMEDIATE = 4864
NUM_LAYERS = 24
NUM_HEADS = 14
NUM_KV_HEADS = 2
HEAD_DIM = 64
VOCAB_SIZE = 151936
CONTEXT_LEN = 2048
ROPE_THETA = 1e6
RMS_NORM_EPS = 1e-6

# Location of each format's weights below the work directory.
HF_DIR = "hf"
GGUF = {"bf16": "bf16.gguf", "8-bit": "q8_0.gguf", "4-bit": "q4_0.gguf"}
_FILE_TYPE = {"8-bit": llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0,
              "4-bit": llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_0}

# Hugging Face's name and GGUF's, shape, and the heads whose rows GGUF permutes (None: as they are).
_LAYER = [
    ("input_layernorm", "attn_norm", (HIDDEN,), None),
    ("self_attn.q_proj", "attn_q", (NUM_HEADS * HEAD_DIM, HIDDEN), NUM_HEADS),
    ("self_attn.k_proj", "attn_k", (NUM_KV_HEADS * HEAD_DIM, HIDDEN), NUM_KV_HEADS),
    ("self_attn.v_proj", "attn_v", (NUM_KV_HEADS * HEAD_DIM, HIDDEN), None),
    ("self_attn.o_proj", "attn_output", (HIDDEN, NUM_HEADS * HEAD_DIM), None),
    ("post_attention_layernorm", "ffn_norm", (HIDDEN,), None),
    ("mlp.gate_proj", "ffn_gate", (INTERMEDIATE, HIDDEN), None),
    ("mlp.up_proj", "ffn_up", (INTERMEDIATE, HIDDEN), None),
    ("mlp.down_proj", "ffn_down", (HIDDEN, INTERMEDIATE), None),
]


def _tensors():
    """(Hugging Face's name, GGUF's name, shape, heads to permute) of all weights in file order."""
    yield "model.embed_tokens.weight", "token_embd.weight", (VOCAB_SIZE, HIDDEN), None
    for i in range(NUM_LAYERS):
        for hf, gguf_, shape, heads in _LAYER:
            yield f"model.layers.{i}.{hf}.weight", f"blk.{i}.{gguf_}.weight", shape, heads
    yield "model.norm.weight", "output_norm.weight", (HIDDEN,), None


def _random_bf16(random, shape):
    """Returns bf16 bits: norms are 1, matrices normal with a deviation of 0.02."""
    if len(shape) == 1:
        return np.full(shape, 0x3F80, dtype=np.uint16)
    values = random.standard_normal(shape, dtype=np.float32) * np.float32(0.02)
    return ((values.view(np.uint32) + 0x8000) >> 16).astype(np.uint16)


def _permuted(bits, num_heads):
    return bits.reshape(num_heads, 2, HEAD_DIM // 2, -1).swapaxes(1, 2).reshape(bits.shape)


def _write_config(directory):
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16",
        "vocab_size": VOCAB_SIZE, "hidden_size": HIDDEN, "intermediate_size": INTERMEDIATE,
        "num_hidden_layers": NUM_LAYERS, "num_attention_heads": NUM_HEADS,
        "num_key_value_heads": NUM_KV_HEADS, "head_dim": HEAD_DIM,
        "max_position_embeddings": CONTEXT_LEN, "rope_theta": ROPE_THETA,
        "rms_norm_eps": RMS_NORM_EPS, "hidden_act": "silu", "tie_word_embeddings": True,
    }
    (directory / "config.json").write_text(json.dumps(config, indent=1))


def _gguf_writer(path):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)
    writer.add_vocab_size(VOCAB_SIZE)
    writer.add_context_length(CONTEXT_LEN)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(INTERMEDIATE)
    writer.add_block_count(NUM_LAYERS)
    writer.add_head_count(NUM_HEADS)
    writer.add_head_count_kv(NUM_KV_HEADS)
    writer.add_key_length(HEAD_DIM)
    writer.add_value_length(HEAD_DIM)
    writer.add_rope_dimension_count(HEAD_DIM)
    writer.add_rope_freq_base(ROPE_THETA)
    writer.add_layer_norm_rms_eps(RMS_NORM_EPS)
    writer.add_tokenizer_model("no_vocab")
    return writer


def _write_weights(work, seed):
    directory = work / HF_DIR
    directory.mkdir(parents=True, exist_ok=True)
    _write_config(directory)
    header, offset = {}, 0
    for name, _, shape, _ in _tensors():
        num_bytes = 2 * int(np.prod(shape))
        end = offset + num_bytes
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)

    random = np.random.default_rng(seed)
    writer = _gguf_writer(work / GGUF["bf16"])
    with open(directory / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, name, shape, heads in _tensors():
            bits = _random_bf16(random, shape)
            bits.tofile(file)
            if len(shape) == 1:
                writer.add_tensor(name, (bits.astype(np.uint32) << 16).view(np.float32))
                continue
            bits = _permuted(bits, heads) if heads else bits
            writer.add_tensor(name, bits.view(np.uint8), raw_dtype=gguf.GGMLQuantizationType.BF16)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _quantise(source, target, file_type):
    """Runs llama.cpp's own quantiser; `pure` stores the head in the wanted type, too."""
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = file_type
    params.pure = True
    if llama_cpp.llama_model_quantize(str(source).encode(), str(target).encode(), params) != 0:
        raise RuntimeError(f"llama.cpp could not quantise {source}")


def make_model(work: Path, formats, seed=1):
    """Writes the missing weights below `work` for `formats`, which are keys of GGUF."""
    complete = work / "complete"  # written last: an interrupted run starts again
    if not complete.exists():
        _write_weights(work, seed)
        complete.touch()
    for name in formats:
        target = work / GGUF[name]
        if target.exists():
            continue
        unfinished = target.with_suffix(".unfinished")
        _quantise(work / GGUF["bf16"], unfinished, _FILE_TYPE[name])
        unfinished.rename(target)
