#include "cli/vocab/corpus_counter.h"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/counted.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "cli/progress.h"
#include "cli/vocab/corpus_file.h"
#include "cli/vocab/counted_already.h"
#include "cli/vocab/stop_signals.h"

namespace shortlist {
namespace {

constexpr int64_t kBatchBytes = int64_t{4} << 20;
constexpr double kKeepEvery = 60.0;  // seconds

absl::Status Stopped() { return absl::CancelledError("stopped by a signal"); }

/// Skips the documents of `path` that `counts` already contains. Returns some documents after them
/// in `rest`. RefuseTexts if the documents differ; Cancelled as CorpusCounter::Count.
absl::Status Skip(const std::string& counts_path, const std::string& path, CorpusCounts& counts,
                  CorpusFile& file, std::vector<Document>& rest) {
  const int64_t num_counted = counts.num_documents;
  uint32_t crc = 0;
  for (int64_t skipped = 0; skipped < num_counted;) {
    if (StopSignals::Given() != 0) return Stopped();
    SHORTLIST_ASSIGN_OR_RETURN(rest, file.Read(kBatchBytes));
    if (rest.empty()) {
      return RefuseTexts(counts_path,
                         absl::StrCat("has counted ", Counted(num_counted, "document"), " of ",
                                      Excerpt(path), ", which now has ", skipped));
    }
    const int64_t now = std::min<int64_t>(num_counted - skipped, std::ssize(rest));
    crc = AddCrc(std::span(rest).first(now), crc);
    rest.erase(rest.begin(), rest.begin() + now);
    skipped += now;
  }
  if (counts.documents_crc.value_or(crc) != crc) {
    return RefuseTexts(counts_path,
                       absl::StrCat("has counted ", Counted(num_counted, "document"), " of ",
                                    Excerpt(path), ", whose first ones are others now"));
  }
  counts.documents_crc = crc;
  return absl::OkStatus();
}

/// Stored bytes of the files still to be counted; 0 if the size of one is unknown.
int64_t StoredBytes(const std::vector<TextCorpus>& corpora, const Counts& counts) {
  int64_t num_bytes = 0;
  for (size_t i = 0; i < corpora.size(); ++i) {
    const bool is_begun = i < counts.corpora.size();
    for (size_t file = is_begun ? counts.corpora[i].files.size() : 0;
         file < corpora[i].files.size(); ++file) {
      const int64_t bytes = LookAt(corpora[i].files[file]).bytes;
      if (bytes < 0) return 0;
      num_bytes += bytes;
    }
  }
  return num_bytes;
}

}  // namespace

std::string ProgressNote(int64_t done, int64_t total, double seconds) {
  if (total <= 0 || done <= 0) return "";
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  return absl::StrFormat("; %.0f%% of %d MB, %s left", 100 * share, total / 1000000,
                         FormatSeconds(seconds * (1 - share) / share));
}

absl::Status CorpusCounter::Count(const std::vector<TextCorpus>& corpora, std::istream& in) {
  const auto read_as = [this](const TextCorpus& corpus) {
    return ReadAs(corpus, options_.is_jsonl, options_.fields);
  };
  for (size_t i = 0; i < std::min(corpora.size(), counts_.corpora.size()); ++i) {
    SHORTLIST_RETURN_IF_ERROR(
        CheckCounted(options_.counts_path, corpora[i], read_as(corpora[i]), counts_.corpora[i]));
  }
  for (size_t i = corpora.size(); i < counts_.corpora.size(); ++i) {
    std::cerr << absl::StrFormat("build: counted already, not given now: %s\n",
                                 Excerpt(counts_.corpora[i].name));
  }
  num_stored_bytes_ = StoredBytes(corpora, counts_);
  for (size_t i = 0; i < corpora.size(); ++i) {
    if (i == counts_.corpora.size()) {
      counts_.corpora.emplace_back(corpora[i].name, corpora[i].weight, counts_.vocab_size,
                                   options_.max_pairs);
      counts_.corpora[i].read_as = read_as(corpora[i]);
    }
    CorpusCounts& counts = counts_.corpora[i];
    for (size_t file = counts.files.size(); file < corpora[i].files.size(); ++file) {
      const absl::Status counted = CountFile(corpora[i].files[file], in, counts);
      if (counted.ok()) continue;
      const absl::Status kept = Keep();
      // Return the first error. Cancellation by a signal counts as none.
      return absl::IsCancelled(counted) && !kept.ok() ? kept : counted;
    }
  }
  missing_.Note("build", options_.fields);
  return Keep();
}

absl::Status CorpusCounter::CountFile(const std::string& path, std::istream& in,
                                      CorpusCounts& counts) {
  SHORTLIST_ASSIGN_OR_RETURN(CorpusFile file,
                             CorpusFile::Open(path, options_.is_jsonl, options_.fields, in));
  const Documents& documents = file.documents();
  const int64_t bytes_before = num_bytes_;
  std::vector<Document> batch;
  SHORTLIST_RETURN_IF_ERROR(Skip(options_.counts_path, path, counts, file, batch));
  counts.open_file = path;
  while (true) {
    if (StopSignals::Given() != 0) return Stopped();
    if (batch.empty()) {
      SHORTLIST_ASSIGN_OR_RETURN(batch, file.Read(kBatchBytes));
    }
    if (batch.empty()) break;
    if (const absl::Status status = CountDocuments(batch, encode_, pool_, counts); !status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat(path, ": after document ", counts.num_documents, ": ",
                                       std::string(status.message())));
    }
    counts.num_documents += std::ssize(batch);
    counts.documents_crc = AddCrc(batch, *counts.documents_crc);
    batch.clear();
    num_bytes_ = bytes_before + documents.num_bytes();
    NoteProgress(path, documents);
    if (SteadySeconds() - last_kept_s_ > kKeepEvery) SHORTLIST_RETURN_IF_ERROR(Keep());
  }
  missing_.Add(documents);
  num_stored_done_ += documents.num_stored_bytes();
  counts.files.push_back(file.opened());
  counts.open_file.clear();
  counts.num_documents = 0;
  counts.documents_crc = 0;
  return absl::OkStatus();
}

absl::Status CorpusCounter::Keep() {
  last_kept_s_ = SteadySeconds();
  return options_.counts_path.empty() ? absl::OkStatus()
                                      : WriteCounts(options_.counts_path, counts_);
}

void CorpusCounter::NoteProgress(const std::string& path, const Documents& documents) {
  if (!timer_.IsDue()) return;
  const double seconds = timer_.seconds();
  std::cerr << absl::StrFormat(
      "build: %s, %d MB of it; %s in all, %.1f MB/s%s\n", Excerpt(path),
      documents.num_bytes() / 1000000, Counted(NumTokens(counts_.corpora), "token"),
      static_cast<double>(num_bytes_) / 1e6 / seconds,
      ProgressNote(num_stored_done_ + documents.num_stored_bytes(), num_stored_bytes_, seconds));
}

}  // namespace shortlist
