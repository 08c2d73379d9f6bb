#include "vocab/formats/list_file.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "io/tensor_file.h"
#include "io/torch_file.h"
#include "io/torch_writer.h"
#include "vocab/formats/draft_map.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxFileBytes = int64_t{256} << 20;

enum class Format { kDocument, kText, kTorch, kNpy, kSafetensors, kTorchDict, kUnknown };

Format FormatOf(const std::string& path) {
  if (path.ends_with(".pt") || path.ends_with(".pth")) return Format::kTorch;
  if (path.ends_with(".npy")) return Format::kNpy;
  if (path.ends_with(".safetensors")) return Format::kSafetensors;
  if (path.ends_with(".bin")) return Format::kTorchDict;
  if (path.ends_with(".json") || path.ends_with(".json.xz")) return Format::kDocument;
  const bool is_text = path.ends_with(".txt") || !std::filesystem::path(path).has_extension();
  return is_text ? Format::kText : Format::kUnknown;
}

absl::StatusOr<VocabList> ListOf(const DraftMap& map, int64_t target_size) {
  constexpr int64_t kMaxVocabSize = VocabList::kMaxVocabSize;
  VocabList list;
  int64_t bound = map.vocab_size;
  if (bound == 0) bound = target_size == 0 ? kMaxVocabSize : target_size;
  int64_t largest = 0;
  for (size_t i = 0; i < map.ids.size(); ++i) {
    if (map.ids[i] < 0 || map.ids[i] >= bound) {
      return absl::InvalidArgumentError(
          absl::StrCat("token id ", map.ids[i], " at index ", i, " not in [0, ", bound, ")"));
    }
    largest = std::max(largest, map.ids[i]);
    list.ids.push_back(TokenId{static_cast<int32_t>(map.ids[i])});
  }
  list.vocab_size = bound == kMaxVocabSize ? largest + 1 : bound;
  SHORTLIST_RETURN_IF_ERROR(list.Validate());
  return list;
}

absl::StatusOr<DraftMap> ReadMap(const std::string& path, Format format, int64_t target_size) {
  DraftMap map;
  if (format == Format::kTorch) {
    SHORTLIST_ASSIGN_OR_RETURN(const bool is_dict, IsTorchDict(path));
    if (is_dict) return ReadMap(path, Format::kTorchDict, target_size);
    SHORTLIST_ASSIGN_OR_RETURN(map.ids, ReadTorchIntegers(path));
  } else if (format == Format::kNpy) {
    SHORTLIST_ASSIGN_OR_RETURN(const std::string contents, ReadFile(path, kMaxFileBytes));
    absl::StatusOr<std::vector<int64_t>> ids = ParseNpyIntegers(contents);
    if (!ids.ok()) return WithPath(path, ids.status());
    map.ids = *std::move(ids);
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(const TensorFile file, format == Format::kSafetensors
                                                          ? OpenSafetensors(path)
                                                          : OpenTorchFile(path));
    return ReadDraftMap(file, target_size);
  }
  return map;
}

}  // namespace

absl::StatusOr<VocabList> ReadListFile(const std::string& path, const VocabTarget& target) {
  const Format format = FormatOf(path);
  if (format == Format::kDocument || format == Format::kText || format == Format::kUnknown) {
    return ReadVocabList(path, target);
  }
  SHORTLIST_ASSIGN_OR_RETURN(const DraftMap map, ReadMap(path, format, target.vocab_size));
  absl::StatusOr<VocabList> list = ListOf(map, target.vocab_size);
  if (!list.ok()) return WithPath(path, list.status());
  if (const absl::Status fits = FitList(target, *list); !fits.ok()) return WithPath(path, fits);
  return list;
}

absl::StatusOr<std::shared_ptr<const VocabBase>> OpenVocabBase(const VocabOptions& options,
                                                               const VocabTarget& target) {
  if (!options.names_list()) return SelectVocabBase(options, target);
  SHORTLIST_ASSIGN_OR_RETURN(const VocabList list, ReadListFile(options.custom_vocab_path, target));
  return SelectVocabBase(options, list, target);
}

absl::Status CheckListName(const std::string& path) {
  const Format format = FormatOf(path);
  if (format != Format::kTorchDict && format != Format::kUnknown) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": lists are written as .vocab.json, .vocab.json.xz, .txt, .pt, .npy or .safetensors"));
}

std::string LostByFormat(const std::string& path, const VocabList& list) {
  if (FormatOf(path) == Format::kDocument) return "";
  std::vector<const char*> lost;
  if (list.ranked) lost.push_back("the mark that they are ranked");
  if (!list.counts.empty()) lost.push_back("counts");
  if (std::ranges::any_of(list.successors, [](const auto& ids) { return !ids.empty(); })) {
    lost.push_back("successors");
  }
  if (!list.pinned.empty()) lost.push_back("which are pinned");
  return absl::StrJoin(lost, ", ");
}

absl::Status WriteListFile(const std::string& path, const VocabList& list) {
  SHORTLIST_RETURN_IF_ERROR(CheckListName(path));
  const Format format = FormatOf(path);
  if (format == Format::kDocument || format == Format::kText) return WriteVocabList(path, list);
  if (const absl::Status valid = list.Validate(); !valid.ok()) return WithPath(path, valid);
  std::vector<int64_t> ids;
  for (const TokenId id : list.ByRank()) ids.push_back(Raw(id));
  if (format == Format::kTorch) return WriteFileAtomically(path, TorchFileOf(ids));
  if (format == Format::kNpy) return WriteFileAtomically(path, NpyFileOf(ids));
  if (list.vocab_size > VocabList::kMaxVocabSize) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": a mask of vocab_size ", list.vocab_size,
                                                   ", more than the ", VocabList::kMaxVocabSize,
                                                   " admitted here"));
  }
  std::ranges::sort(ids);
  return WriteFileAtomically(path, DraftMapFileOf(ids, list.vocab_size));
}

}  // namespace shortlist
