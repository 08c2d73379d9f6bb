from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Union

import numpy as np
import numpy.typing as npt
import torch

Ids = Union[npt.NDArray[np.integer], torch.Tensor, Sequence[int], range]  # one dimension, on the CPU

class Stats(TypedDict):
    num_emitted: int
    num_covered: int
    num_drafted: int
    num_unmapped: int
    num_added: int
    num_evicted: int
    base_size: int
    dynamic_size: int
    dynamic_capacity: int

class VocabList:
    """Tokens, most likely first (vocab/vocab_list.h). Immutable."""

    def __init__(
        self, ids: Ids, vocab_size: int, *, counts: Ids | None = ..., pinned: Ids = ..., source: str = ...
    ) -> None: ...
    @staticmethod
    def read(
        path: str, *, vocab_size: int = ..., fingerprint: str = ..., tokens: Sequence[bytes] | None = ...
    ) -> VocabList:
        """Reads any format of vocab/formats/list_file.h, by file extension. `vocab_size` 0 and `fingerprint` "" are not
        checked. `tokens`: the bytes of each id of the tokenizer. With `tokens`, a list of format 2 made for another
        tokenizer fits if both tokenizers agree on the tokens of its ids."""
    def write(self, path: str) -> None: ...
    def select(
        self, *, top: int | None = ..., ratio: float | None = ..., coverage: float | None = ...
    ) -> npt.NDArray[np.int32]:
        """Returns ids in ascending order; the whole list without arguments."""
    @property
    def vocab_size(self) -> int: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def ids_fingerprint(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def ranked(self) -> bool: ...
    @property
    def ids(self) -> npt.NDArray[np.int32]: ...
    @property
    def pinned(self) -> npt.NDArray[np.int32]: ...
    @property
    def counts(self) -> npt.NDArray[np.int64]: ...
    def __len__(self) -> int:
        """Length of `ids`, without pinned ids that are not among them."""

class ActiveVocab:
    """One snapshot. Hold it from a step's first draft token to its verification. Immutable; outlives its manager."""

    @property
    def version(self) -> int: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def base_size(self) -> int: ...
    @property
    def rows(self) -> npt.NDArray[np.int32]:
        """Token id of each row; read-only, not copied."""
    @property
    def row_ids(self) -> torch.Tensor:
        """Same as `rows`, for gather_head: int32, copied once per snapshot. Do not write to it."""
    def rows_of(self, ids: Ids) -> npt.NDArray[np.int32]:
        """Returns the row of each id; -1 if the id is not active."""
    def successors_of(self, last: int) -> npt.NDArray[np.int32]: ...
    def __len__(self) -> int: ...

class VocabularyManager:
    """See vocab/dynamic_vocabulary_manager.h. Thread-safe. After close() every call raises ValueError. `vocab_size`:
    rows of the head, including padding. The vocab_size of a VocabList must be within 1024 of it, and is the default."""

    def __init__(
        self, base: VocabList | Ids, *, vocab_size: int | None = ..., dynamic_capacity: int = ..., pinned: Ids = ...,
        top: int | None = ..., ratio: float | None = ..., coverage: float | None = ..., successors: int | None = ...,
    ) -> None: ...
    def add(self, ids: Ids) -> None: ...
    def observe(self, emitted: Ids, drafted: Ids = ..., snapshot: ActiveVocab | None = ...) -> None: ...
    def active(self) -> ActiveVocab: ...
    def replace_base(
        self, base: VocabList | Ids, *, top: int | None = ..., ratio: float | None = ...,
        coverage: float | None = ..., successors: int | None = ...,
    ) -> None: ...
    def stats(self) -> Stats: ...
    def escapes(self) -> list[tuple[int, int]]: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    def __enter__(self) -> VocabularyManager: ...
    def __exit__(self, *args: object) -> None: ...
