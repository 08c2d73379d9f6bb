"""llama.cpp through llama-cpp-python's low-level binding, without sampling and detokenizing."""

import ctypes
import time

import llama_cpp

# Discards llama.cpp's log messages. The callback must outlive the library's use of it.
_QUIET = llama_cpp.llama_log_callback(lambda level, text, data: None)
llama_cpp.llama_log_set(_QUIET, ctypes.c_void_p(0))


def describe():
    """Returns the version of the binding, and the instruction sets that the library was built
    for."""
    return {"llama-cpp-python": llama_cpp.__version__,
            "system_info": llama_cpp.llama_print_system_info().decode()}


class LlamaCppEngine:
    """One model and a context for `num_sequences` sequences of up to `context_len` tokens each."""

    def __init__(self, path, num_threads, num_sequences, context_len, max_batch):
        params = llama_cpp.llama_model_default_params()
        params.n_gpu_layers = 0
        self._model = llama_cpp.llama_model_load_from_file(str(path).encode(), params)
        if not self._model:
            raise RuntimeError(f"llama.cpp cannot load {path}")
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = num_sequences * context_len
        params.n_batch = params.n_ubatch = max_batch
        params.n_seq_max = num_sequences
        params.n_threads = params.n_threads_batch = num_threads
        self._context = llama_cpp.llama_init_from_model(self._model, params)
        if not self._context:
            raise RuntimeError(f"llama.cpp cannot make a context for {path}")
        vocab = llama_cpp.llama_model_get_vocab(self._model)
        self.vocab_size = llama_cpp.llama_vocab_n_tokens(vocab)
        self.weight_bytes = llama_cpp.llama_model_size(self._model)
        self._batch = llama_cpp.llama_batch_init(max_batch, 0, 1)

    def close(self):
        llama_cpp.llama_batch_free(self._batch)
        llama_cpp.llama_free(self._context)
        llama_cpp.llama_model_free(self._model)

    def clear(self):
        """Forgets all sequences."""
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self._context), False)

    def forward(self, rows):
        """Runs one pass over `rows` of (token id, position, sequence, wants logits). Returns its
        seconds."""
        batch = self._batch
        for i, (token, position, sequence, wants_logits) in enumerate(rows):
            batch.token[i] = token
            batch.pos[i] = position
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = sequence
            batch.logits[i] = wants_logits
        batch.n_tokens = len(rows)
        begin = time.perf_counter()
        if llama_cpp.llama_decode(self._context, batch) != 0:
            raise RuntimeError(f"llama_decode failed on {len(rows)} rows")
        llama_cpp.llama_synchronize(self._context)
        return time.perf_counter() - begin

    def logits(self, row=-1):
        """Returns the logits of a row of the last pass that wanted them, -1 for the last such row:
        [vocab_size] f32, valid until the next pass."""
        pointer = llama_cpp.llama_get_logits_ith(self._context, row)
        return ctypes.cast(pointer, ctypes.POINTER(ctypes.c_float * self.vocab_size)).contents
