#include "vocab/formats/draft_map.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/safetensors_writer.h"
#include "vocab/vocab_list.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max() - int64_t{1};

constexpr const char* kDefault =
    ", a trainer's default that was never filled in: take the file of the trained draft";
constexpr const char* kAbsolute =
    ": d2t holds absolute ids, not the offsets of EAGLE-3 (id minus row): save id minus row, or "
    "the ids alone as .pt or .npy";

/// True if `d2t` may hold ids: none is negative, and none occurs twice.
bool MayBeIds(const std::vector<int64_t>& d2t) {
  std::vector<int64_t> sorted = d2t;
  std::ranges::sort(sorted);
  return !sorted.empty() && sorted.front() >= 0 &&
         std::ranges::adjacent_find(sorted) == sorted.end();
}

/// Checks the d2t of a file without t2d. It may be what a trainer writes before it has counted
/// anything, or hold ids instead of offsets. Either would be read as a list that was never chosen.
absl::Status CheckOffsets(const std::vector<int64_t>& d2t, int64_t vocab_size) {
  const bool is_zero = std::ranges::all_of(d2t, [](int64_t offset) { return offset == 0; });
  if (is_zero && !d2t.empty() && std::ssize(d2t) != vocab_size) {
    return absl::InvalidArgumentError(absl::StrCat("no t2d, and d2t is 0 in all ", d2t.size(),
                                                   " rows", kDefault,
                                                   "; if its tokens are the first ids, add t2d"));
  }
  // Adjacent ids in ascending order, as trainers choose them, have equal offsets.
  if (d2t.size() > 1 && MayBeIds(d2t)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no t2d, and all ", d2t.size(), " elements of d2t differ and none is negative (", d2t[0],
        ", ", d2t[1], ", ...)", kAbsolute, "; if they are offsets, add t2d"));
  }
  return absl::OkStatus();
}

/// Names a known cause for a difference between d2t (whose ids are `ids`) and t2d; OK if there is
/// none.
absl::Status CheckKnownFaults(const std::vector<int64_t>& mask, const std::vector<int64_t>& d2t,
                              const std::vector<int64_t>& ids) {
  const int64_t num_tokens = std::ssize(mask) - std::ranges::count(mask, 0);
  if (num_tokens == 0 && !d2t.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("t2d is false for all ", mask.size(), " tokens", kDefault));
  }
  const auto is_token = [&mask](int64_t id) {
    return id >= 0 && id < std::ssize(mask) && mask[id] != 0;
  };
  if (num_tokens == std::ssize(ids) && std::ranges::all_of(ids, is_token)) return absl::OkStatus();
  if (std::ranges::count(d2t, 0) == std::ssize(d2t)) {
    return absl::InvalidArgumentError(
        absl::StrCat("d2t is 0 in all ", d2t.size(), " rows, and t2d has other tokens", kDefault));
  }
  if (MayBeIds(d2t) && std::ranges::all_of(d2t, is_token)) {
    return absl::InvalidArgumentError(absl::StrCat("d2t names the tokens of t2d", kAbsolute));
  }
  return absl::OkStatus();
}

absl::Status CheckMask(const std::vector<int64_t>& mask, const std::vector<int64_t>& ids) {
  for (size_t id = 0; id < mask.size(); ++id) {
    if (mask[id] == 0 || mask[id] == 1) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("t2d[", id, "] is ", mask[id], ", not 0 or 1: t2d is a mask"));
  }
  std::vector<bool> has_row(mask.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= std::ssize(mask)) {
      return absl::InvalidArgumentError(
          absl::StrCat("d2t[", i, "]: token id ", ids[i], " not in [0, ", mask.size(), ") of t2d"));
    }
    has_row[ids[i]] = true;
  }
  for (size_t id = 0; id < mask.size(); ++id) {
    if ((mask[id] != 0) != has_row[id]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "t2d[", id, "] is ", mask[id] != 0, ", and d2t names ", has_row[id] ? "it" : "it not"));
    }
  }
  return absl::OkStatus();
}

