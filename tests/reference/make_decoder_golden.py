"""Makes tests/reference/golden/decoders/*.json: transformers' results for tiny models of every architecture and every
kind of rotary scaling.

Run with a Python that has numpy, torch and transformers:
    python tests/reference/make_decoder_golden.py [CASE...]
Weights are not stored: both sides compute them from the tensor's name (see `weights` in tiny_models.py and
GoldenWeights in tests/model/model_fixture.h). A case holds config.json's contents, the shapes of the tensors,
prompt_ids, the 64 ids that greedy decoding with transformers' own cache emits in f32, and the logits after some of
them.
"""

import json
import sys

import torch
from tiny_models import GOLDEN_DIR, tiny_config, weights, write_json
from transformers import AutoConfig, AutoModelForCausalLM

PROMPT_LEN, NUM_GREEDY, LOGITS_EVERY = 24, 64, 9

BASE = tiny_config(vocab_size=61, intermediate_size=40, max_position_embeddings=128)

ARCHITECTURES = {
    "llama": ("llama", {}),
    "mistral": ("mistral", dict(sliding_window=20)),
    "qwen2": ("qwen2", {}),
    "qwen3": ("qwen3", dict(head_dim=12)),
}
GEMMA = ("gemma", dict(head_dim=12))  # with only one kind of rotary scaling

LLAMA3 = dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0)

# name: (rope parameters, overrides); the positions 0 .. 87 reach beyond every original context
ROPES = {
    "default": (dict(rope_type="default"), {}),
    "linear": (dict(rope_type="linear", factor=4.0), {}),
    "dynamic": (dict(rope_type="dynamic", factor=4.0), dict(max_position_embeddings=40)),
    "llama3": (dict(rope_type="llama3", original_max_position_embeddings=32, **LLAMA3), {}),
    "yarn": (dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=32), {}),
}

YARN_OPTIONS = dict(
    rope_type="yarn",
    factor=8.0,
    original_max_position_embeddings=16,
    beta_fast=8.0,
    beta_slow=0.5,
    mscale=0.7,
    mscale_all_dim=0.4,
    truncate=False,
)

# name: (architecture, rope parameters, overrides)
FURTHER = {
    "llama_yarn_options": ("llama", YARN_OPTIONS, {}),
    "llama_yarn_attention_factor": (
        "llama",
        dict(ROPES["yarn"][0], attention_factor=1.25),
        dict(head_dim=16, num_key_value_heads=4),
    ),
    "qwen2_some_layers_slide": (
        "qwen2",
        ROPES["default"][0],
        dict(
            use_sliding_window=True, sliding_window=9, max_window_layers=1, num_hidden_layers=3
        ),
    ),
    "qwen3_tied": ("qwen3", ROPES["default"][0], dict(tie_word_embeddings=True)),
    "gemma": ("gemma", ROPES["default"][0], dict(tie_word_embeddings=True)),
}

# Both kinds of layers, with a window shorter than the prompt; what GGUF files leave to llama.cpp is as there.
GEMMA3 = dict(
    vocab_size=512,
    intermediate_size=24,
    head_dim=12,
    query_pre_attn_scalar=12,
    sliding_window=9,
    num_hidden_layers=7,
    tie_word_embeddings=True,
)
GEMMA3_ROPE = dict(
    full_attention=dict(rope_type="default", rope_theta=1000.0),
    sliding_attention=dict(rope_type="default", rope_theta=10000.0),
)
# What GGUF files cannot say: another pattern, scale and base of the layers with a window.
GEMMA3_LINEAR = dict(
    head_dim=12,
    query_pre_attn_scalar=3,
    sliding_window=9,
    num_hidden_layers=3,
    sliding_window_pattern=2,
)
GEMMA3_LINEAR_ROPE = dict(
    full_attention=dict(rope_type="linear", factor=8.0, rope_theta=1000.0),
    sliding_attention=dict(rope_type="default", rope_theta=50.0),
)

