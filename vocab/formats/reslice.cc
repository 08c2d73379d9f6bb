#include "vocab/formats/reslice.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "io/safetensors.h"
#include "io/safetensors_writer.h"
#include "vocab/vocab_list.h"

namespace shortlist {
namespace {

using Kind = DraftCheckpoint::Kind;

constexpr int64_t kPieceBytes = int64_t{1} << 22;  // whole elements of every type
constexpr char kConfigName[] = "config.json";
constexpr char kWeightsName[] = "model.safetensors";

absl::Status CheckKind(const DraftCheckpoint& draft) {
  const auto refuse = [&draft](const char* why) {
    return absl::InvalidArgumentError(absl::StrCat(draft.path, ": ", why));
  };
  if (draft.is_gguf) {
    return absl::UnimplementedError(absl::StrCat(
        draft.path, ": GGUF is not written; give the safetensors checkpoint it was made of"));
  }
  switch (draft.kind) {
    case Kind::kEagle3:
    case Kind::kMtp:
      break;
    case Kind::kEagle1:
      return refuse(
          "an EAGLE-1 or EAGLE-2 head, which scores the target's head: engines take a list for it "
          "(`vocab convert LIST map.pt`; SGLang: --speculative-token-map)");
    case Kind::kTarget:
      return refuse(
          "a whole model: its head is the target's own, and fewer rows would change what the "
          "target can say. Give the draft's own checkpoint");
    case Kind::kOther:
      return refuse("neither an EAGLE-3 nor an MTP head, by its tensors");
  }
  if (!draft.config.is_object()) {
    return refuse("no config.json: give the directory of the checkpoint");
  }
  return absl::OkStatus();
}

/// Unimplemented for a head in another form than lm_head.weight of plain elements.
absl::Status CheckPlainHead(const DraftCheckpoint& draft) {
  for (const auto& [name, location] : draft.weights.tensors()) {
    const size_t begin = name.starts_with("lm_head.") ? 0 : name.find(".lm_head.");
    if (begin == std::string::npos || name.ends_with("lm_head.weight") ||
        name.ends_with("lm_head.bias")) {
      continue;
    }
    return absl::UnimplementedError(absl::StrCat(
        draft.path, ": ", Quote(name), ": a quantised head; give the checkpoint before that"));
  }
  return absl::OkStatus();
}

/// A member of config.json, or of its `transformer_layer_config`; null if there is none.
nlohmann::json Member(const nlohmann::json& config, const char* name) {
  if (config.contains(name)) return config.at(name);
  const auto nested = config.find("transformer_layer_config");
  if (nested == config.end() || !nested->is_object()) return nullptr;
  return nested->value(name, nlohmann::json());
}

bool IsTied(const nlohmann::json& config) { return Member(config, "tie_word_embeddings") == true; }

/// The ids of d2t for a head of `num_rows`.
absl::StatusOr<std::vector<int64_t>> MappedIds(const DraftCheckpoint& draft, int64_t vocab_size) {
  SHORTLIST_ASSIGN_OR_RETURN(const StoredMap map, draft.ReadMap());
  MapDiagnosis diagnosis = DiagnoseMap(map, vocab_size);
  for (const MapFault& fault : diagnosis.faults) {
    if (fault.code == "d2t-absolute") continue;
    return absl::FailedPreconditionError(absl::StrCat(draft.path, ": ", fault.message));
  }
  if (draft.num_head_rows() != std::ssize(diagnosis.ids)) {
    return absl::FailedPreconditionError(
        absl::StrCat(draft.path, ": the head has ", draft.num_head_rows(), " rows, d2t ",
                     diagnosis.ids.size(), ": they are of different trainings"));
  }
  return std::move(diagnosis.ids);
}

absl::Status CopyTensor(const TensorFile& file, const TensorEntry& entry,
                        const AppendBytes& append) {
  // A strided tensor is read whole: each read of a part would read all of it.
  const int64_t piece = entry.strides.empty() ? kPieceBytes : std::max<int64_t>(entry.num_bytes, 1);
  std::string bytes;
  for (int64_t begin = 0; begin < entry.num_bytes; begin += piece) {
    bytes.resize(std::min(piece, entry.num_bytes - begin));
    SHORTLIST_RETURN_IF_ERROR(file.Read(entry, begin, std::ssize(bytes), bytes.data()));
    SHORTLIST_RETURN_IF_ERROR(append(bytes));
  }
  return absl::OkStatus();
}

/// Appends `rows` of a tensor of rows; neighbouring rows are read at once.
absl::Status CopyRows(const TensorFile& file, const TensorEntry& entry,
                      std::span<const int64_t> rows, const AppendBytes& append) {
  const int64_t row_bytes = entry.num_bytes / entry.shape[0];
  const int64_t max_rows = std::max<int64_t>(kPieceBytes / std::max<int64_t>(row_bytes, 1), 1);
  std::string bytes;
  for (size_t i = 0; i < rows.size();) {
    int64_t count = 1;
    while (i + count < rows.size() && count < max_rows && rows[i + count] == rows[i] + count) {
      ++count;
    }
    bytes.resize(count * row_bytes);
    SHORTLIST_RETURN_IF_ERROR(
        file.Read(entry, rows[i] * row_bytes, std::ssize(bytes), bytes.data()));
    SHORTLIST_RETURN_IF_ERROR(append(bytes));
    i += count;
  }
  return absl::OkStatus();
}

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

NewTensor InMemory(const std::string& name, const char* dtype, int64_t size, std::string bytes) {
  const auto num_bytes = static_cast<int64_t>(bytes.size());
  return {name, dtype, {size}, num_bytes, [bytes = std::move(bytes)](const AppendBytes& append) {
            return append(bytes);
          }};
}

/// Name of the bias of a head, which may not exist.
std::string BiasOf(const std::string& head) {
  return head.substr(0, head.size() - std::strlen("weight")) + "bias";
}

/// Everything that the new file holds, and where it comes from.
struct NewHead {
  const DraftCheckpoint& draft;
  const SourceHead& head;
  std::vector<int64_t> ids;   // ascending
  std::vector<int64_t> rows;  // [ids.size()] of head.tensor
  int64_t num_masked;         // elements of t2d
  std::string name;           // of the head's tensor

