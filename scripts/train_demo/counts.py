"""What is counted for the vocabulary list: tokens, and what follows them."""

import numpy as np

import corpora

OWN_WEIGHT = 4  # of the target's own outputs, beside the corpora together
NUM_COMMON = 256  # likeliest tokens: every selection holds them, so they are nobody's successors
NUM_SUCCESSORS = 512  # of a token, at most
MIN_OCCURRENCES = 5  # of a pair


def _texts(work):
    """(weight, rows [n, tokens]) of each source and of the target's outputs; the weights sum to 1."""
    for source in corpora.SOURCES:
        yield source.share / (1 + OWN_WEIGHT), corpora.load_tokens(work, source.name, "train").ids[None]
    yield OWN_WEIGHT / (1 + OWN_WEIGHT), np.load(work / "samples.npy")


def tokens(work, vocab_size):
    """Counts of tokens in the mix of all texts, of 10 million. [vocab_size] int64."""
    rates = sum(
        weight * np.bincount(rows.reshape(-1), minlength=vocab_size) / rows.size for weight, rows in _texts(work)
    )
    return np.round(1e7 * rates).astype(np.int64)


def successors(work, ranked, vocab_size):
    """For every token what follows it, likeliest first: [vocab_size] lists of ids. ranked: ids, most frequent first."""
    pairs, rates, counts = [], [], []
    for weight, rows in _texts(work):
        rows = rows.astype(np.int64)
        pair, count = np.unique(rows[:, :-1] * vocab_size + rows[:, 1:], return_counts=True)
        pairs.append(pair)
        rates.append(weight * count / rows.size)
        counts.append(count)
    pair, place = np.unique(np.concatenate(pairs), return_inverse=True)
    rate = np.bincount(place, np.concatenate(rates))
    occurrences = np.bincount(place, np.concatenate(counts))
    is_common = np.zeros(vocab_size, bool)
    is_common[ranked[:NUM_COMMON]] = True
    kept = (occurrences >= MIN_OCCURRENCES) & ~is_common[pair % vocab_size]
    pair, rate = pair[kept], rate[kept]
    pair = pair[np.lexsort((pair, -rate, pair // vocab_size))]
    begin = np.searchsorted(pair // vocab_size, np.arange(vocab_size + 1))
    return [(pair[a : min(b, a + NUM_SUCCESSORS)] % vocab_size).tolist() for a, b in zip(begin, begin[1:])]
