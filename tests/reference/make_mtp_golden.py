"""Makes tests/reference/golden/mtp/*.json: four draft steps of tiny Qwen3.5 models with a layer for multi-token
prediction (MTP), computed with transformers' modules.

Run with a Python that has numpy, torch and transformers:
    python tests/reference/make_mtp_golden.py
Weights are not stored: both sides compute them from the tensor's name (see `weights` in tiny_models.py). A case holds
    config: config.json's contents
    tensors: the shapes of the model's and of the MTP layer's tensors, by their names in published checkpoints
    prompt_len: n
    ids: the prompt, the target's greedy choice after it, and the token that each draft step chooses [n + 1 + 4]
    features: the target's states after its final norm [n, hidden], row by row
    states: the MTP layer's outputs y after its last norm [n + 3, hidden]
    logits: the target's head on them [n + 3, vocab_size]
Row i takes token ids[i + 1]. The state next to it is features[i] in step 1, rows 0 .. n - 1, and states[i - 1] in
steps 2 to 4, the rows n .. n + 2. ids[i + 2] is the greedy choice of row i, from row n - 1 on.
"""

import json

import torch
from make_decoder_golden import BASE, QWEN3_5
from tiny_models import GOLDEN_DIR, weights, write_json
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.cache_utils import MtpCache
from transformers.modeling_layers import MtpModel

PROMPT_LEN, NUM_STEPS = 12, 4
ROPE = dict(rope_type="default", rope_theta=1000.0)

# name: (rope parameters, overrides)
CASES = {
    "tied": (ROPE, dict(tie_word_embeddings=True)),
    "own_head": (
        dict(ROPE, partial_rotary_factor=0.5, mrope_section=[2, 1, 1], mrope_interleaved=True),
        dict(num_hidden_layers=2, layer_types=["linear_attention", "full_attention"], num_key_value_heads=1),
    ),
}

# Names in published checkpoints, of what transformers calls otherwise.
NAMES = {
    "layers.0.eh_proj": "mtp.fc",
    "layers.0.enorm": "mtp.pre_fc_norm_embedding",
    "layers.0.hnorm": "mtp.pre_fc_norm_hidden",
    "layers.0.post_norm": "mtp.norm",
    "layers.0.mtp_block": "mtp.layers.0",
}


def published_name(name):
    for prefix, published in NAMES.items():
        if name.startswith(prefix + "."):
            return published + name.removeprefix(prefix)
    return None  # embedding and head, the target's


def fill(module, name_of, shapes):
    """Sets the module's parameters from their published names. Adds these names' shapes to `shapes`."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name_of(name) is not None:
                shapes[name_of(name)] = list(parameter.shape)
                parameter.copy_(torch.from_numpy(weights(name_of(name), parameter.shape)))


def make_models(rope, overrides):
    """Returns the target, its MTP layer and the shapes of all tensors."""
    config = AutoConfig.for_model("qwen3_5_text", **(BASE | QWEN3_5 | overrides), rope_parameters=rope)
    config.dtype = torch.float32
    # What transformers 5.24 wants for an MTP layer of a family that it does not build one for.
    config.num_mtp_layers, config.mtp_layer_types = 1, ["full_attention"]
    target = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    mtp = MtpModel(target, 1).eval()
    shapes = {}
    fill(target, lambda name: name, shapes)
    fill(mtp, published_name, shapes)
    return target, mtp, shapes


def draft(target, mtp, prompt):
    """Returns ids, features, states and logits, as in a case, and the smallest gap between the best and the next logit
    of a greedy choice, relative to the largest."""
    with torch.no_grad():
        features = target.model(torch.tensor([prompt])).last_hidden_state
        cache, states, logits, margin = MtpCache(config=mtp.config), [], [target.lm_head(features)[0, -1]], float("inf")
        ids, state = list(prompt), features
        for step in range(NUM_STEPS + 1):
            best = logits[-1].topk(2)
            margin = min(margin, (best.values[0] - best.values[1]).item() / logits[-1].abs().max().item())
            ids.append(int(best.indices[0]))
            if step == NUM_STEPS:
                break
            first = 0 if step == 0 else PROMPT_LEN + step - 1  # of this step's rows
            positions = torch.arange(first + 1, len(ids))[None]
            state = mtp.forward_layer(0, state, positions, cache, input_ids=torch.tensor([ids[first + 1 :]]))
            states += state[0]
            logits += mtp._project_to_logits(state)[0]
            state = state[:, -1:]
    return ids, features[0], torch.stack(states), torch.stack(logits[1:]), margin


def written(rows):
    return [[float(f"{value:.7g}") for value in row] for row in rows.tolist()]


def make_case(name, rope, overrides):
    target, mtp, shapes = make_models(rope, overrides)

    # Of several prompts, the one with the most varied output among those for which no greedy choice depends on the
    # last bits.
    best = None
    for offset in range(16):
        prompt = [1 + (7 * i * i + 3 * i + offset) % 60 for i in range(PROMPT_LEN)]
        ids, features, states, logits, margin = draft(target, mtp, prompt)
        if margin > 2e-2 and (best is None or len(set(ids)) > len(set(best[0]))):
            best = ids, features, states, logits, margin
    ids, features, states, logits, margin = best

    stored = json.loads(target.config.to_json_string(use_diff=False))
    for key in ("id2label", "label2id", "transformers_version", "num_mtp_layers", "mtp_layer_types"):
        stored.pop(key, None)
    stored |= dict(architectures=[type(target).__name__], mtp_num_hidden_layers=1, mtp_use_dedicated_embeddings=False)
    golden = dict(config=stored, tensors=shapes, prompt_len=PROMPT_LEN, ids=ids)
    golden |= dict(features=written(features), states=written(states), logits=written(logits))
    path = GOLDEN_DIR / "mtp" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    write_json(path, golden, separators=(",", ":"))
    print(f"{name}: {path.stat().st_size} bytes, margin {margin:.2e}, ids {ids}")


if __name__ == "__main__":
    for case, (parameters, changes) in CASES.items():
        make_case(case, parameters, changes)