YARN = dict(ROPES["yarn"][0], original_max_position_embeddings=16)
MINISTRAL3 = dict(
    YARN,
    factor=8.0,
    mscale=1.0,
    mscale_all_dim=1.0,
    llama_4_scaling_beta=0.3,
    max_position_embeddings=128,
)
LONGROPE = dict(
    rope_type="longrope",
    short_factor=[1.0, 1.5, 2.25],
    long_factor=[1.0, 4.0, 9.0],
    partial_rotary_factor=0.75,
)
GRANITE = dict(
    embedding_multiplier=1.5,
    residual_multiplier=0.4,
    attention_multiplier=0.25,
    logits_scaling=8.0,
)
EXPERTS = dict(num_experts=7, num_experts_per_tok=3, moe_intermediate_size=20)
SPARSE = dict(num_local_experts=7, num_experts_per_tok=3, intermediate_size=20)
QWEN3_MOE = EXPERTS | dict(head_dim=12, norm_topk_prob=True)
OLMO3_ROPE = dict(
    full_attention=dict(YARN, rope_theta=1000.0),
    sliding_attention=dict(rope_type="default", rope_theta=1000.0),
)

# Families with parts of their own. name: (architecture, rope parameters, overrides)
FAMILIES = {
    "llama_biases": (
        "llama",
        ROPES["default"][0],
        dict(attention_bias=True, mlp_bias=True),
    ),
    "ministral3": ("ministral3", MINISTRAL3, dict(head_dim=12)),
    "phi3": ("phi3", ROPES["default"][0], dict(sliding_window=20, pad_token_id=0)),
    "phi3_longrope": (
        "phi3",
        LONGROPE,
        dict(
            max_position_embeddings=384,
            original_max_position_embeddings=96,
            tie_word_embeddings=True,
            pad_token_id=0,
        ),
    ),
    "granite": ("granite", ROPES["default"][0], GRANITE),
    "granite4": (
        "granitemoehybrid",
        ROPES["default"][0],
        dict(
            GRANITE,
            num_local_experts=0,
            layer_types=["full_attention"] * 2,
            shared_intermediate_size=40,
            position_embedding_type="rope",
            mamba_n_heads=4,
        ),
    ),
    "olmo2": ("olmo2", ROPES["default"][0], {}),
    "olmo3": ("olmo3", OLMO3_ROPE, dict(num_hidden_layers=4, sliding_window=9)),
    "smollm3": (
        "smollm3",
        ROPES["default"][0],
        dict(num_hidden_layers=3, no_rope_layer_interval=2, pad_token_id=0),
    ),
    "glm4": (
        "glm4",
        dict(rope_type="default", partial_rotary_factor=0.5),
        dict(head_dim=16, attention_bias=True, pad_token_id=0),
    ),
    "exaone4": (
        "exaone4",
        ROPES["default"][0],
        dict(num_hidden_layers=4, sliding_window=9, pad_token_id=0),
    ),
    "ernie4_5": ("ernie4_5", ROPES["default"][0], dict(head_dim=12)),
    "glm": (
        "glm",
        dict(rope_type="default", partial_rotary_factor=0.5),
        dict(head_dim=12, attention_bias=True, pad_token_id=0),
    ),
    "olmoe": (
        "olmoe",
        ROPES["default"][0],
        dict(num_experts=7, num_experts_per_tok=3, intermediate_size=20),
    ),
    "seed_oss": ("seed_oss", ROPES["default"][0], dict(head_dim=12)),
}


# Three gated delta nets, then attention; two value heads for each key head.
QWEN3_5 = dict(
    head_dim=16,
    num_hidden_layers=4,
    linear_num_key_heads=2,
    linear_num_value_heads=4,
    linear_key_head_dim=12,
    linear_value_head_dim=20,
)


def as_old_export(stored):
    """Writes the fields of Gemma 3's first releases instead of those that transformers 5 saves."""
    parameters = stored.pop("rope_parameters")
    stored.pop("layer_types")
    stored["rope_local_base_freq"] = parameters["sliding_attention"]["rope_theta"]
    stored["rope_scaling"] = dict(parameters["full_attention"])
    stored["rope_theta"] = stored["rope_scaling"].pop("rope_theta")