/// A mask has an element for each token of the target and for each row that a model may add.
absl::Status CheckMaskLength(int64_t num_elements, int64_t vocab_size) {
  if (num_elements == 0) {
    return absl::InvalidArgumentError("t2d has no elements: it was never filled in");
  }
  const int64_t bound =
      vocab_size == 0 ? VocabList::kMaxVocabSize : vocab_size + VocabList::kMaxPadding;
  if (num_elements <= bound) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "t2d has ", num_elements, " elements, more than ", bound,
      vocab_size == 0
          ? ", the largest vocabulary admitted"
          : absl::StrCat(": the target's vocab_size is ", vocab_size, ", and a model may add ",
                         VocabList::kMaxPadding, " rows to it")));
}

/// The elements of d2t. Errors name the file.
absl::StatusOr<std::vector<int64_t>> ReadOffsets(const TensorFile& file, const TensorEntry& d2t) {
  if (d2t.dtype_name != "BOOL") return file.ReadIntegers(d2t);
  return WithPath(file.path(),
                  absl::InvalidArgumentError(absl::StrCat(
                      "d2t is BOOL of ", d2t.num_elements,
                      " elements, not integers: it holds offsets (id minus row), t2d the mask")));
}

/// InvalidArgument names the first of the rows' ids, `what` in d2t, that is out of range or not
/// new, or that `mask` (empty: none) denies.
absl::Status CheckRowIds(const std::vector<int64_t>& ids, const char* what,
                         const std::vector<int64_t>& mask, int64_t vocab_size) {
  std::vector<int64_t> row_of(vocab_size, -1);
  for (int64_t i = 0; i < std::ssize(ids); ++i) {
    const int64_t id = ids[i];
    const auto refuse = [&](const auto&... why) {
      return absl::InvalidArgumentError(
          absl::StrCat("d2t[", i, "], ", what, ": token id ", id, why...));
    };
    if (id < 0 || id >= vocab_size) return refuse(" not in [0, ", vocab_size, ")");
    if (row_of[id] >= 0) return refuse(", which row ", row_of[id], " has too");
    row_of[id] = i;
    if (!mask.empty() && (id >= std::ssize(mask) || mask[id] == 0)) {
      return refuse(", for which t2d is not true");
    }
  }
  return absl::OkStatus();
}

/// Checks what t2d says about the number of rows.
absl::Status CheckMaskCount(const std::vector<int64_t>& mask, int64_t num_rows) {
  for (size_t id = 0; id < mask.size(); ++id) {
    if (mask[id] == 0 || mask[id] == 1) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("t2d[", id, "] is ", mask[id], ", not 0 or 1: t2d is a mask"));
  }
  const int64_t num_tokens = std::ranges::count(mask, 1);
  if (mask.empty() || num_tokens == num_rows) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("t2d is true for ", num_tokens, " of ",
                                                 mask.size(), " tokens, for a head of ", num_rows,
                                                 " rows", num_tokens == 0 ? kDefault : ""));
}

absl::StatusOr<HeadMap> HeadMapOf(const std::vector<int64_t>& d2t, const std::vector<int64_t>& mask,
                                  int64_t vocab_size) {
  SHORTLIST_RETURN_IF_ERROR(CheckMaskCount(mask, std::ssize(d2t)));
  std::vector<int64_t> ids = d2t;
  for (int64_t i = 0; i < std::ssize(ids); ++i) {
    // Without an overflow; -1 is out of range.
    ids[i] = d2t[i] < -i || d2t[i] > kMaxId - i ? -1 : d2t[i] + i;
  }
  const absl::Status offsets = CheckRowIds(ids, "an offset", mask, vocab_size);
  const absl::Status absolute = CheckRowIds(d2t, "an id", mask, vocab_size);
  const bool is_zero = std::ranges::count(d2t, 0) == std::ssize(d2t);
  if (is_zero && std::ssize(d2t) != vocab_size && (mask.empty() || !offsets.ok())) {
    return absl::InvalidArgumentError(
        absl::StrCat("d2t is 0 in all ", d2t.size(), " rows", kDefault,
                     mask.empty() ? "; if its tokens are the first ids, add t2d" : ""));
  }
  if (offsets.ok() && absolute.ok() && mask.empty() && d2t.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("no t2d, and d2t (", d2t[0], ", ", d2t[1],
                     ", ...) can be offsets (id minus row) or ids: add t2d, which decides"));
  }
  if (!offsets.ok() && !absolute.ok()) return offsets;
  HeadMap map{.holds_ids = !offsets.ok()};
  const std::vector<int64_t>& chosen = map.holds_ids ? d2t : ids;
  map.ids.assign(chosen.begin(), chosen.end());
  return map;
}

}  // namespace

