"""VocabList, VocabularyManager and ActiveVocab against their contracts, with numpy and torch."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

import shortlist

DEMO_LIST = Path(__file__).resolve().parents[2] / "vocab_lists" / "demo.vocab.json"
DEMO_FINGERPRINT = "fnv1a64:e34869d7cf8fd154"


@pytest.mark.parametrize("suffix", ["vocab.json", "vocab.json.xz", "txt", "npy", "pt", "safetensors"])
def test_lists_survive_every_format(tmp_path, suffix):
    path = str(tmp_path / f"a.{suffix}")
    shortlist.VocabList([2, 5, 9], 10, counts=[7, 3, 1], source="a test").write(path)
    again = shortlist.VocabList.read(path, vocab_size=10)
    assert again.ids.tolist() == [2, 5, 9] and len(again) == 3 and again.vocab_size == 10
    if "json" in suffix:
        assert again.counts.tolist() == [7, 3, 1] and again.source == "a test" and again.ranked
    if suffix == "pt":
        assert torch.load(path).tolist() == [2, 5, 9]
    if suffix == "npy":
        assert np.load(path).tolist() == [2, 5, 9]


def test_a_list_of_another_tokenizer_is_refused():
    demo = shortlist.VocabList.read(str(DEMO_LIST), vocab_size=16384, fingerprint=DEMO_FINGERPRINT)
    assert demo.fingerprint == DEMO_FINGERPRINT
    with pytest.raises(ValueError, match="fnv1a64:0000000000000000"):
        shortlist.VocabList.read(str(DEMO_LIST), vocab_size=16384, fingerprint="fnv1a64:0000000000000000")
    with pytest.raises(ValueError, match="16384"):
        shortlist.VocabList.read(str(DEMO_LIST), vocab_size=151936)


def test_selections_take_the_first():
    shortlisted = shortlist.VocabList([9, 2, 5], 10, counts=[6, 3, 1], pinned=[7])
    assert shortlisted.select(top=3).tolist() == [2, 7, 9]
    assert shortlisted.select(ratio=0.2).tolist() == [7, 9]
    assert shortlisted.select().tolist() == [2, 5, 7, 9]


@pytest.mark.parametrize("take", [list, np.array, torch.tensor, lambda v: np.array(v, dtype=np.int32)])
def test_ids_of_any_kind_enter_and_the_oldest_leave(take):
    manager = shortlist.VocabularyManager(take([4, 1]), vocab_size=10, dynamic_capacity=2)
    first = manager.active()
    assert first.rows.tolist() == [1, 4] and len(first) == first.base_size == 2
    manager.add(take([7, 8]))
    manager.observe(take([9]), take([1]), first)
    second = manager.active()
    assert second is manager.active() and second.version > first.version
    assert second.rows.tolist() == [1, 4, 9, 8]  # 7 entered first; 9 took its row
    assert first.rows.tolist() == [1, 4]
    assert second.row_ids.dtype == torch.int32 and second.row_ids.tolist() == [1, 4, 9, 8]
    assert second.row_ids is second.row_ids
    assert second.rows_of(take([9, 7, 1])).tolist() == [2, -1, 0]
    assert not second.rows.flags.writeable
    stats = manager.stats()
    assert stats["num_evicted"] == 1 and stats["num_emitted"] == 1 and stats["dynamic_size"] == 2
    assert manager.escapes() == [(9, 1)]


def test_rows_outlive_their_snapshot_and_manager():
    rows = shortlist.VocabularyManager(range(1000), vocab_size=1000).active().rows
    assert rows.sum() == 1000 * 999 // 2


def test_a_base_comes_from_a_list():
    demo = shortlist.VocabList.read(str(DEMO_LIST))
    with shortlist.VocabularyManager(demo, top=512, successors=384, dynamic_capacity=8) as manager:
        active = manager.active()
        assert len(active) == 512 and sorted(demo.select(top=512).tolist()) == active.rows.tolist()
        following = active.successors_of(int(demo.ids[0]))
        assert 0 < len(following) <= 384 and (active.rows_of(following) == -1).all()
        manager.replace_base(demo, top=100)
        assert len(manager.active()) == 100
    assert manager.closed


@pytest.mark.parametrize("read_size", [0, 151936])
def test_a_list_opens_at_the_padded_size_of_the_model(read_size):
    words = shortlist.VocabList.read(str(DEMO_LIST.with_name("qwen.vocab.json.xz")), vocab_size=read_size)
    manager = shortlist.VocabularyManager(words, vocab_size=151936, top=4096, dynamic_capacity=8)
    manager.observe([151700, 151935])
    assert manager.active().rows.tolist()[-2:] == [151700, 151935]
    with pytest.raises(ValueError, match="151936"):
        manager.observe([151936])
    manager.replace_base(words, ratio=0.05)
    assert manager.active().vocab_size == 151936


def test_readers_and_writers_at_once():
    manager = shortlist.VocabularyManager(range(50), vocab_size=1000, dynamic_capacity=20)

    def work(seed):
        ids = np.random.default_rng(seed).integers(0, 1000, 2000)
        for i in range(0, 2000, 4):
            manager.observe(ids[i : i + 4])
            rows = manager.active().rows.tolist()
            assert len(set(rows)) == len(rows) <= 70
        return True

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, range(4)))
    assert manager.stats()["num_emitted"] == 8000
