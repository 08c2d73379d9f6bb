#include "cli/embed/embed_rows.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/counted.h"
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

/// FNV-1a, 64 bits, over the texts, each after its length, or over the paths and hashes of
/// pictures.
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
    if (texts.are_pictures) add_text(PictureHash(row.text));
  }
  return absl::StrFormat("fnv1a64:%016x", hash);
}

/// Canonical name of the directory, as text that JSON can hold.
std::string NameOf(const std::string& dir) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::canonical(dir, error);
  const std::string bytes = error ? dir : whole.string();
  std::string name;
  AppendReplaced(AppendUtf8(bytes, name), name, Replacement::kPerSubpart);
  return name;
}

absl::StatusOr<EncodeResult> EmbedFirst(BulkEncoder& encoder, const EmbedTask& task) {
  EncodeResult first;
  const TextRows one{.origin = task.texts.origin,
                     .rows = {task.texts.rows[0]},
                     .are_pictures = task.texts.are_pictures};
  SHORTLIST_RETURN_IF_ERROR(EmbedRows(encoder,
                                      {.texts = one,
                                       .instruction = task.instruction,
                                       .dimensions = task.dimensions,
                                       .sparse = task.sparse,
                                       .sparse_top_n = task.sparse_top_n},
                                      0, [&first](int64_t, const EncodeResult& result) {
                                        first = result;
                                        return absl::OkStatus();
                                      }));
  return first;
}

}  // namespace

absl::StatusOr<const EmbeddingConfig*> EmbeddingOf(BulkEncoder& encoder, bool sparse) {
  const EncodingModel& model = encoder.model();
  const EmbeddingConfig* const config = model.embedding();
  if (config != nullptr && sparse && model.outputs().MaxSparseWeights(1) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(model.source().path(),
                     ": makes no sparse vectors: there is neither sparse_linear.pt nor "
                     "the head of a masked language model"));
  }
  if (config != nullptr && !sparse && !config->makes_dense) {
    return absl::InvalidArgumentError(
        absl::StrCat(model.source().path(), ": makes no dense vectors, but sparse ones"));
  }
  if (config != nullptr) return config;
  return absl::InvalidArgumentError(
      absl::StrCat(encoder.model().source().path(),
                   ": a classifier, which scores texts (shortlist rerank) "
                   "and makes no vectors"));
}

std::string RowJson(const EmbedTask& task, int64_t row, const EncodeResult& result) {
  return task.sparse ? SparseJson(row, result.sparse) : VectorJson(row, result.values);
}

nlohmann::ordered_json SettingsOf(BulkEncoder& encoder, const EmbedTask& task) {
  EncodingModel& model = encoder.model();
  nlohmann::ordered_json settings = {
      {"model", NameOf(model.source().path())},  {"tokenizer", model.tokenizer().Fingerprint()},
      {"dtype", DTypeName(model.dtype())},       {"weights", DTypeName(model.weight_dtype())},
      {"dimensions", WidthOf(encoder, task)},    {"max_input_tokens", model.max_input_tokens()},
      {"truncates", encoder.flags().truncates},  {"instruction", task.instruction},
      {"num_texts", task.texts.rows.size()},     {"texts", HashOf(task.texts)},
      {kFilesSetting, encoder.files()->hashes()}};
  if (task.sparse) settings["sparse_top_n"] = task.sparse_top_n;
  return settings;
}

absl::Status EmbedRows(BulkEncoder& encoder, const EmbedTask& task, int64_t begin,
                       const BulkEncoder::Sink& sink) {
  return encoder.Run(
      task.texts, begin,
      {.dense = !task.sparse,
       .dimensions = task.dimensions,
       .sparse = task.sparse,
       .sparse_cut = {.top_n = task.sparse_top_n}},
      [&](const std::string& text) {
        return task.texts.are_pictures ? encoder.PreparePicture(text)
                                       : encoder.Prepare(task.instruction, text);
      },
      sink);
}

absl::Status EmbedToFile(BulkEncoder& encoder, const EmbedTask& task, const std::string& path) {
  if (task.sparse && !path.ends_with(".jsonl")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--out: ", path, ": sparse vectors are written as .jsonl alone"));
  }
  const nlohmann::ordered_json settings = SettingsOf(encoder, task);
  SHORTLIST_ASSIGN_OR_RETURN(const bool is_written, IsWritten(path, settings));
  if (is_written) {
    SHORTLIST_RETURN_IF_ERROR(CheckContent(path));
    std::cerr << "note: " << path << " holds these vectors already\n";
    return absl::OkStatus();
  }
  SHORTLIST_ASSIGN_OR_RETURN(
      const std::unique_ptr<VectorFile> file,
      VectorFile::Open(path, settings, std::ssize(task.texts.rows), WidthOf(encoder, task)));
  const int64_t num_done = file->num_done();
  if (num_done > 0) {
    SHORTLIST_ASSIGN_OR_RETURN(const EncodeResult first, EmbedFirst(encoder, task));
    SHORTLIST_RETURN_IF_ERROR(task.sparse ? file->CheckFirstLine(RowJson(task, 0, first))
                                          : file->CheckFirstRow(first.values));
    std::cerr << "note: resumes after " << num_done << " of "
              << Counted(std::ssize(task.texts.rows), "vector") << " already written\n";
  }
  SHORTLIST_RETURN_IF_ERROR(
      EmbedRows(encoder, task, num_done, [&](int64_t row, const EncodeResult& result) {
        return task.sparse ? file->AppendLine(RowJson(task, row, result))
                           : file->Append(result.values);
      }));
  return file->Finish();
}

absl::StatusOr<std::vector<float>> ReadVectors(BulkEncoder& encoder, const EmbedTask& task,
                                               const std::string& path) {
  SHORTLIST_RETURN_IF_ERROR(CheckSettings(path, SettingsOf(encoder, task)));
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<float> vectors,
                             ReadNpy(path, std::ssize(task.texts.rows), WidthOf(encoder, task)));
  SHORTLIST_ASSIGN_OR_RETURN(const EncodeResult result, EmbedFirst(encoder, task));
  const std::vector<float>& first = result.values;
  if (std::memcmp(first.data(), vectors.data(), first.size() * sizeof(float)) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     ": its first vector is not what this model makes of the first text; "
                     "remove it to make it anew"));
  }
  SHORTLIST_RETURN_IF_ERROR(CheckContent(path));
  return vectors;
}

}  // namespace shortlist
