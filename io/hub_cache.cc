#include "io/hub_cache.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxNameBytes = 96;  // of a repository; the hub's own limit
constexpr size_t kMaxRevisionBytes = 200;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<std::string> CacheDir() {
  if (const std::string dir = Variable("HF_HUB_CACHE"); !dir.empty()) return dir;
  if (const std::string dir = Variable("HF_HOME"); !dir.empty()) return absl::StrCat(dir, "/hub");
  if (const std::string dir = Variable("XDG_CACHE_HOME"); !dir.empty()) {
    return absl::StrCat(dir, "/huggingface/hub");
  }
  if (const std::string dir = Variable("HOME"); !dir.empty()) {
    return absl::StrCat(dir, "/.cache/huggingface/hub");
  }
  return absl::NotFoundError(
      "no Hugging Face cache: none of HF_HUB_CACHE, HF_HOME and HOME is set");
}

/// True for letters, digits, '-', '_' and '.', but not for "." and "..".
bool IsPlainName(const std::string& text) {
  return !text.empty() && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
         });
}

bool IsRepository(const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(name, '/');
  return parts.size() <= 2 && name.size() <= kMaxNameBytes &&
         std::all_of(parts.begin(), parts.end(), IsPlainName) && !absl::StrContains(name, "--") &&
         !absl::StrContains(name, "..");
}

/// Branches may contain slashes: "refs/pr/1".
bool IsRevision(const std::string& revision) {
  const std::vector<std::string> parts = absl::StrSplit(revision, '/');
  return revision.size() <= kMaxRevisionBytes &&
         std::all_of(parts.begin(), parts.end(), IsPlainName);
}

bool IsDirectory(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool IsFile(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// Returns the commit that `revision` refers to in the repository's folder.
absl::StatusOr<std::string> ReadCommit(const std::string& folder, const std::string& revision) {
  constexpr int64_t kMaxRefBytes = 256;
  const std::string path = absl::StrCat(folder, "/refs/", revision);
  absl::StatusOr<std::string> text = ReadFile(path, kMaxRefBytes);
  if (absl::IsNotFound(text.status())) return revision;  // it may be a commit itself
  SHORTLIST_RETURN_IF_ERROR(text.status());
  const std::string commit(absl::StripAsciiWhitespace(*text));
  if (!IsPlainName(commit)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": holds ", Quote(commit), ", which names no commit"));
  }
  return commit;
}

}  // namespace

absl::StatusOr<std::string> ResolveModelDir(const std::string& model) {
  if (IsDirectory(model)) return model;
  if (IsFile(model)) {
    return absl::InvalidArgumentError(
        absl::StrCat(model, ": a file, not a model directory or NAME.gguf"));
  }
  const size_t at = model.find('@');
  const std::string name = model.substr(0, at);
  const std::string revision = at == std::string::npos ? "main" : model.substr(at + 1);
  const bool looks_like_a_path = absl::StartsWith(model, "/") || absl::StartsWith(model, "./") ||
                                 absl::StartsWith(model, "../") || absl::StartsWith(model, "~");
  if (looks_like_a_path) return absl::NotFoundError(absl::StrCat(model, ": no such directory"));
  if (!IsRepository(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        Quote(model),
        " is neither a directory nor the name of a repository, org/name "
        "or org/name@revision, in letters, digits, '-', '_' and '.', the name at most ",
        kMaxNameBytes, " of them"));
  }
  if (!IsRevision(revision)) {
    return absl::InvalidArgumentError(absl::StrCat(Quote(model), ": revision ", Quote(revision),
                                                   " is no branch, tag or commit of at most ",
                                                   kMaxRevisionBytes, " bytes"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::string cache, CacheDir());
  const std::vector<std::string> parts = absl::StrSplit(name, '/');
  const std::string folder = absl::StrCat(cache, "/models--", absl::StrJoin(parts, "--"));
  if (!IsDirectory(folder)) {
    return absl::NotFoundError(absl::StrCat(
        model, ": no such directory, and ", folder,
        " is not there either; models are looked for in the Hugging Face cache, never downloaded"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::string commit, ReadCommit(folder, revision));
  const std::string snapshot = absl::StrCat(folder, "/snapshots/", commit);
  if (!IsDirectory(snapshot)) {
    return absl::NotFoundError(absl::StrCat(model, ": revision ", revision,
                                            " is not in the cache: ", snapshot, " is not there"));
  }
  return snapshot;
}

}  // namespace shortlist