  bool IsReplaced(const std::string& tensor) const {
    return tensor == name || tensor == bias() || tensor == draft.d2t.name ||
           tensor == draft.t2d.name;
  }
  /// Name of the head's bias, which may not exist.
  std::string bias() const { return name.substr(0, name.size() - std::strlen("weight")) + "bias"; }
};

NewTensor Rows(const std::string& name, const TensorFile& file, const TensorEntry& entry,
               const std::vector<int64_t>& rows) {
  std::vector<int64_t> shape = entry.shape;
  shape[0] = std::ssize(rows);
  const int64_t num_bytes = entry.num_bytes / entry.shape[0] * shape[0];
  return {name, entry.dtype_name, shape, num_bytes,
          [&](const AppendBytes& append) { return CopyRows(file, entry, rows, append); }};
}

std::vector<NewTensor> TensorsOf(const NewHead& now) {
  const WeightFiles& weights = now.draft.weights;
  std::vector<NewTensor> tensors;
  for (const auto& [name, location] : weights.tensors()) {
    if (now.IsReplaced(name)) continue;
    const TensorFile& file = weights.file(location);
    const TensorEntry& entry = *location.entry;
    tensors.push_back({name, entry.dtype_name, entry.shape, entry.num_bytes,
                       [&](const AppendBytes& append) { return CopyTensor(file, entry, append); }});
  }
  const WeightFiles::Location& source = now.head.tensor.location;
  tensors.push_back(Rows(now.name, now.head.weights->file(source), *source.entry, now.rows));
  if (const auto bias = weights.tensors().find(now.bias()); bias != weights.tensors().end()) {
    tensors.push_back(Rows(now.bias(), weights.file(bias->second), *bias->second.entry, now.rows));
  }
  std::vector<int64_t> offsets;
  std::string mask(now.num_masked, '\0');
  for (size_t i = 0; i < now.ids.size(); ++i) {
    offsets.push_back(now.ids[i] - static_cast<int64_t>(i));
    mask[now.ids[i]] = 1;
  }
  const auto name_or = [](const NamedTensor& tensor, const char* name) {
    return tensor.exists() ? tensor.name : std::string(name);
  };
  tensors.push_back(
      InMemory(name_or(now.draft.d2t, "d2t"), "I64", std::ssize(offsets), BytesOf(offsets)));
  tensors.push_back(InMemory(name_or(now.draft.t2d, "t2d"), "BOOL", now.num_masked, mask));
  return tensors;
}

absl::Status Differs(const std::string& path, const std::string& name, int64_t element) {
  return absl::DataLossError(absl::StrCat(path, ": tensor ", Quote(name), " differs at byte ",
                                          element, " from what it was made of"));
}

/// Reads `written` in pieces as the source appends them, and compares.
absl::Status CompareTensor(const TensorFile& written, const NewTensor& source) {
  const auto found = written.entries().find(source.name);
  if (found == written.entries().end() || found->second.shape != source.shape ||
      found->second.dtype_name != source.dtype_name) {
    return Differs(written.path(), source.name, 0);
  }
  int64_t begin = 0;
  std::string bytes;
  return source.write([&](std::string_view expected) -> absl::Status {
    bytes.resize(expected.size());
    SHORTLIST_RETURN_IF_ERROR(written.Read(found->second, begin, std::ssize(bytes), bytes.data()));
    if (bytes != expected) return Differs(written.path(), source.name, begin);
    begin += std::ssize(bytes);
    return absl::OkStatus();
  });
}

/// Reads the new file back. The rows of the head are found again by d2t as engines add it.
absl::Status CheckWritten(const std::string& path, const NewHead& now,
                          const std::vector<NewTensor>& tensors) {
  SHORTLIST_ASSIGN_OR_RETURN(const TensorFile file, OpenSafetensors(path));
  if (file.entries().size() != tensors.size()) {
    return absl::DataLossError(
        absl::StrCat(path, ": ", file.entries().size(), " tensors, not ", tensors.size()));
  }
  for (const NewTensor& tensor : tensors) {
    SHORTLIST_RETURN_IF_ERROR(CompareTensor(file, tensor));
  }
  const std::string d2t = now.draft.d2t.exists() ? now.draft.d2t.name : "d2t";
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<int64_t> offsets,
                             file.ReadIntegers(file.entries().at(d2t)));
  std::map<int64_t, int64_t> row_of;
  for (size_t row = 0; row < now.head.ids.size(); ++row) row_of[now.head.ids[row]] = row;
  const TensorEntry& head = file.entries().at(now.name);
  const TensorEntry& source = *now.head.tensor.location.entry;
  const TensorFile& source_file = now.head.weights->file(now.head.tensor.location);
  const int64_t row_bytes = source.num_bytes / source.shape[0];
  std::string bytes(row_bytes, '\0'), expected(row_bytes, '\0');
  for (int64_t row = 0; row < std::ssize(offsets); ++row) {
    const auto original = row_of.find(row + offsets[row]);
    if (original == row_of.end()) return Differs(path, d2t, 8 * row);
    SHORTLIST_RETURN_IF_ERROR(file.Read(head, row * row_bytes, row_bytes, bytes.data()));
    SHORTLIST_RETURN_IF_ERROR(
        source_file.Read(source, original->second * row_bytes, row_bytes, expected.data()));
    if (bytes != expected) return Differs(path, now.name, row * row_bytes);
  }
  return absl::OkStatus();
}

/// Writes config.json with the members in their order.
absl::Status WriteConfig(const DraftCheckpoint& draft, int64_t num_rows, const std::string& path) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string text,
                             draft.source.Read(kConfigName, kMaxConfigBytes));
  nlohmann::ordered_json config = ParseOrderedJson(text);
  config["draft_vocab_size"] = num_rows;
  if (IsTied(draft.config)) {
    config["tie_word_embeddings"] = false;
    const auto nested = config.find("transformer_layer_config");
    if (nested != config.end() && nested->is_object()) (*nested)["tie_word_embeddings"] = false;
  }
  return WriteFileAtomically(path, config.dump(2) + "\n");
}

