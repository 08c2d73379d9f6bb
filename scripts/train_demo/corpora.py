"""The training text: its sources, how it is split into documents, which documents are held out, and how they become
token ids on disk.

Every source is a list of documents. A document is a page, a module, a worked problem, or a passage of a book. Two in
a hundred are held out, chosen by a hash of the name, so that the split is the same on every machine. Books are held
out as a whole, so that no passage is next to a held-out one.
"""

import dataclasses
import hashlib
import json
import lzma
import os
import pathlib
import re
import sysconfig

import numpy as np

PASSAGE_CHARS = 3000
HELD_OUT_PERCENT = 2


@dataclasses.dataclass(frozen=True)
class Source:
    name: str
    share: float  # of the training tokens
    documents: object  # callable(corpora folder) -> iterator of (name of the unit held out together, text)


def _rows(path):
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        for line in file:
            yield json.loads(line)


def _documentation(folder):
    for row in _rows(folder / "cpp_docs.jsonl.xz"):
        yield row["path"], row["text"]


def passages(text):
    """Cuts a book at paragraph ends into passages of about PASSAGE_CHARS characters."""
    passage = []
    length = 0
    for paragraph in re.split(r"\n{2,}", text):
        starts_chapter = paragraph.startswith("#") and length > PASSAGE_CHARS // 4
        if passage and (length + len(paragraph) > PASSAGE_CHARS or starts_chapter):
            yield "\n\n".join(passage)
            passage, length = [], 0
        passage.append(paragraph)
        length += len(paragraph) + 2
    if passage:
        yield "\n\n".join(passage)


def _stories(folder):
    for row in _rows(folder / "books_1876_1925.jsonl.xz"):
        for passage in passages(row["text"].replace("\r\n", "\n")):
            yield row["path"], passage


def _arithmetic(folder):
    for number, row in enumerate(_rows(folder / "math_gsm8k_train.jsonl.xz")):
        yield f"problem {number}", row["text"]


def _code(folder):
    del folder  # the standard library comes with the interpreter
    root = pathlib.Path(sysconfig.get_paths()["stdlib"])
    skipped = {"test", "tests", "idle_test", "site-packages", "__pycache__", "encodings", "pydoc_data"}
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root)
        if skipped & set(relative.parts):
            continue
        try:
            yield str(relative), path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


SOURCES = (
    Source("documentation", 0.40, _documentation),
    Source("stories", 0.25, _stories),
    Source("arithmetic", 0.20, _arithmetic),
    Source("code", 0.15, _code),
)


def is_held_out(name):
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % 100 < HELD_OUT_PERCENT


@dataclasses.dataclass
class TokenFile:
    """Documents of one source and split as token ids, each beginning with BOS and ending with EOS."""

    ids: np.ndarray  # uint16, all documents one after the other
    starts: np.ndarray  # int64 [num_documents + 1]

    def __len__(self):
        return len(self.starts) - 1

    def __getitem__(self, index):
        return self.ids[self.starts[index] : self.starts[index + 1]]


def _paths(work, source, split):
    base = work / "tokens"
    return base / f"{source}.{split}.ids.npy", base / f"{source}.{split}.starts.npy"


def tokenize_all(corpora, tokenizer, work):
    """Writes every source's TokenFiles under work/tokens; keeps existing ones."""
    (work / "tokens").mkdir(parents=True, exist_ok=True)
    for source in SOURCES:
        if _paths(work, source.name, "train")[1].exists():
            continue
        documents = {"train": [], "held_out": []}
        for name, text in source.documents(corpora):
            if text.strip():
                documents["held_out" if is_held_out(source.name + "/" + name) else "train"].append(text)
        for split in ("held_out", "train"):
            encoded = tokenizer.encode(documents[split], add_bos=True, add_eos=True, num_threads=os.cpu_count())
            starts = np.zeros(len(encoded) + 1, dtype=np.int64)
            np.cumsum([len(ids) for ids in encoded], out=starts[1:])
            flat = np.empty(starts[-1], dtype=np.uint16)
            for start, ids in zip(starts, encoded):
                flat[start : start + len(ids)] = ids
            ids_path, starts_path = _paths(work, source.name, split)
            np.save(ids_path, flat)
            np.save(starts_path, starts)
            print(f"{source.name:14} {split:9} {len(encoded):7} documents {starts[-1]:10} tokens", flush=True)


def load_tokens(work, source, split):
    ids_path, starts_path = _paths(work, source, split)
    return TokenFile(np.load(ids_path, mmap_mode="r"), np.load(starts_path))


class Batches:
    """An endless stream of [num_rows, length] token ids, the sources mixed by their shares.

    A row belongs to one source. It is filled with whole documents in shuffled order; the last one is cut at the end
    of the row. The content of batch number i depends only on the seed and on i, so that a resumed run continues as if
    it had never stopped.
    """

    def __init__(self, work, num_rows, length, seed):
        self._files = [load_tokens(work, source.name, "train") for source in SOURCES]
        self._shares = np.array([source.share for source in SOURCES])
        self._num_rows = num_rows
        self._length = length
        self._seed = seed

    def __getitem__(self, number):
        draw = np.random.default_rng((self._seed, number))
        rows = np.empty((self._num_rows, self._length), dtype=np.int64)
        for row in rows:
            file = self._files[draw.choice(len(self._files), p=self._shares)]
            self._fill(row, file, draw)
        return rows

    def _fill(self, row, file, draw):
        filled = 0
        while filled < self._length:
            document = file[draw.integers(len(file))]
            # A long document is entered at a random position, or its end would never be seen.
            surplus = len(document) - (self._length - filled)
            first = int(draw.integers(surplus + 1)) if surplus > 0 and draw.random() < 0.5 else 0
            part = document[first : first + self._length - filled]
            row[filled : filled + len(part)] = part
            filled += len(part)
