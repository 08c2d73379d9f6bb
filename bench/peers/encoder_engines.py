"""The three engines that encoders.py runs alternately. Each turns token ids into pooled vectors:

  name, kind                   the engine and its number format, "f32", "bf16" or "int8"
  prepare(inputs, batch)       not measured: splits the inputs, lists of ids, into batches of at most `batch`
  run(prepared, repeat)        mean seconds of encoding all of them, over `repeat` runs
  vectors(prepared)            [inputs, dimensions], in the order of the inputs
"""

import json
import subprocess
import sys
import time

import numpy as np
import onnxruntime
import torch


class Shortlist:
    """bench/encoding_engine, which pads nothing: a pass contains whole inputs, up to a number of tokens."""

    name = "shortlist"
    FLAGS = {"f32": ["--dtype", "f32"], "bf16": ["--dtype", "bf16"], "int8": ["--dtype", "f32", "--quantize", "int8"]}

    def __init__(self, binary, path, kind, num_threads, max_batch_tokens):
        self.kind = kind
        more = ["--max-batch-tokens", str(max_batch_tokens)] if max_batch_tokens else []
        self._process = subprocess.Popen(
            [binary, "--model", path, "--threads", str(num_threads), *self.FLAGS[kind], *more],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self._process.pid
        self.description = self._read()

    def _read(self):
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"encoding_engine ended with {self._process.wait()}")
        reply = json.loads(line)
        if "error" in reply:
            sys.exit(f"encoding_engine: {reply['error']}")
        return reply

    def _ask(self, **fields):
        self._process.stdin.write(json.dumps(fields) + "\n")
        self._process.stdin.flush()
        return self._read()

    def prepare(self, inputs, batch):
        return {"ids": inputs, "pass_inputs": 1} if batch == 1 else {"ids": inputs}

    def run(self, prepared, repeat):
        return self._ask(**prepared, repeat=repeat)["seconds"]

    def vectors(self, prepared):
        return np.array(self._ask(**prepared, vectors=True)["vectors"], dtype=np.float32)

    def close(self):
        self._process.stdin.close()
        self._process.wait()


class Padded:
    """Shared by the peers: batches padded to their longest input, longest first, as sentence-transformers' encode
    makes them."""

    pid = None

    def prepare(self, inputs, batch):
        order = sorted(range(len(inputs)), key=lambda i: -len(inputs[i]))
        batches = []
        for begin in range(0, len(inputs), batch):
            rows = [inputs[i] for i in order[begin:begin + batch]]
            ids = np.zeros((len(rows), len(rows[0])), dtype=np.int64)
            mask = np.zeros_like(ids)
            for place, row in enumerate(rows):
                ids[place, :len(row)] = row
                mask[place, :len(row)] = 1
            batches.append(self._batch(ids, mask))
        return order, batches

    def run(self, prepared, repeat):
        begin = time.perf_counter()
        for _ in range(repeat):
            for batch in prepared[1]:
                self._encode(batch)
        return (time.perf_counter() - begin) / repeat

    def vectors(self, prepared):
        order, batches = prepared
        rows = np.concatenate([np.asarray(self._encode(batch), dtype=np.float32) for batch in batches])
        vectors = np.empty_like(rows)
        vectors[order] = rows
        return vectors

    def close(self):
        pass


class SentenceTransformers(Padded):
    name = "PyTorch"

    def __init__(self, model, kind, num_threads):
        self.kind = kind
        self._model = model  # of the engine's kind
        self._num_threads = num_threads

    def _batch(self, ids, mask):
        ids, mask = torch.from_numpy(ids), torch.from_numpy(mask)
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": torch.zeros_like(ids)}

    def run(self, prepared, repeat):
        torch.set_num_threads(self._num_threads)
        return super().run(prepared, repeat)

    def _encode(self, batch):
        with torch.inference_mode():
            return self._model(dict(batch))["sentence_embedding"].float().numpy()


class OnnxRuntime(Padded):
    name = "ONNX Runtime"

    def __init__(self, path, kind, num_threads):
        self.kind = kind
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = num_threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(str(path / f"{kind}.onnx"), options,
                                                     providers=["CPUExecutionProvider"])

    def _batch(self, ids, mask):
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}

    def _encode(self, batch):
        return self._session.run(None, batch)[0]
