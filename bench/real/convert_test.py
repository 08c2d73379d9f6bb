#!/usr/bin/env python3
"""Tests of convert.py on tiny models of random weights. Needs requirements.txt."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, TokenType
from gguf.quants import dequantize, quantize
from transformers import AutoTokenizer

import convert

HIDDEN, FFN, NUM_HEADS, NUM_KV_HEADS, HEAD_DIM = 64, 96, 4, 2, 16
LETTERS = [chr(byte) for byte in range(33, 127)] + ["Ġ", "Ċ", "Ã", "©"]
TOKENS = ["<|endoftext|>", "<|im_end|>", *LETTERS, "12", "<think>", "[PAD1]"]
TYPES = [TokenType.CONTROL] * 2 + [TokenType.NORMAL] * (len(LETTERS) + 1) + [TokenType.USER_DEFINED, TokenType.UNUSED]


def permute(rows, num_heads):
    """Reorders rows as in llama files, like llama.cpp's convert_hf_to_gguf.py."""
    return rows.reshape(num_heads, 2, HEAD_DIM // 2, -1).swapaxes(1, 2).reshape(rows.shape)


def read_safetensors(path):
    """Returns all tensors by name, as float32."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__")
    ends = [entry["data_offsets"][1] for entry in header.values()]
    assert start % 8 == 0 and len(data) == start + max(ends)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        bits = np.frombuffer(data[start + begin:start + end], np.uint16).astype(np.uint32) << 16
        tensors[name] = bits.view(np.float32).reshape(entry["shape"])
    return tensors


class ConvertTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file, self.out = Path(folder.name) / "model.gguf", Path(folder.name) / "out"
        random = np.random.default_rng(1)
        shapes = {"token_embd.weight": (len(TOKENS), HIDDEN), "output_norm.weight": (HIDDEN,),
                  "blk.0.attn_q.weight": (NUM_HEADS * HEAD_DIM, HIDDEN),
                  "blk.0.attn_k.weight": (NUM_KV_HEADS * HEAD_DIM, HIDDEN),
                  "blk.0.attn_v.weight": (NUM_KV_HEADS * HEAD_DIM, HIDDEN), "blk.0.ffn_down.weight": (HIDDEN, FFN)}
        self.weights = {name: random.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}

    def write(self, arch="llama", pre="smollm", **more):
        writer = GGUFWriter(self.file, arch)
        writer.add_block_count(1)
        writer.add_context_length(128)
        writer.add_embedding_length(HIDDEN)
        writer.add_feed_forward_length(FFN)
        writer.add_head_count(NUM_HEADS)
        writer.add_head_count_kv(NUM_KV_HEADS)
        writer.add_layer_norm_rms_eps(1e-6)
        writer.add_rope_freq_base(10000.0)
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(pre)
        writer.add_token_list(TOKENS)
        writer.add_token_types(TYPES)
        writer.add_token_merges(["1 2"])
        writer.add_eos_token_id(1)
        for key, value in more.items():
            getattr(writer, key)(value)
        for name, values in self.weights.items():
            if values.ndim == 1:
                writer.add_tensor(name, values)
            else:
                writer.add_tensor(name, quantize(values, GGMLQuantizationType.Q8_0),
                                  raw_dtype=GGMLQuantizationType.Q8_0)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    def convert(self):
        with contextlib.redirect_stdout(io.StringIO()):
            convert.convert(self.file, self.out)
        return read_safetensors(self.out / "model.safetensors")

    def config(self):
        return json.loads((self.out / "config.json").read_text())

    def expect_close(self, found, values):
        """Expects `found` to be `values` in Q8_0, then in bf16."""
        expected = dequantize(quantize(values, GGMLQuantizationType.Q8_0), GGMLQuantizationType.Q8_0)
        np.testing.assert_allclose(found, expected, rtol=2**-8, atol=0)

    def test_llama_rows_of_q_and_k_are_unpermuted(self):
        original = dict(self.weights)
        for name, num_heads in (("blk.0.attn_q.weight", NUM_HEADS), ("blk.0.attn_k.weight", NUM_KV_HEADS)):
            self.weights[name] = permute(original[name], num_heads)
        self.write()
        found = self.convert()
        for module in "qkv":
            self.expect_close(found[f"model.layers.0.self_attn.{module}_proj.weight"],
                              original[f"blk.0.attn_{module}.weight"])

    def test_qwen2_rows_stay(self):
        self.write("qwen2", "qwen2")
        self.expect_close(self.convert()["model.layers.0.self_attn.q_proj.weight"], self.weights["blk.0.attn_q.weight"])

    def test_tensor_longer_than_a_chunk(self):
        self.addCleanup(setattr, convert, "CHUNK_ELEMENTS", convert.CHUNK_ELEMENTS)
        convert.CHUNK_ELEMENTS = 7 * HIDDEN
        self.write()
        found = self.convert()
        self.expect_close(found["model.embed_tokens.weight"], self.weights["token_embd.weight"])
        self.expect_close(found["model.layers.0.mlp.down_proj.weight"], self.weights["blk.0.ffn_down.weight"])

    def test_head_is_tied_where_the_file_has_none(self):
        self.write()
        self.assertNotIn("lm_head.weight", self.convert())
        self.assertTrue(self.config()["tie_word_embeddings"])
        self.weights["output.weight"] = self.weights["token_embd.weight"] + 1
        self.write()
        self.expect_close(self.convert()["lm_head.weight"], self.weights["output.weight"])
        self.assertFalse(self.config()["tie_word_embeddings"])

    def test_config_has_short_floats_and_padded_vocabulary(self):
        self.write()
        self.convert()
        config = self.config()
        self.assertEqual((config["rms_norm_eps"], config["rope_theta"]), (1e-6, 10000.0))
        self.assertEqual((config["vocab_size"], config["head_dim"]), (len(TOKENS), HEAD_DIM))

    def test_bf16_rounds_to_nearest_even(self):
        values = np.array([1, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, -1 - 2**-7], np.float32)
        self.assertEqual([hex(bits) for bits in convert.to_bf16(values)],
                         ["0x3f80", "0x3f80", "0x3f82", "0x3f81", "0xbf81"])

    def test_tokenizers_split_digits_and_normalize_as_the_models_do(self):
        for pre, arch in (("smollm", "llama"), ("qwen2", "qwen2")):
            self.write(arch, pre)
            self.convert()
            tokenizer = AutoTokenizer.from_pretrained(self.out)
            self.assertEqual(tokenizer.tokenize("a12<think>b<|im_end|>"),
                             ["a", "1", "2", "<think>", "b", "<|im_end|>"])
            # e and a combining acute accent: one letter in NFC. Its two bytes are spelled Ã and ©.
            self.assertEqual(tokenizer.tokenize("e\u0301") == ["Ã", "©"], pre == "qwen2")
            self.assertNotIn("[PAD1]", tokenizer.get_vocab())

    def test_ends_are_eos_and_end_of_text(self):
        self.write()
        self.convert()
        generation = json.loads((self.out / "generation_config.json").read_text())
        self.assertEqual(generation["eos_token_id"], [1, 0])

    def test_rejects_what_it_would_convert_wrongly(self):
        cases = [("architecture 'gemma3'", {"arch": "gemma3"}), ("pre-tokenizer 'tekken'", {"pre": "tekken"}),
                 ("add_bos_token is true", {"add_add_bos_token": True}),
                 ("rope scaling 'yarn'", {"add_rope_scaling_type": type("Yarn", (), {"value": "yarn"})})]
        for message, settings in cases:
            self.write(**settings)
            with self.assertRaisesRegex(ValueError, message):
                self.convert()
        self.weights["rope_freqs.weight"] = np.ones(8, np.float32)
        self.write()
        with self.assertRaisesRegex(ValueError, "tensor 'rope_freqs.weight'"):
            self.convert()
        self.assertFalse(self.out.exists())

    def test_rejects_values_that_are_not_finite(self):
        self.weights["output_norm.weight"][3] = np.nan
        self.write()
        with self.assertRaisesRegex(ValueError, "output_norm.weight.*not finite"):
            self.convert()
        self.assertFalse((self.out / "model.safetensors").exists())


if __name__ == "__main__":
    unittest.main()
