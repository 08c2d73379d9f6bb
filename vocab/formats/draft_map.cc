#include "vocab/formats/draft_map.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "model/checkpoint/safetensors_writer.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max() - int64_t{1};

absl::Status CheckMask(const std::vector<int64_t>& mask, const std::vector<int64_t>& ids) {
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

}  // namespace

absl::StatusOr<DraftMap> ReadDraftMap(const TensorFile& file) {
  const auto d2t = file.entries().find("d2t");
  if (d2t == file.entries().end()) {
    return absl::InvalidArgumentError(absl::StrCat(file.path(), ": no tensor \"d2t\""));
  }
  DraftMap map;
  SHORTLIST_ASSIGN_OR_RETURN(map.ids, file.ReadIntegers(d2t->second));
  for (int64_t i = 0; i < std::ssize(map.ids); ++i) {
    const int64_t offset = map.ids[i];
    if (offset < -i || offset > kMaxId - i) {
      return WithPath(file.path(),
                      absl::InvalidArgumentError(absl::StrCat("d2t[", i, "]: offset ", offset,
                                                              " leads out of [0, ", kMaxId, "]")));
    }
    map.ids[i] += i;
  }
  const auto t2d = file.entries().find("t2d");
  if (t2d == file.entries().end()) return map;
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<int64_t> mask, file.ReadIntegers(t2d->second));
  if (const absl::Status agrees = CheckMask(mask, map.ids); !agrees.ok()) {
    return WithPath(file.path(), agrees);
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
