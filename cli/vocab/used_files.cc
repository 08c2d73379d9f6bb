#include "cli/vocab/used_files.h"

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "io/model_source.h"

namespace shortlist {
namespace {

/// An identity that all paths of a file share. Nullopt for an existing file that is not regular.
std::optional<std::string> Identity(const std::string& path) {
  const std::string real = path == "-" ? "/dev/stdin" : path;
  struct stat status {};
  if (stat(real.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) return std::nullopt;
    return absl::StrCat(status.st_dev, ":", status.st_ino);
  }
  std::error_code error;
  const std::string absolute =
      std::filesystem::weakly_canonical(std::filesystem::absolute(real, error), error).string();
  return error ? real : absolute;
}

/// Adds files of a model directory that are named like a model's; it may contain lists and sketches
/// too.
void AddModelFiles(const char* flag, const std::string& model, std::vector<UsedFile>& files) {
  if (model.empty()) return;
  const absl::StatusOr<ModelSource> source = ModelSource::Open(model);
  if (!source.ok()) return;  // reported when the model is opened
  for (const std::string& name : source->List()) {
    for (const char* const begin : {"config", "generation_config", "tokenizer", "special_tokens",
                                    "model", "pytorch_model", "chat_template"}) {
      if (name.starts_with(begin)) files.push_back({flag, source->PathOf(name)});
    }
    if (name.ends_with(".tiktoken")) files.push_back({flag, source->PathOf(name)});
  }
}

std::string NameOf(const UsedFile& file) {
  return absl::StrCat(file.flag, file.flag.empty() ? "" : " ", file.path);
}

}  // namespace

absl::Status CheckOutputs(const std::vector<UsedFile>& outputs,
                          const std::vector<UsedFile>& inputs) {
  std::map<std::string, const UsedFile*> known;
  for (const UsedFile& input : inputs) {
    if (input.path.empty()) continue;
    if (const auto id = Identity(input.path)) known.emplace(*id, &input);
  }
  for (const UsedFile& output : outputs) {
    if (output.path.empty()) continue;
    if (const absl::Status writable = CheckWritable(output.path); !writable.ok()) {
      return absl::Status(writable.code(), absl::StrCat(output.flag, output.flag.empty() ? "" : " ",
                                                        writable.message()));
    }
    const auto id = Identity(output.path);
    if (!id.has_value()) continue;
    if (const auto [other, is_new] = known.emplace(*id, &output); !is_new) {
      return absl::InvalidArgumentError(
          absl::StrCat(NameOf(output), ": the same file as ", NameOf(*other->second)));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckDistinct(const std::vector<UsedFile>& inputs) {
  std::map<std::string, const UsedFile*> known;
  for (const UsedFile& input : inputs) {
    const std::optional<std::string> id = input.path == "-" ? "-" : Identity(input.path);
    if (!id.has_value()) continue;
    if (const auto [other, is_new] = known.emplace(*id, &input); !is_new) {
      return absl::InvalidArgumentError(absl::StrCat(
          NameOf(input), input.path == other->second->path
                             ? " is given twice"
                             : absl::StrCat(": the same file as ", NameOf(*other->second))));
    }
  }
  return absl::OkStatus();
}

std::vector<UsedFile> FilesOf(const std::vector<TextCorpus>& corpora) {
  std::vector<UsedFile> files;
  for (const TextCorpus& corpus : corpora) {
    for (const std::string& path : corpus.files) files.push_back({"--text", path});
  }
  return files;
}

std::vector<UsedFile> FilesOf(const TokenizerSource& source) {
  std::vector<UsedFile> files = {{"--tokenizer", source.tokenizer}};
  AddModelFiles("--model", source.model, files);
  return files;
}

std::vector<UsedFile> FilesOf(const RunFlags& flags) {
  std::vector<UsedFile> files = {{"--vocab", flags.vocab.custom_vocab_path},
                                 {"--sketch", flags.sketch.path},
                                 {"--prompts", flags.prompts_path}};
  AddModelFiles("--model", flags.models.model, files);
  AddModelFiles("--draft", flags.models.draft, files);
  return files;
}

}  // namespace shortlist
