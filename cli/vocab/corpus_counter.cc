#include "cli/vocab/corpus_counter.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/excerpt.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

constexpr int64_t kBatchBytes = int64_t{4} << 20;
constexpr std::chrono::seconds kNoteEvery(5), kKeepEvery(60);

/// InvalidArgument: the documents behind `done`, which were counted, are not there.
absl::Status Skip(int64_t done, Documents& documents, std::vector<Document>& rest) {
  for (int64_t skipped = 0; skipped < done;) {
    SHORTLIST_ASSIGN_OR_RETURN(rest, documents.Read(kBatchBytes));
    if (rest.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "it has ", skipped, " documents, and the counts say that ", done, " were counted"));
    }
    const int64_t now = std::min<int64_t>(done - skipped, std::ssize(rest));
    rest.erase(rest.begin(), rest.begin() + now);
    skipped += now;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CorpusCounter::Count(const std::vector<TextCorpus>& corpora, std::istream& in) {
  for (size_t i = 0; i < corpora.size(); ++i) {
    const TextCorpus& corpus = corpora[i];
    if (i == counts_.corpora.size()) {
      counts_.corpora.emplace_back(corpus.name, corpus.weight, counts_.vocab_size,
                                   options_.max_pairs);
    }
    CorpusCounts& counts = counts_.corpora[i];
    const bool is_begun =
        counts.files.size() <= corpus.files.size() &&
        std::equal(counts.files.begin(), counts.files.end(), corpus.files.begin());
    const bool goes_on =
        counts.open_file.empty() || (is_begun && counts.files.size() < corpus.files.size() &&
                                     corpus.files[counts.files.size()] == counts.open_file);
    if (counts.name != corpus.name || counts.weight != corpus.weight || !is_begun || !goes_on) {
      return absl::FailedPreconditionError(
          absl::StrCat(options_.counts_path, ": holds counts of ", Excerpt(counts.name),
                       ", other texts or another weight than --text ", Excerpt(corpus.name)));
    }
    for (size_t file = counts.files.size(); file < corpus.files.size(); ++file) {
      const absl::Status counted = CountFile(corpus.files[file], in, counts);
      if (!counted.ok()) {
        Keep().IgnoreError();  // the first error is the one to tell
        return counted;
      }
    }
  }
  if (num_skipped_rows_ > 0) {
    std::cerr << absl::StrFormat("build: %d rows without \"%s\" were skipped\n", num_skipped_rows_,
                                 options_.fields.text);
  }
  return Keep();
}

absl::Status CorpusCounter::CountFile(const std::string& path, std::istream& in,
                                      CorpusCounts& counts) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Documents> documents,
                             Documents::Open(path, options_.is_jsonl, options_.fields, in));
  std::error_code ignored;
  const int64_t bytes_before = num_bytes_;
  std::vector<Document> batch;
  if (const absl::Status skipped = Skip(counts.num_documents, *documents, batch); !skipped.ok()) {
    return absl::Status(skipped.code(), absl::StrCat(path, ": ", std::string(skipped.message())));
  }
  counts.open_file = path;
  while (true) {
    if (batch.empty()) {
      SHORTLIST_ASSIGN_OR_RETURN(batch, documents->Read(kBatchBytes));
    }
    if (batch.empty()) break;
    if (const absl::Status status = CountDocuments(batch, encode_, pool_, counts); !status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat(path, ": behind document ", counts.num_documents, ": ",
                                       std::string(status.message())));
    }
    counts.num_documents += std::ssize(batch);
    batch.clear();
    num_bytes_ = bytes_before + documents->num_bytes();
    NoteProgress(path, documents->num_bytes());
    if (std::chrono::steady_clock::now() - last_kept_ > kKeepEvery)
      SHORTLIST_RETURN_IF_ERROR(Keep());
  }
  num_skipped_rows_ += documents->num_rows_without_text();
  counts.files.push_back(path);
  counts.open_file.clear();
  counts.num_documents = 0;
  return absl::OkStatus();
}

absl::Status CorpusCounter::Keep() {
  last_kept_ = std::chrono::steady_clock::now();
  return options_.counts_path.empty() ? absl::OkStatus()
                                      : WriteCounts(options_.counts_path, counts_);
}

void CorpusCounter::NoteProgress(const std::string& path, int64_t file_bytes) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_note_ < kNoteEvery) return;
  last_note_ = now;
  int64_t num_tokens = 0;
  for (const CorpusCounts& corpus : counts_.corpora) num_tokens += corpus.num_tokens;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  std::cerr << absl::StrFormat("build: %s, %d MB of it; %d tokens in all, %.1f MB/s\n",
                               Excerpt(path), file_bytes / 1000000, num_tokens,
                               static_cast<double>(num_bytes_) / 1e6 / seconds);
}

}  // namespace shortlist
