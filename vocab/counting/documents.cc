#include "vocab/counting/documents.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "nlohmann/json.hpp"
#include "vocab/counting/binary_file.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr size_t kMaxLineBytes = size_t{64} << 20;
constexpr size_t kPieceBytes = size_t{64} << 10;

std::string ValidUtf8(std::string_view bytes) {
  if (!FindInvalidUtf8(bytes).has_value()) return std::string(bytes);
  std::string text;
  AppendReplaced(AppendUtf8(bytes, text), text, Replacement::kPerSubpart);
  return text;
}

/// Returns the strings of a member; none if it is null or missing.
absl::StatusOr<std::vector<std::string>> Strings(const json& row, const std::string& name) {
  std::vector<std::string> strings;
  const auto member = row.find(name);
  if (member == row.end() || member->is_null()) return strings;
  for (const json& value : member->is_array() ? *member : json::array({*member})) {
    if (value.is_null()) continue;
    if (!value.is_string()) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", Excerpt(name), "\" is neither a string nor an array of them: ",
                       Excerpt(value.dump(-1, ' ', false, json::error_handler_t::replace))));
    }
    strings.push_back(ValidUtf8(value.get<std::string>()));
  }
  return strings;
}

/// Returns a member that is a non-empty array of integers, otherwise nullopt.
std::optional<std::vector<int64_t>> Integers(const json& row, const std::string& name) {
  const auto member = row.find(name);
  if (member == row.end() || !member->is_array() || member->empty()) return std::nullopt;
  std::vector<int64_t> integers;
  for (const json& value : *member) {
    if (!value.is_number_integer()) return std::nullopt;
    integers.push_back(value.get<int64_t>());  // negative from 2^63 on
  }
  return integers;
}

/// Returns the end of the next piece of a longer `text`: after the last line end that precedes a
/// character other than white space, so that no token crosses it; otherwise at a code point.
size_t PieceEnd(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  for (size_t end = text.rfind('\n', kPieceBytes - 1); end != std::string_view::npos && end > 0;
       end = text.rfind('\n', end - 1)) {
    if (end + 1 < text.size() && kSpace.find(text[end + 1]) == std::string_view::npos) {
      return end + 1;
    }
  }
  size_t end = kPieceBytes;
  while (end > kPieceBytes - 4 && (text[end] & 0xC0) == 0x80) --end;
  return end;
}

}  // namespace

bool IsJsonl(const std::string& path) {
  std::string_view name = path;
  for (const std::string_view packed : {".gz", ".xz", ".zst"}) {
    if (name.ends_with(packed)) {
      name.remove_suffix(packed.size());
      break;
    }
  }
  return name.ends_with(".jsonl") || name.ends_with(".ndjson");
}

absl::StatusOr<std::unique_ptr<Documents>> Documents::Open(const std::string& path, bool is_jsonl,
                                                           const DocumentFields& fields,
                                                           std::istream& in) {
  const bool is_stdin = path == "-";
  const std::string name = is_stdin ? "standard input" : path;
  SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> source,
                             is_stdin ? ByteSource::Of(in, name) : ByteSource::Open(path));
  std::unique_ptr<Documents> documents(
      new Documents(std::move(source), name, is_jsonl || IsJsonl(path), fields));
  while (documents->buffer_.size() < kCheckedBytes) {
    const absl::StatusOr<bool> more = documents->Fill();
    if (!more.ok() || !*more) break;  // Read() reports an error after the bytes before it
  }
  if (const absl::Status text = CheckIsText(documents->buffer_); !text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", text.message()));
  }
  return documents;
}

absl::StatusOr<bool> Documents::Fill() {
  if (at_end_) return false;
  std::string chunk;
  SHORTLIST_RETURN_IF_ERROR(source_->Read(chunk));
  at_end_ = chunk.empty();
  num_bytes_ += std::ssize(chunk);
  buffer_.erase(0, std::exchange(begin_, 0));
  buffer_ += chunk;
  return !at_end_;
}

