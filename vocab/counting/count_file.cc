#include "vocab/counting/count_file.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "nlohmann/json.hpp"

// The file: one line of JSON (`Header`); for each corpus its tokens (id: u32, count: u64) and its
// pairs (last: u32, next: u32, count: u32), all little-endian; the CRC-32 of all that.

namespace shortlist {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "shortlist-counts";
constexpr int64_t kVersion = 1;
constexpr size_t kTokenBytes = 12, kPairBytes = 12, kCrcBytes = 4;

template <typename Integer>
void Put(Integer value, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename Integer>
Integer Take(std::string_view& bytes) {
  Integer value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

uint32_t Crc(std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

absl::Status Damaged(const std::string& problem) {
  return absl::InvalidArgumentError(absl::StrCat("damaged: ", problem));
}

int64_t NumTypes(const CorpusCounts& corpus) {
  int64_t num_types = 0;
  for (const int64_t count : corpus.tokens) num_types += count > 0 ? 1 : 0;
  return num_types;
}

/// Older files lack sizes and times. Throws the exceptions of Parse().
absl::Status TakeFiles(const json& member, CorpusCounts& corpus) {
  for (std::string& path : member.at("files").get<std::vector<std::string>>()) {
    corpus.files.push_back({.path = std::move(path)});
  }
  corpus.read_as = member.value("read_as", "");
  if (!member.contains("file_bytes")) return absl::OkStatus();
  const auto bytes = member.at("file_bytes").get<std::vector<int64_t>>();
  const auto times = member.at("file_times").get<std::vector<int64_t>>();
  if (bytes.size() != corpus.files.size() || times.size() != corpus.files.size()) {
    return Damaged(absl::StrCat(bytes.size(), " sizes and ", times.size(), " times of ",
                                corpus.files.size(), " files"));
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    corpus.files[i].bytes = bytes[i];
    corpus.files[i].modified_ns = times[i];
  }
  return absl::OkStatus();
}

absl::Status TakeTokens(int64_t num_types, std::string_view& body, CorpusCounts& corpus) {
  if (num_types < 0 || static_cast<uint64_t>(num_types) > body.size() / kTokenBytes) {
    return Damaged(absl::StrCat(num_types, " kinds of tokens in ", body.size(), " bytes"));
  }
  for (int64_t i = 0; i < num_types; ++i) {
    const auto id = Take<uint32_t>(body);
    const auto count = Take<int64_t>(body);
    if (id >= corpus.tokens.size()) {
      return Damaged(absl::StrCat("token id ", id, " not in [0, ", corpus.tokens.size(), ")"));
    }
    // Additions of a run cannot overflow then.
    constexpr int64_t kBound = int64_t{1} << 62;
    if (count < 1 || count >= kBound - corpus.num_tokens) {
      return Damaged(absl::StrCat("count ", count, " of token id ", id, ", after ",
                                  corpus.num_tokens, " tokens: not in [1, 2^62)"));
    }
    corpus.num_tokens += count;
    corpus.tokens[id] += count;
  }
  return absl::OkStatus();
}

absl::Status TakePairs(int64_t num_pairs, std::string_view& body, CorpusCounts& corpus) {
  if (num_pairs < 0 || static_cast<uint64_t>(num_pairs) > body.size() / kPairBytes) {
    return Damaged(absl::StrCat(num_pairs, " pairs in ", body.size(), " bytes"));
  }
  for (int64_t i = 0; i < num_pairs; ++i) {
    const auto last = Take<uint32_t>(body);
    const auto next = Take<uint32_t>(body);
    const auto count = Take<uint32_t>(body);
    if (std::max(last, next) >= corpus.tokens.size()) {
      return Damaged(absl::StrCat("token id ", std::max(last, next), " not in [0, ",
                                  corpus.tokens.size(), ")"));
    }
    corpus.pairs.Add(
        PairCounts::KeyOf(TokenId{static_cast<int32_t>(last)}, TokenId{static_cast<int32_t>(next)}),
        count);
  }
  return absl::OkStatus();
}

/// Throws json::exception for a member that is missing or of another type.
absl::StatusOr<Counts> Parse(const json& header, std::string_view body, int64_t max_pairs) {
  Counts counts{.vocab_size = header.at("vocab_size").get<int64_t>(),
                .fingerprint = header.at("fingerprint").get<std::string>()};
  if (std::ssize(header.at("corpora")) > kMaxCountedCorpora) {
    return Damaged(
        absl::StrCat(header.at("corpora").size(), " corpora, more than ", kMaxCountedCorpora));
  }
  for (const json& member : header.at("corpora")) {
    const std::string added_from = member.value("added_from", "");
    std::vector<CorpusCounts>& corpora = added_from.empty() ? counts.corpora : counts.added;
    CorpusCounts& corpus =
        corpora.emplace_back(member.at("name").get<std::string>(),
                             member.at("weight").get<double>(), counts.vocab_size, max_pairs);
    corpus.added_from = added_from;
    if (!(corpus.weight >= 0 && corpus.weight <= 1e9)) {
      return Damaged(absl::StrCat("weight ", corpus.weight, " not in [0, 1e9]"));
    }
    SHORTLIST_RETURN_IF_ERROR(TakeFiles(member, corpus));
    corpus.open_file = member.at("open_file").get<std::string>();
    const double num_documents = member.at("num_documents").get<double>();
    if (!(num_documents >= 0 && num_documents < 1e18)) {
      return Damaged(absl::StrCat("num_documents ", num_documents, " not in [0, 1e18)"));
    }
    corpus.num_documents = static_cast<int64_t>(num_documents);
    if (member.contains("documents_crc")) {
      corpus.documents_crc = member["documents_crc"].get<uint32_t>();
    } else if (corpus.num_documents > 0) {
      corpus.documents_crc.reset();  // an older file
    }
    SHORTLIST_RETURN_IF_ERROR(TakeTokens(member.at("num_types").get<int64_t>(), body, corpus));
    SHORTLIST_RETURN_IF_ERROR(TakePairs(member.at("num_pairs").get<int64_t>(), body, corpus));
  }
  if (!body.empty()) return Damaged(absl::StrCat(body.size(), " bytes after its end"));
  return counts;
}

absl::StatusOr<Counts> ParseFile(std::string_view contents, int64_t vocab_size,
                                 const std::string& fingerprint, int64_t max_pairs) {
  const size_t end = contents.find('\n');
  if (end == std::string_view::npos || contents.size() < end + 1 + kCrcBytes) {
    return absl::InvalidArgumentError("not a file of counts, or cut short");
  }
  std::string_view crc = contents.substr(contents.size() - kCrcBytes);
  const std::string_view covered = contents.substr(0, contents.size() - kCrcBytes);
  SHORTLIST_ASSIGN_OR_RETURN(const json header,
                             ParseJson(std::string(contents.substr(0, end)), "first line"));
  if (!header.is_object() || header.value("format", json()) != json(kFormat) ||
      header.value("version", json()) != json(kVersion)) {
    return absl::InvalidArgumentError(
        absl::StrCat("not counts of format \"", kFormat, "\", version ", kVersion));
  }
  if (Take<uint32_t>(crc) != Crc(covered)) return Damaged("its checksum is not that of its bytes");
  if (header.value("vocab_size", json()) != json(vocab_size) ||
      header.value("fingerprint", json()) != json(fingerprint)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "counted with the tokenizer of fingerprint ",
        Excerpt(header.value("fingerprint", json()).dump()), ", this one's is ", fingerprint));
  }
  try {
    return Parse(header, covered.substr(end + 1), max_pairs);
  } catch (const json::exception& error) {
    return Damaged(error.what());
  }
}

}  // namespace

absl::Status CheckKeepable(int64_t num_corpora, std::span<const std::string> names) {
  if (num_corpora > kMaxCountedCorpora) {
    return absl::InvalidArgumentError(absl::StrCat(num_corpora, " corpora, more than the ",
                                                   kMaxCountedCorpora,
                                                   " that a file of counts holds"));
  }
  for (const std::string& name : names) {
    const std::optional<size_t> invalid = FindInvalidUtf8(name);
    if (!invalid) continue;
    std::string shown;
    AppendReplaced(AppendUtf8(name, shown), shown, Replacement::kPerSubpart);
    return absl::InvalidArgumentError(
        absl::StrCat(Excerpt(shown), ": not valid UTF-8 at byte ", *invalid,
                     ", and a file of counts cannot hold such a name"));
  }
  return absl::OkStatus();
}

absl::Status WriteCounts(const std::string& path, const Counts& counts, int64_t max_bytes) {
  std::vector<const CorpusCounts*> corpora;
  for (const auto* const some : {&counts.corpora, &counts.added}) {
    for (const CorpusCounts& corpus : *some) corpora.push_back(&corpus);
  }
  std::vector<std::string> names;
  for (const CorpusCounts* const corpus : corpora) {
    names.insert(names.end(),
                 {corpus->name, corpus->added_from, corpus->open_file, corpus->read_as});
    for (const CountedFile& file : corpus->files) names.push_back(file.path);
  }
  if (const absl::Status keepable = CheckKeepable(std::ssize(corpora), names); !keepable.ok()) {
    return absl::Status(keepable.code(), absl::StrCat(path, ": ", keepable.message()));
  }
  json header = {{"format", kFormat},
                 {"version", kVersion},
                 {"vocab_size", counts.vocab_size},
                 {"fingerprint", counts.fingerprint},
                 {"corpora", json::array()}};
  for (const CorpusCounts* const corpus : corpora) {
    json files = json::array(), bytes = json::array(), times = json::array();
    for (const CountedFile& file : corpus->files) {
      files.push_back(file.path);
      bytes.push_back(file.bytes);
      times.push_back(file.modified_ns);
    }
    header["corpora"].push_back({{"name", corpus->name},
                                 {"weight", corpus->weight},
                                 {"files", std::move(files)},
                                 {"file_bytes", std::move(bytes)},
                                 {"file_times", std::move(times)},
                                 {"read_as", corpus->read_as},
                                 {"open_file", corpus->open_file},
                                 {"num_documents", corpus->num_documents},
                                 {"num_types", NumTypes(*corpus)},
                                 {"num_pairs", corpus->pairs.size()}});
    if (!corpus->added_from.empty()) header["corpora"].back()["added_from"] = corpus->added_from;
    if (corpus->documents_crc) header["corpora"].back()["documents_crc"] = *corpus->documents_crc;
  }
  std::string contents = header.dump() + "\n";
  size_t num_bytes = contents.size() + kCrcBytes;
  for (const CorpusCounts* const corpus : corpora) {
    num_bytes += NumTypes(*corpus) * kTokenBytes + corpus->pairs.size() * kPairBytes;
  }
  if (num_bytes > static_cast<uint64_t>(max_bytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": ", num_bytes, " bytes of counts, more than the ", max_bytes,
                     " that are read: count fewer pairs, or into several files"));
  }
  contents.reserve(num_bytes);
  for (const CorpusCounts* const corpus : corpora) {
    for (size_t id = 0; id < corpus->tokens.size(); ++id) {
      if (corpus->tokens[id] == 0) continue;
      Put<uint32_t>(static_cast<uint32_t>(id), contents);
      Put<int64_t>(corpus->tokens[id], contents);
    }
    corpus->pairs.ForEach([&](uint64_t key, uint32_t count) {
      Put<uint32_t>(static_cast<uint32_t>(Raw(PairCounts::LastOf(key))), contents);
      Put<uint32_t>(static_cast<uint32_t>(Raw(PairCounts::NextOf(key))), contents);
      Put<uint32_t>(count, contents);
    });
  }
  Put<uint32_t>(Crc(contents), contents);
  return WriteFileAtomically(path, contents);
}

absl::StatusOr<Counts> ReadCounts(const std::string& path, int64_t vocab_size,
                                  const std::string& fingerprint, int64_t max_pairs) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string contents, ReadFile(path, kMaxCountFileBytes));
  absl::StatusOr<Counts> counts = ParseFile(contents, vocab_size, fingerprint, max_pairs);
  if (!counts.ok()) {
    return absl::Status(counts.status().code(),
                        absl::StrCat(path, ": ", std::string(counts.status().message())));
  }
  return counts;
}

}  // namespace shortlist
