#!/usr/bin/env python3
"""Writes golden/gguf: blocks of every type of GGUF tensor with their values, and small models as GGUF files.

usage: tests/reference/make_gguf_golden.py    (needs gguf, llama-cpp-python, numpy, safetensors,
    sentencepiece, tokenizers and transformers)
blocks.json   by type: random blocks, and what gguf.quants.dequantize makes of them, as hexadecimal bytes of f32
llama.gguf    golden/llama_mha, with the rows of q and k in llama.cpp's order (its convert_hf_to_gguf.py: permute)
parts-*.gguf  the same in two files
gemma3.gguf   golden/decoders/gemma3.json, with 1 added to the weights of norms, and a SentencePiece vocabulary as
              llama.cpp's convert_hf_to_gguf.py writes it (_create_vocab_sentencepiece)
gemma3_ids.json   texts, and what transformers' GemmaTokenizer over the same vocabulary makes of them
pieces.gguf   a SentencePiece vocabulary with a space before each text, as of Llama 2, and no layers
pieces_ids.json   texts, what llama.cpp makes of them with this file, and the text that the sentencepiece library makes
              of the ids, which are its own too unless there are added tokens
"""

import io
import json
import tempfile
from pathlib import Path

import gguf
import llama_cpp
import numpy as np
import sentencepiece
from gguf.quants import dequantize
from safetensors.numpy import load_file
from tiny_models import weights as golden_weights
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, GemmaTokenizer
from transformers.tokenization_utils_base import generate_merges

GOLDEN = Path(__file__).resolve().parent / "golden"
NUM_BLOCKS = 4
# Offsets of the f16 numbers of a block.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2],
          "Q6_K": [208], "IQ4_NL": [0]}  # fmt: skip


def random_blocks(name, random):
    kind = gguf.GGMLQuantizationType[name]
    blocks = random.integers(0, 256, (NUM_BLOCKS, gguf.GGML_QUANT_SIZES[kind][1]), dtype=np.uint8)
    for offset in SCALES[name]:
        scales = random.normal(scale=0.01, size=NUM_BLOCKS).astype(np.float16)
        blocks[:, offset:offset + 2] = scales.view(np.uint8).reshape(NUM_BLOCKS, 2)
    return blocks, dequantize(blocks, kind).astype(np.float32)