absl::StatusOr<std::vector<Document>> Documents::Read(int64_t bytes) {
  std::vector<Document> documents;
  int64_t num_taken = 0;
  while (num_taken < bytes) {
    const size_t before = documents.size();
    if (is_jsonl_) {
      const absl::Status row = TakeRow(documents);
      // Rows before the error are returned first. The next call meets the error again.
      if (!row.ok() && documents.empty()) return row;
      if (!row.ok()) return documents;
    } else {
      while (buffer_.size() - begin_ < 2 * kPieceBytes) {
        const absl::StatusOr<bool> more = Fill();
        if (!more.ok() && documents.empty() && begin_ == buffer_.size()) return more.status();
        if (!more.ok() || !*more) break;
      }
      TakeText(documents);
    }
    for (size_t i = before; i < documents.size(); ++i) {
      num_taken += std::ssize(documents[i].text) + std::ssize(documents[i].prompt) +
                   4 * std::ssize(documents[i].ids);
    }
    if (at_end_ && begin_ == buffer_.size()) break;
    if (!is_jsonl_ && documents.size() == before) break;
  }
  return documents;
}

absl::Status Documents::TakeRow(std::vector<Document>& documents) {
  size_t end = buffer_.find('\n', begin_);
  while (end == std::string::npos && !at_end_) {
    const size_t searched = buffer_.size() - begin_;
    if (searched > kMaxLineBytes) {
      return absl::InvalidArgumentError(absl::StrCat(name_, " line ", line_ + 1, ": more than the ",
                                                     kMaxLineBytes, " bytes admitted here"));
    }
    SHORTLIST_RETURN_IF_ERROR(Fill().status());
    end = buffer_.find('\n', searched);
  }
  const std::string row = buffer_.substr(begin_, std::min(end, buffer_.size()) - begin_);
  if (const absl::Status added = AddRow(row, documents); !added.ok()) {
    return absl::Status(
        added.code(), absl::StrCat(name_, " line ", line_ + 1, ": ", std::string(added.message())));
  }
  ++line_;
  begin_ = end == std::string::npos ? buffer_.size() : end + 1;
  return absl::OkStatus();
}

absl::Status Documents::AddRow(const std::string& row, std::vector<Document>& documents) {
  if (row.find_first_not_of(" \t\r") == std::string::npos) return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(const json value, ParseJson(row, "row"));
  if (value.is_string()) {
    documents.push_back({.text = value.get<std::string>()});
    return absl::OkStatus();
  }
  if (!value.is_object()) return absl::InvalidArgumentError("neither an object nor a string");
  std::vector<Document> of_row;
  if (const std::optional<std::vector<int64_t>> ids = Integers(value, fields_.text)) {
    of_row.push_back({.ids = *ids});
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(std::vector<std::string> texts, Strings(value, fields_.text));
    for (std::string& text : texts) of_row.push_back({.text = std::move(text)});
  }
  std::vector<std::string> prompts;
  if (!fields_.prompt.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(prompts, Strings(value, fields_.prompt));
  }
  if (of_row.empty()) {
    ++num_rows_without_text_;
  } else if (!fields_.prompt.empty() && prompts.empty()) {
    ++num_rows_without_prompt_;
  }
  const auto category = value.find(fields_.category);
  for (size_t i = 0; i < of_row.size(); ++i) {
    Document& document = of_row[i];
    if (!prompts.empty()) document.prompt = prompts[std::min(i, prompts.size() - 1)];
    if (category != value.end() && category->is_string()) {
      document.category = ValidUtf8(category->get<std::string>());
    }
    documents.push_back(std::move(document));
  }
  return absl::OkStatus();
}

void Documents::TakeText(std::vector<Document>& documents) {
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  if (rest.empty()) return;
  const size_t end = rest.size() <= kPieceBytes ? rest.size() : PieceEnd(rest);
  documents.push_back(
      {.text = ValidUtf8(rest.substr(0, end)), .continues = std::exchange(continues_, true)});
  begin_ += end;
}

}  // namespace shortlist