absl::StatusOr<HeadMap> ReadHeadMap(const WeightFiles& weights, int64_t num_rows,
                                    int64_t vocab_size) {
  const auto d2t = weights.tensors().find("d2t");
  if (d2t == weights.tensors().end()) {
    return absl::InvalidArgumentError(
        absl::StrCat(weights.dir(), ": no tensor \"d2t\", which names the tokens of the head's ",
                     num_rows, " rows; the target has ", vocab_size));
  }
  const TensorFile& file = weights.file(d2t->second);
  const TensorEntry& entry = *d2t->second.entry;
  if (entry.num_elements != num_rows) {
    return absl::InvalidArgumentError(absl::StrCat(file.path(), ": d2t has ", entry.num_elements,
                                                   " elements for a head of ", num_rows, " rows"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<int64_t> offsets, ReadOffsets(file, entry));
  std::vector<int64_t> mask;
  const auto t2d = weights.tensors().find("t2d");
  if (t2d != weights.tensors().end()) {
    const absl::Status fits = CheckMaskLength(t2d->second.entry->num_elements, vocab_size);
    if (!fits.ok()) return WithPath(file.path(), fits);
    SHORTLIST_ASSIGN_OR_RETURN(mask, weights.file(t2d->second).ReadIntegers(*t2d->second.entry));
  }
  absl::StatusOr<HeadMap> map = HeadMapOf(offsets, mask, vocab_size);
  if (!map.ok()) return WithPath(file.path(), map.status());
  return map;
}

absl::StatusOr<DraftMap> ReadDraftMap(const TensorFile& file, int64_t vocab_size) {
  const auto d2t = file.entries().find("d2t");
  if (d2t == file.entries().end()) {
    return absl::InvalidArgumentError(absl::StrCat(file.path(), ": no tensor \"d2t\""));
  }
  DraftMap map;
  SHORTLIST_ASSIGN_OR_RETURN(map.ids, ReadOffsets(file, d2t->second));
  const std::vector<int64_t> offsets = map.ids;
  for (int64_t i = 0; i < std::ssize(map.ids); ++i) {
    const int64_t offset = offsets[i];
    if (offset < -i || offset > kMaxId - i) {
      return WithPath(file.path(),
                      absl::InvalidArgumentError(absl::StrCat("d2t[", i, "]: offset ", offset,
                                                              " leads out of [0, ", kMaxId, "]")));
    }
    map.ids[i] += i;
  }
  const auto t2d = file.entries().find("t2d");
  if (t2d == file.entries().end()) {
    if (const absl::Status plausible = CheckOffsets(offsets, vocab_size); !plausible.ok()) {
      return WithPath(file.path(), plausible);
    }
    return map;
  }
  if (const absl::Status fits = CheckMaskLength(t2d->second.num_elements, vocab_size); !fits.ok()) {
    return WithPath(file.path(), fits);
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<int64_t> mask, file.ReadIntegers(t2d->second));
  for (const auto& agrees : {CheckKnownFaults(mask, offsets, map.ids), CheckMask(mask, map.ids)}) {
    if (!agrees.ok()) return WithPath(file.path(), agrees);
  }
  map.vocab_size = std::ssize(mask);
  return map;
}

std::string DraftMapFileOf(std::span<const int64_t> ids, int64_t vocab_size) {
  std::string offsets, mask(vocab_size, '\0');
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t offset = ids[i] - static_cast<int64_t>(i);
    for (int shift = 0; shift < 64; shift += 8) {
      offsets.push_back(static_cast<char>(static_cast<uint64_t>(offset) >> shift));
    }
    mask[ids[i]] = 1;
  }
  SafetensorsWriter writer;
  writer.Add("d2t", "I64", std::vector<int64_t>{std::ssize(ids)}, offsets);
  writer.Add("t2d", "BOOL", std::vector<int64_t>{vocab_size}, mask);
  return writer.File();
}

}  // namespace shortlist