def as_text_of(stored, architecture, model_type):
    text = dict(stored)
    text.pop("architectures")
    stored.clear()
    stored.update(
        architectures=[architecture],
        model_type=model_type,
        text_config=text,
        vision_config=dict(model_type="pixtral"),
    )


def as_text_of_mistral3(stored):
    """Nests the configuration as in a model of texts and pictures."""
    as_text_of(stored, "Mistral3ForConditionalGeneration", "mistral3")


def as_text_of_qwen3_5(stored):
    as_text_of(stored, "Qwen3_5ForConditionalGeneration", "qwen3_5")
    # As in files of small models.
    stored["tie_word_embeddings"] = True
    stored["text_config"].pop("tie_word_embeddings")


def decode(model, prompt):
    """Returns greedy ids, the logits after every LOGITS_EVERY-th, and the smallest gap between the best and the next
    logit, relative to the largest."""
    step, cache, greedy, rows, margin = torch.tensor([prompt]), None, [], [], float("inf")
    for i in range(NUM_GREEDY):
        with torch.no_grad():
            out = model(step, past_key_values=cache, use_cache=True)
        cache, logits = out.past_key_values, out.logits[0, -1]
        best = logits.topk(2).values
        margin = min(margin, (best[0] - best[1]).item() / logits.abs().max().item())
        if i % LOGITS_EVERY == 0:
            rows.append([float(f"{value:.7g}") for value in logits.tolist()])
        greedy.append(int(logits.argmax()))
        step = torch.tensor([greedy[-1:]])
    return greedy, rows, margin


def as_one(key, parameter):
    """Stores a parameter under its own name."""
    return {key: parameter}


def by_expert(key, parameter):
    """Stores stacked experts one by one, as Hugging Face's files do."""
    module, _, kind = key.rpartition(".")
    if not module.endswith(".experts"):
        return {key: parameter}
    names = ["gate_proj", "up_proj"] if kind == "gate_up_proj" else [kind]
    return {
        f"{module}.{expert}.{name}.weight": rows
        for expert, matrix in enumerate(parameter)
        for name, rows in zip(names, matrix.chunk(len(names)))
    }


def as_mixtral(key, parameter):
    """Stores Mixtral's experts one by one, under the names of its files."""
    parts = {"gate_proj": "w1", "up_proj": "w3", "down_proj": "w2"}
    stored = {}
    for name, values in by_expert(key, parameter).items():
        for part, short in parts.items():
            name = name.replace(part, short) if ".experts." in name else name
        stored[name.replace(".mlp.", ".block_sparse_moe.")] = values
    return stored


def as_granite_moe(key, parameter):
    """Stores stacked experts under the names of Granite's files."""
    for name, short in {"experts.gate_up_proj": "input_linear.weight", "experts.down_proj": "output_linear.weight",
                        "router.weight": "router.layer.weight"}.items():  # fmt: skip
        key = key.replace(name, short)
    return {key: parameter}


