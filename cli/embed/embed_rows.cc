#include "cli/embed/embed_rows.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <span>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "cli/embed/npy.h"
#include "cli/embed/picture_rows.h"
#include "cli/embed/vector_file.h"

namespace shortlist {
namespace {

int64_t WidthOf(BulkEncoder& encoder, const EmbedTask& task) {
  return task.dimensions > 0 ? task.dimensions : encoder.model().result_size();
}

/// FNV-1a, 64 bits, over the texts, each behind its length; over the paths and stamps of pictures.
std::string HashOf(const TextRows& texts) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](uint8_t byte) { hash = (hash ^ byte) * 0x100000001b3; };
  const auto add_text = [&add](const std::string& text) {
    const uint64_t size = text.size();
    for (int shift = 0; shift < 64; shift += 8) add(static_cast<uint8_t>(size >> shift));
    for (const char c : text) add(static_cast<uint8_t>(c));
  };
  for (const TextRow& row : texts.rows) {
    add_text(row.text);
    if (texts.are_pictures) add_text(FileStamp(row.text));
  }
  return absl::StrFormat("fnv1a64:%016x", hash);
}

/// The directory by its one name, as text that JSON can hold.
std::string NameOf(const std::string& dir) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::canonical(dir, error);
  const std::string bytes = error ? dir : whole.string();
  std::string name;
  AppendReplaced(AppendUtf8(bytes, name), name, Replacement::kPerSubpart);
  return name;
}

absl::StatusOr<std::vector<float>> EmbedFirst(BulkEncoder& encoder, const EmbedTask& task) {
  std::vector<float> first;
  const TextRows one{.origin = task.texts.origin,
                     .rows = {task.texts.rows[0]},
                     .are_pictures = task.texts.are_pictures};
  SHORTLIST_RETURN_IF_ERROR(EmbedRows(
      encoder, {.texts = one, .instruction = task.instruction, .dimensions = task.dimensions}, 0,
      [&first](int64_t, std::span<const float> values) {
        first.assign(values.begin(), values.end());
        return absl::OkStatus();
      }));
  return first;
}

}  // namespace

absl::StatusOr<const EmbeddingConfig*> EmbeddingOf(BulkEncoder& encoder) {
  const EmbeddingConfig* const config = encoder.model().embedding();
  if (config != nullptr) return config;
  return absl::InvalidArgumentError(
      absl::StrCat(encoder.model().dir(),
                   ": a classifier, which scores texts (shortlist rerank) "
                   "and makes no vectors"));
}

nlohmann::ordered_json SettingsOf(BulkEncoder& encoder, const EmbedTask& task) {
  EncodingModel& model = encoder.model();
  return {{"model", NameOf(model.dir())},         {"tokenizer", model.tokenizer().Fingerprint()},
          {"dtype", DTypeName(model.dtype())},    {"weights", DTypeName(model.weight_dtype())},
          {"dimensions", WidthOf(encoder, task)}, {"instruction", task.instruction},
          {"num_texts", task.texts.rows.size()},  {"texts", HashOf(task.texts)}};
}

absl::Status EmbedRows(BulkEncoder& encoder, const EmbedTask& task, int64_t begin,
                       const BulkEncoder::Sink& sink) {
  return encoder.Run(
      task.texts, begin, {.dimensions = task.dimensions},
      [&](const std::string& text) {
        return task.texts.are_pictures ? encoder.PreparePicture(text)
                                       : encoder.Prepare(task.instruction, text);
      },
      sink);
}

absl::Status EmbedToFile(BulkEncoder& encoder, const EmbedTask& task, const std::string& path) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<VectorFile> file,
                             VectorFile::Open(path, SettingsOf(encoder, task),
                                              std::ssize(task.texts.rows), WidthOf(encoder, task)));
  const int64_t num_done = file->num_done();
  if (num_done > 0) {
    SHORTLIST_ASSIGN_OR_RETURN(const std::vector<float> first, EmbedFirst(encoder, task));
    SHORTLIST_RETURN_IF_ERROR(file->CheckFirstRow(first));
    std::cerr << "note: goes on behind " << num_done << " of " << task.texts.rows.size()
              << " vectors that are there\n";
  }
  SHORTLIST_RETURN_IF_ERROR(
      EmbedRows(encoder, task, num_done,
                [&file](int64_t, std::span<const float> values) { return file->Append(values); }));
  return file->Finish();
}

absl::StatusOr<std::vector<float>> ReadVectors(BulkEncoder& encoder, const EmbedTask& task,
                                               const std::string& path) {
  SHORTLIST_RETURN_IF_ERROR(CheckSettings(path, SettingsOf(encoder, task)));
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<float> vectors,
                             ReadNpy(path, std::ssize(task.texts.rows), WidthOf(encoder, task)));
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<float> first, EmbedFirst(encoder, task));
  if (std::memcmp(first.data(), vectors.data(), first.size() * sizeof(float)) == 0) return vectors;
  return absl::InvalidArgumentError(
      absl::StrCat(path,
                   ": its first vector is not what this model makes of the first text; "
                   "remove it to make it anew"));
}

}  // namespace shortlist