def permute(weight, num_heads):
    rows = weight.reshape(num_heads, 2, weight.shape[0] // num_heads // 2, *weight.shape[1:])
    return np.ascontiguousarray(rows.swapaxes(1, 2).reshape(weight.shape))


def write_llama(path, **options):
    config = json.loads((GOLDEN / "llama_mha/config.json").read_text())
    weights = load_file(GOLDEN / "llama_mha/model.safetensors")
    writer = gguf.GGUFWriter(path, "llama", **options)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_vocab_size(config["vocab_size"])
    tokens = [chr(ord("!") + i) for i in range(90)] + ["ab", "abc", "<s>", "</s>", "<user>"] + \
        [f"[PAD{i}]" for i in range(5)]
    types = [1] * 92 + [3, 3, 4] + [5] * 5
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(["a b", "ab c"])
    writer.add_bos_token_id(92)
    writer.add_eos_token_id(93)
    writer.add_add_bos_token(True)
    writer.add_chat_template("{{ messages[0].content }}")
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config["num_hidden_layers"])
    for name, weight in weights.items():
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            weight = permute(weight, config["num_attention_heads"])
        writer.add_tensor(names.get_name(name, (".weight", ".bias")), weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


CONTROL = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
TURNS = ["<start_of_turn>", "<end_of_turn>", "<unused0>"]
MARK = "\u2581"
USER_DEFINED = ["[multimodal]"] + ["\n" * n for n in range(1, 5)] + [MARK * n for n in range(2, 6)] + \
    ["<table>", "</table>", "\t", "\t\t"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]

TEXTS = [
    "", " ", "The cat sat on the mat.", " leading and trailing ", "tabs\tand\t\t\tlines\n\n\n\n\n\nend\n",
    "def f(x):\n    if x:\n        return x\n", "-" * 23 + " aaaaaaa banana bananana", "Größe, naïve café, 日本語 🙂",
    "<start_of_turn>user\nHello<end_of_turn>\n<start_of_turn>model\n", "<table> <b>1</b> </table>",
    "literal \u2581 and \u2581\u2581\u2581 marks", "a  b   c    d     e      f" + " " * 23 + "g", "<bos>twice<unk> [multimodal]",
    "\x00\x7f\u00a0\u3000\ufeff", "<0x41> is no byte", "1234567890 + 3.14 = ...",
]
CORPUS = [text for text in TEXTS if text.isascii() and "<" not in text] + [
    "A window of nine tokens slides over the text; every sixth layer sees all of it.",
    "if else while for in not and or is def class return print(x, y) [0] {1} <= >= != == += -= */ // # $ % & ~ @ | \\ ^ ;",
    "The attention of the layers, the norms of their outputs, and the text that they write.",
    "banana bandana aaaa aaaaaaaa ------ -------- ==== the then there these that this those",
]


def gemma_vocabulary(size):
    """Returns (pieces, scores, token types) with ids as in Gemma's SentencePiece model: learned pieces in the order of
    their merges, then characters."""
    trained = Tokenizer(models.BPE())
    trained.normalizer = normalizers.Replace(" ", MARK)
    trained.pre_tokenizer = pre_tokenizers.Split(MARK, "merged_with_next")
    trained.train_from_iterator([" ".join(text.split()) for text in CORPUS],
                                trainers.BpeTrainer(vocab_size=size, show_progress=False))
    ids = trained.get_vocab()
    characters = sorted(token for token in ids if len(token) == 1)
    learned = sorted((token for token in ids if len(token) > 1), key=ids.get)
    named = CONTROL + USER_DEFINED + TURNS + BYTES
    learned = learned[:size - len(named) - len(characters)]
    pieces = named + learned + characters
    scores = [0.0] * len(named) + [-float(i) for i in range(len(learned + characters))]
    types = {token: 3 for token in CONTROL + TURNS} | {token: 4 for token in USER_DEFINED} | \
        {token: 6 for token in BYTES}
    return pieces, scores, [types.get(piece, 1) for piece in pieces]


def write_gemma_ids(path, pieces, types):
    vocab = {piece: i for i, piece in enumerate(pieces)}
    made = GemmaTokenizer(vocab=vocab, merges=generate_merges(vocab))
    added = [AddedToken(piece, normalized=False, special=kind == 3) for piece, kind in zip(pieces, types)
             if kind in (3, 4)]
    made.add_tokens(added)
    bos = ("<bos>", vocab["<bos>"])
    made.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A", pair="<bos> $A <bos>:1 $B:1", special_tokens=[bos])
    with tempfile.TemporaryDirectory() as folder:
        made.save_pretrained(folder)
        tokenizer = AutoTokenizer.from_pretrained(folder)
    assert len(tokenizer) == len(pieces)
    cases = [{"text": text, "ids": tokenizer(text).input_ids,
              "decoded": tokenizer.decode(tokenizer(text).input_ids)} for text in TEXTS]
    pair = tokenizer(TEXTS[2], TEXTS[3]).input_ids
    path.write_text(json.dumps({"cases": cases, "pair": pair}, indent=None, separators=(",", ":")) + "\n")


def write_gemma3(path):
    golden = json.loads((GOLDEN / "decoders/gemma3.json").read_text())
    config = golden["config"]
    rope = config["rope_parameters"]
    assert rope["sliding_attention"]["rope_theta"] == 10000.0 and config["query_pre_attn_scalar"] == config["head_dim"]
    pieces, scores, types = gemma_vocabulary(config["vocab_size"])
    writer = gguf.GGUFWriter(path, "gemma3")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_rope_freq_base(rope["full_attention"]["rope_theta"])
    writer.add_sliding_window(config["sliding_window"])
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    # The converter writes the spaces of added tokens as such, and -1000 as the score of every added token.
    writer.add_token_list([piece.replace(MARK, " ") if kind == 4 else piece for piece, kind in zip(pieces, types)])
    writer.add_token_scores([-1000.0 if kind in (3, 4) else score for score, kind in zip(scores, types)])
    writer.add_token_types(types)
    for add, token in ((writer.add_bos_token_id, "<bos>"), (writer.add_eos_token_id, "<eos>"),
                       (writer.add_unk_token_id, "<unk>"), (writer.add_pad_token_id, "<pad>")):
        add(pieces.index(token))
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template("{{ bos_token }}<start_of_turn>user\n{{ messages[0].content }}<end_of_turn>\n")
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.GEMMA3, config["num_hidden_layers"])
    for name, shape in golden["tensors"].items():
        weight = golden_weights(name, shape)
        if name.endswith("norm.weight"):
            weight = weight + np.float32(1)
        writer.add_tensor(names.get_name(name, (".weight", ".bias")), weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    write_gemma_ids(path.with_name("gemma3_ids.json"), pieces, types)


def write_pieces(path):
    trained = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line for text in CORPUS for line in text.split("\n") if line]), model_writer=trained,
        model_type="bpe", vocab_size=400, byte_fallback=True, remove_extra_whitespaces=False, add_dummy_prefix=True,
        normalization_rule_name="identity", allow_whitespace_only_pieces=True, hard_vocab_limit=False, minloglevel=2)  # fmt: skip
    model = sentencepiece.SentencePieceProcessor(model_proto=trained.getvalue())
    pieces = [model.id_to_piece(i) for i in range(model.vocab_size())]
    scores = [model.get_score(i) for i in range(len(pieces))]
    types = [2 if model.is_unknown(i) else 3 if model.is_control(i) else 6 if model.is_byte(i) else 1
             for i in range(len(pieces))]
    # A chat model's added tokens.
    pieces, scores, types = pieces + ["<|user|>", "<|end|>"], scores + [-1000.0] * 2, types + [4, 3]
    writer = gguf.GGUFWriter(path, "llama")
    for add, value in ((writer.add_context_length, 64), (writer.add_embedding_length, 8), (writer.add_block_count, 1),
                       (writer.add_feed_forward_length, 8), (writer.add_head_count, 1), (writer.add_head_count_kv, 1),
                       (writer.add_layer_norm_rms_eps, 1e-5), (writer.add_rope_dimension_count, 8)):
        add(value)
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(pieces)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    writer.add_bos_token_id(pieces.index("<s>"))
    writer.add_eos_token_id(pieces.index("</s>"))
    writer.add_unk_token_id(pieces.index("<unk>"))
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_tensor("token_embd.weight", np.zeros((len(pieces), 8), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    peer = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
    cases = []
    for text in TEXTS + ["<|user|>Hello<|end|> there", " <|user|> a <|end|>", "a<s>b</s> c", "<|user|>"]:
        ids = peer.tokenize(text.encode(), add_bos=True, special=True)
        case = {"text": text, "ids": ids}
        if all(types[i] in (1, 6) for i in ids[1:]):
            assert ids[1:] == model.encode(text), text
            case["decoded"] = model.decode(ids[1:])
        cases.append(case)
    path.with_name("pieces_ids.json").write_text(json.dumps({"cases": cases}, separators=(",", ":")) + "\n")


def main():
    random = np.random.default_rng(7)
    golden = {}
    for name in SCALES:
        blocks, values = random_blocks(name, random)
        golden[name] = {"blocks": blocks.tobytes().hex(), "values": values.tobytes().hex()}
    (GOLDEN / "gguf").mkdir(exist_ok=True)
    (GOLDEN / "gguf/blocks.json").write_text(json.dumps(golden, indent=1) + "\n")
    write_llama(GOLDEN / "gguf/llama.gguf")
    write_llama(GOLDEN / "gguf/parts.gguf", split_max_tensors=11)
    write_gemma3(GOLDEN / "gguf/gemma3.gguf")
    write_pieces(GOLDEN / "gguf/pieces.gguf")


if __name__ == "__main__":
    main()