bool IsWeightFile(const std::string& name) {
  const auto has = [&name](const char* part) { return name.find(part) != std::string::npos; };
  return has(".safetensors") || has(".bin") || has(".pt") || has(".gguf") || has(".onnx");
}

/// Copies the other files of the checkpoint; returns those that are too large.
absl::StatusOr<std::vector<std::string>> CopyFiles(const DraftCheckpoint& draft,
                                                   const NewFolder& folder) {
  std::vector<std::string> skipped;
  for (const std::string& name : draft.source.List()) {
    if (name == kConfigName || name.starts_with('.') || IsWeightFile(name)) continue;
    const absl::StatusOr<std::string> contents = draft.source.Read(name, kMaxConfigBytes);
    if (absl::IsInvalidArgument(contents.status())) {
      skipped.push_back(name);
      continue;
    }
    SHORTLIST_RETURN_IF_ERROR(contents.status());
    SHORTLIST_RETURN_IF_ERROR(WriteFileAtomically(folder.Join(name), *contents));
  }
  return skipped;
}

/// Checks the shape of the rows, and of the head's bias.
absl::Status CheckRows(const DraftCheckpoint& draft, const SourceHead& head) {
  const TensorEntry& entry = *head.tensor.location.entry;
  if (entry.shape.size() != 2 || entry.num_bytes == 0 || entry.format != nullptr ||
      !entry.strides.empty()) {
    return absl::UnimplementedError(absl::StrCat(draft.path, ": ", Quote(head.tensor.name), " is ",
                                                 entry.dtype_name, " of ", ShapeString(entry.shape),
                                                 ", not rows stored one after the other"));
  }
  const nlohmann::json hidden = Member(draft.config, "hidden_size");
  if (head.is_targets && hidden.is_number_integer() && hidden != entry.shape[1]) {
    return absl::FailedPreconditionError(
        absl::StrCat(draft.path, ": no head, and hidden_size ", hidden.dump(),
                     ", where the rows of the target's head have ", entry.shape[1]));
  }
  const std::string& name = head.tensor.name;
  if (!draft.head.exists()) return absl::OkStatus();
  const auto bias = draft.weights.tensors().find(BiasOf(name));
  if (bias == draft.weights.tensors().end()) return absl::OkStatus();
  const TensorEntry& values = *bias->second.entry;
  if (values.shape == std::vector<int64_t>{entry.shape[0]} && values.strides.empty()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(draft.path, ": ", Quote(bias->first),
                                                    " has the shape ", ShapeString(values.shape),
                                                    ", the head ", ShapeString(entry.shape)));
}

}  // namespace