def make_case(name, model_type, rope, overrides, edit=None, stored_as=as_one, ignored=None):
    if len(sys.argv) > 1 and name not in sys.argv[1:]:
        return
    by_type = "full_attention" in rope
    config = AutoConfig.for_model(
        model_type,
        **(BASE | overrides),
        rope_parameters=rope if by_type else dict(rope, rope_theta=1000.0),
    )
    config.dtype = torch.float32
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    config.architectures = [type(model).__name__]
    shapes = {}
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            for stored_name, values in stored_as(key, parameter.data).items():
                shapes[stored_name] = list(values.shape)
                values.copy_(torch.from_numpy(weights(stored_name, shapes[stored_name])))

    # Of several prompts, the one with the most varied output among those for which no greedy choice depends on the
    # last bits.
    best = None
    for offset in range(16):
        prompt = [1 + (7 * i * i + 3 * i + offset) % 60 for i in range(PROMPT_LEN)]
        greedy, rows, margin = decode(model, prompt)
        if margin > 2e-4 and (best is None or len(set(greedy)) > len(set(best[1]))):
            best = prompt, greedy, rows, margin
    prompt, greedy, rows, margin = best

    stored = json.loads(config.to_json_string(use_diff=False))
    # Written by transformers for every model; irrelevant for a decoder.
    for key in ("id2label", "label2id", "transformers_version"):
        stored.pop(key, None)
    if edit is not None:
        edit(stored)
    golden = dict(
        config=stored,
        tensors=shapes | (ignored or {}),
        prompt_ids=prompt,
        greedy_ids=greedy,
        logits_every=LOGITS_EVERY,
        logits=rows,
    )
    path = GOLDEN_DIR / "decoders" / f"{name}.json"
    write_json(path, golden, separators=(",", ":"))
    print(f"{name}: {path.stat().st_size} bytes, margin {margin:.2e}, {len(set(greedy))} ids")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for architecture, (kind, extra) in ARCHITECTURES.items():
        for rope_name, (parameters, changes) in ROPES.items():
            make_case(f"{architecture}_{rope_name}", kind, parameters, extra | changes)
    for case, (architecture, parameters, changes) in FURTHER.items():
        kind, extra = GEMMA if architecture == "gemma" else ARCHITECTURES[architecture]
        make_case(case, kind, parameters, extra | changes)
    make_case("gemma3", "gemma3_text", GEMMA3_ROPE, GEMMA3)
    make_case("gemma3_linear", "gemma3_text", GEMMA3_LINEAR_ROPE, GEMMA3_LINEAR)
    make_case("gemma3_old_export", "gemma3_text", GEMMA3_LINEAR_ROPE, GEMMA3_LINEAR, as_old_export)
    make_case("qwen3_5", "qwen3_5_text", ROPES["default"][0], QWEN3_5 | dict(tie_word_embeddings=True))
    make_case(
        "qwen3_5_layer_types",
        "qwen3_5_text",
        dict(ROPES["default"][0], partial_rotary_factor=0.5, mrope_section=[1, 1, 0], mrope_interleaved=True),
        QWEN3_5 | dict(num_hidden_layers=3, linear_conv_kernel_dim=2, layer_types=["full_attention", "linear_attention", "full_attention"]),
    )
    for case, (architecture, parameters, changes) in FAMILIES.items():
        make_case(case, architecture, parameters, changes, stored_as=by_expert)
    make_case(
        "mistral3",
        "ministral3",
        MINISTRAL3,
        dict(head_dim=12),
        as_text_of_mistral3,
        lambda key, parameter: {"language_model." + key: parameter},
        {"vision_tower.patch_conv.weight": [2, 3], "multi_modal_projector.linear_1.weight": [2, 2]},
    )
    make_case(
        "qwen3_5_with_pictures",
        "qwen3_5_text",
        ROPES["default"][0],
        QWEN3_5 | dict(num_hidden_layers=2, full_attention_interval=2, tie_word_embeddings=True),
        as_text_of_qwen3_5,
        lambda key, parameter: {key.replace("model.", "model.language_model.", 1): parameter},
        {"model.visual.patch_embed.proj.weight": [2, 3]},
    )
    make_case("qwen3_moe", "qwen3_moe", ROPES["default"][0], QWEN3_MOE, stored_as=by_expert)
    make_case(
        "qwen3_moe_stacked",
        "qwen3_moe",
        ROPES["default"][0],
        QWEN3_MOE
        | dict(
            num_hidden_layers=4,
            decoder_sparse_step=2,
            mlp_only_layers=[3],
            norm_topk_prob=False,
        ),
    )
    make_case("mixtral", "mixtral", ROPES["default"][0], SPARSE | dict(sliding_window=20), stored_as=as_mixtral)
    make_case("granite_moe", "granitemoe", ROPES["default"][0], GRANITE | SPARSE, stored_as=as_granite_moe)
    make_case(
        "qwen2_moe",
        "qwen2_moe",
        ROPES["default"][0],
        EXPERTS | dict(shared_expert_intermediate_size=28),
        stored_as=by_expert,
    )
    make_case(
        "qwen3_5_moe",
        "qwen3_5_moe_text",
        ROPES["default"][0],
        QWEN3_5 | EXPERTS | dict(shared_expert_intermediate_size=28),
    )
