#include "vocab/formats/map_faults.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/counted.h"
#include "vocab/vocab_list.h"

namespace shortlist {
namespace {

constexpr const char* kRetrained =
    ": take the file of the trained draft, or the map that its training used";

bool AllDistinct(std::vector<int64_t> values) {
  std::ranges::sort(values);
  return std::ranges::adjacent_find(values) == values.end();
}

/// The ids of a map whose values are offsets. A sum that does not fit becomes -1.
std::vector<int64_t> AddRows(const std::vector<int64_t>& offsets) {
  std::vector<int64_t> ids(offsets.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (__builtin_add_overflow(offsets[i], static_cast<int64_t>(i), &ids[i])) ids[i] = -1;
  }
  return ids;
}

/// True if `mask` has exactly the distinct `ids`.
bool Agrees(const std::vector<int64_t>& mask, const std::vector<int64_t>& ids) {
  const auto is_token = [&mask](int64_t id) {
    return id >= 0 && id < std::ssize(mask) && mask[id] != 0;
  };
  const int64_t num_tokens = std::ssize(mask) - std::ranges::count(mask, 0);
  return num_tokens == std::ssize(ids) && std::ranges::all_of(ids, is_token) && AllDistinct(ids);
}

/// True if d2t holds ids: with t2d, the ids of that; else distinct values, none negative. As
/// offsets those would leave a gap between any two neighbours, which no list by frequency has.
bool HoldsIds(const StoredMap& map, const std::vector<int64_t>& as_offsets) {
  if (map.t2d.has_value() && Agrees(*map.t2d, as_offsets)) return false;
  if (map.t2d.has_value() && Agrees(*map.t2d, map.d2t)) return true;
  return map.d2t.size() > 1 && AllDistinct(map.d2t) &&
         std::ranges::all_of(map.d2t, [](int64_t id) { return id >= 0; });
}

/// A map that a trainer writes before it knows any; empty if it is none.
std::vector<MapFault> FindDefault(const StoredMap& map, int64_t vocab_size) {
  const auto num_rows = std::ssize(map.d2t);
  const bool is_zero = std::ranges::all_of(map.d2t, [](int64_t value) { return value == 0; });
  bool is_arange = num_rows > 1;
  for (int64_t i = 0; i < num_rows && is_arange; ++i) is_arange = map.d2t[i] == i;
  if (is_zero && num_rows > 1 && map.is_absolute) {
    return {{"d2t-zero", absl::StrCat("d2t is 0 in all ", num_rows,
                                      " rows, so every row is token 0", kRetrained)}};
  }
  // All rows in order: of a head of the whole vocabulary, or of ids that t2d confirms.
  const bool is_identity = map.is_absolute ? is_arange : is_zero;
  std::vector<int64_t> first(num_rows);
  for (int64_t i = 0; i < num_rows; ++i) first[i] = i;
  if (is_identity) {
    const bool is_whole = vocab_size > 0 && num_rows >= vocab_size;
    if (is_whole || (map.t2d.has_value() && Agrees(*map.t2d, first))) return {};
    return {{map.is_absolute ? "d2t-arange" : "d2t-zero",
             absl::StrCat("d2t names the first ", num_rows,
                          " ids, which is what a trainer writes before it knows the map, and ",
                          map.t2d.has_value() ? "t2d has other tokens" : "there is no t2d",
                          kRetrained)}};
  }
  if (is_arange && !(map.t2d.has_value() && Agrees(*map.t2d, AddRows(map.d2t)))) {
    return {{"d2t-arange", absl::StrCat("d2t is 0, 1, 2, ... ", num_rows - 1,
                                        ": read as offsets, row i is token 2 i. It is a "
                                        "trainer's default for the first ids",
                                        kRetrained)}};
  }
  return {};
}

void CheckIds(const std::vector<int64_t>& ids, int64_t vocab_size, std::vector<MapFault>& faults) {
  const int64_t bound = vocab_size > 0 ? vocab_size : VocabList::kMaxVocabSize;
  const auto is_outside = [bound](int64_t id) { return id < 0 || id >= bound; };
  if (const auto first = std::ranges::find_if(ids, is_outside); first != ids.end()) {
    faults.push_back(
        {"id-range", absl::StrCat(Counted(std::ranges::count_if(ids, is_outside), "row"),
                                  " lead out of the vocabulary; the first, row ",
                                  first - ids.begin(), ", to token id ", *first, " not in [0, ",
                                  bound, "): the map belongs to another target")});
  }
  std::vector<int64_t> sorted = ids;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return;
  const int64_t num_distinct = std::unique(sorted.begin(), sorted.end()) - sorted.begin();
  faults.push_back({"id-twice", absl::StrCat(Counted(std::ssize(ids) - num_distinct, "row"),
                                             " repeat the token of another row, such as token id ",
                                             *twice, ": one of the two is lost or wrong")});
}

void CheckMask(const std::vector<int64_t>& mask, const std::vector<int64_t>& ids,
               int64_t vocab_size, std::vector<MapFault>& faults) {
  const auto odd =
      std::ranges::find_if(mask, [](int64_t value) { return value != 0 && value != 1; });
  if (odd != mask.end()) {
    faults.push_back({"t2d-values", absl::StrCat("t2d[", odd - mask.begin(), "] is ", *odd,
                                                 ", not 0 or 1: t2d is a mask")});
    return;
  }
  if (vocab_size > 0 && (std::ssize(mask) > vocab_size + VocabList::kMaxPadding ||
                         std::ssize(mask) < vocab_size - VocabList::kMaxPadding)) {
    faults.push_back(
        {"t2d-length", absl::StrCat("t2d has ", mask.size(), " elements, the target ", vocab_size,
                                    " ids: it belongs to another target")});
    return;
  }
  if (std::ranges::count(mask, 0) == std::ssize(mask)) {
    faults.push_back({"t2d-empty", absl::StrCat("t2d is false for all ", mask.size(),
                                                " tokens: it was never filled in", kRetrained)});
    return;
  }
  std::vector<bool> has_row(mask.size());
  int64_t num_unmasked = 0, num_rowless = 0, example = -1;
  for (const int64_t id : ids) {
    const bool is_masked = id >= 0 && id < std::ssize(mask) && mask[id] != 0;
    if (id >= 0 && id < std::ssize(mask)) has_row[id] = true;
    if (is_masked) continue;
    ++num_unmasked;
    example = id;
  }
  for (size_t id = 0; id < mask.size(); ++id) {
    if (mask[id] == 0 || has_row[id]) continue;
    ++num_rowless;
    example = static_cast<int64_t>(id);
  }
  if (num_unmasked + num_rowless == 0) return;
  faults.push_back(
      {"t2d-differs", absl::StrCat("t2d and d2t are of different maps: ",
                                   Counted(num_unmasked, "row"), " outside t2d, ",
                                   Counted(num_rowless, "token"), " of t2d without a row, such as ",
                                   example, ". Training used t2d, engines read d2t", kRetrained)});
}

}  // namespace

MapDiagnosis DiagnoseMap(const StoredMap& map, int64_t vocab_size) {
  MapDiagnosis diagnosis{.is_absolute = map.is_absolute};
  if (map.d2t.empty()) {
    diagnosis.faults.push_back({"d2t-empty", "d2t has no element: the head has no row"});
    return diagnosis;
  }
  const std::vector<int64_t> as_offsets = AddRows(map.d2t);
  diagnosis.ids = map.is_absolute ? map.d2t : as_offsets;
  diagnosis.faults = FindDefault(map, vocab_size);
  if (!diagnosis.faults.empty()) return diagnosis;
  const bool holds_ids = HoldsIds(map, as_offsets);
  if (holds_ids && !map.is_absolute) {
    diagnosis.is_absolute = true;
    diagnosis.ids = map.d2t;
    diagnosis.faults.push_back(
        {"d2t-absolute",
         absl::StrCat("d2t holds the target's ids (", map.d2t[0], ", ", map.d2t[1],
                      ", ...), where EAGLE-3 has offsets: vLLM and SGLang add the row to them and "
                      "draft other tokens. Subtract the row (`vocab reslice` writes offsets)")});
  } else if (map.is_absolute && !AllDistinct(map.d2t) && AllDistinct(as_offsets)) {
    diagnosis.is_absolute = false;
    diagnosis.ids = as_offsets;
    diagnosis.faults.push_back(
        {"d2t-offsets",
         "d2t holds offsets, where GGUF has the target's ids: llama.cpp drafts "
         "other tokens. Add the row to each"});
  }
  CheckIds(diagnosis.ids, vocab_size, diagnosis.faults);
  if (map.t2d.has_value()) CheckMask(*map.t2d, diagnosis.ids, vocab_size, diagnosis.faults);
  return diagnosis;
}

}  // namespace shortlist