absl::StatusOr<SourceHead> FindSourceHead(const DraftCheckpoint& draft, const WeightFiles& target,
                                          int64_t vocab_size) {
  SHORTLIST_RETURN_IF_ERROR(CheckKind(draft));
  SHORTLIST_RETURN_IF_ERROR(CheckPlainHead(draft));
  SourceHead head{.weights = &draft.weights, .tensor = draft.head};
  if (draft.d2t.exists()) {
    SHORTLIST_ASSIGN_OR_RETURN(head.ids, MappedIds(draft, vocab_size));
  } else {
    if (!head.tensor.exists() && IsTied(draft.config)) head.tensor = draft.embedding;
    if (!head.tensor.exists()) {
      head.weights = &target;
      head.is_targets = true;
      SHORTLIST_ASSIGN_OR_RETURN(head.tensor,
                                 FindTensor(target, {"lm_head.weight", "embed_tokens.weight"}));
    }
    if (!head.tensor.exists()) {
      return absl::FailedPreconditionError(
          absl::StrCat(draft.path, ": no head, and ", target.dir(), " has none either"));
    }
    const TensorEntry& entry = *head.tensor.location.entry;
    const int64_t num_rows = entry.shape.empty() ? 0 : entry.shape[0];
    if (std::abs(num_rows - vocab_size) > VocabList::kMaxPadding) {
      return absl::FailedPreconditionError(absl::StrCat(
          draft.path, ": ", Quote(head.tensor.name), " has ", num_rows,
          " rows for a vocabulary of ", vocab_size, ", and there is no d2t that maps them"));
    }
    for (int64_t id = 0; id < std::min(num_rows, vocab_size); ++id) head.ids.push_back(id);
  }
  SHORTLIST_RETURN_IF_ERROR(CheckRows(draft, head));
  return head;
}

absl::StatusOr<std::vector<std::string>> WriteResliced(const DraftCheckpoint& draft,
                                                       const SourceHead& head, int64_t vocab_size,
                                                       std::vector<int64_t> ids,
                                                       const NewFolder& folder) {
  std::ranges::sort(ids);
  std::map<int64_t, int64_t> row_of;
  for (size_t row = 0; row < head.ids.size(); ++row) row_of[head.ids[row]] = row;
  NewHead now{.draft = draft,
              .head = head,
              .num_masked = draft.d2t.exists() && draft.t2d.exists()
                                ? draft.t2d.location.entry->num_elements
                                : vocab_size,
              .name = draft.head.exists() ? draft.head.name : "lm_head.weight"};
  for (const int64_t id : ids) {
    const auto row = row_of.find(id);
    SHORTLIST_CHECK(row != row_of.end() && (now.ids.empty() || now.ids.back() < id));
    SHORTLIST_CHECK(id < now.num_masked);
    now.ids.push_back(id);
    now.rows.push_back(row->second);
  }
  const std::string path = folder.Join(kWeightsName);
  const std::vector<NewTensor> tensors = TensorsOf(now);
  SHORTLIST_RETURN_IF_ERROR(WriteSafetensorsFile(path, tensors));
  SHORTLIST_RETURN_IF_ERROR(CheckWritten(path, now, tensors));
  SHORTLIST_RETURN_IF_ERROR(WriteConfig(draft, std::ssize(ids), folder.Join(kConfigName)));
  return CopyFiles(draft, folder);
}

}  // namespace shortlist
