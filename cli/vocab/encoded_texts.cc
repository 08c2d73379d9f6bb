#include "cli/vocab/encoded_texts.h"

#include <iostream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/counted.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "cli/progress.h"
#include "cli/vocab/corpus_counter.h"
#include "cli/vocab/corpus_file.h"
#include "cli/vocab/counted_already.h"
#include "cli/vocab/used_files.h"

namespace shortlist {
namespace {

constexpr int64_t kBatchBytes = int64_t{4} << 20;

struct EncodedDocument {
  absl::StatusOr<std::vector<TokenId>> prompt = std::vector<TokenId>();
  absl::StatusOr<std::vector<TokenId>> output = std::vector<TokenId>();
};

std::vector<EncodedDocument> Encode(const std::vector<Document>& documents,
                                    const TextReading& reading) {
  struct Context {
    const std::vector<Document>& documents;
    const TextReading& reading;
    std::vector<EncodedDocument> encoded;
  } context{documents, reading, std::vector<EncodedDocument>(documents.size())};
  reading.pool.Run(
      std::ssize(documents),
      [](void* raw, int64_t i) {
        auto& c = *static_cast<Context*>(raw);
        c.encoded[i].prompt = c.reading.encode(c.documents[i].prompt);
        c.encoded[i].output = TokensOf(c.documents[i], c.reading.encode, c.reading.vocab_size);
      },
      &context);
  return std::move(context.encoded);
}

/// Reports progress on stderr, every few seconds.
class ReadingProgress {
 public:
  explicit ReadingProgress(const TextReading& reading) : command_(reading.command) {
    for (const TextCorpus& corpus : reading.corpora) {
      for (const std::string& path : corpus.files) {
        const int64_t bytes = LookAt(path).bytes;
        total_bytes_ = bytes < 0 || total_bytes_ < 0 ? -1 : total_bytes_ + bytes;
      }
    }
  }

  void OnBatch(const std::string& path, const Documents& documents) {
    if (!timer_.IsDue()) return;
    const double seconds = timer_.seconds();
    const int64_t bytes = done_bytes_ + documents.num_stored_bytes();
    std::cerr << absl::StrFormat("%s: %s, %.2f MB/s%s\n", command_, Excerpt(path),
                                 1e-6 * static_cast<double>(bytes) / seconds,
                                 ProgressNote(bytes, total_bytes_, seconds));
  }
  void OnEndOfFile(const Documents& documents) { done_bytes_ += documents.num_stored_bytes(); }

 private:
  const char* const command_;
  int64_t total_bytes_ = 0, done_bytes_ = 0;  // as stored; total -1: one is unknown
  NoteTimer timer_;
};

absl::Status NoToken(const TextReading& reading, const TextCorpus& corpus, int64_t num_missing) {
  return absl::InvalidArgumentError(absl::StrCat(
      "--text ", Excerpt(corpus.name), ": the texts hold no token",
      num_missing == 0
          ? ""
          : absl::StrCat("; ", Counted(num_missing, "row is", "rows are"), " without \"",
                         Excerpt(reading.flags.fields.text), "\" (--text-key)")));
}

}  // namespace

absl::Status CheckTexts(const std::vector<TextCorpus>& corpora) {
  for (const TextCorpus& corpus : corpora) {
    if (corpus.weight == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--text ", corpus.weight, "@", Excerpt(corpus.name),
                     ": texts are measured one by one, so none has a weight here"));
  }
  return CheckDistinct(FilesOf(corpora));
}

absl::Status ForEachText(const TextReading& reading, std::istream& in,
                         const std::function<absl::Status(const EncodedText&)>& visit) {
  MissingMembers missing;
  ReadingProgress progress(reading);
  for (const TextCorpus& corpus : reading.corpora) {
    const int64_t missing_before = missing.num_texts;
    int64_t num_tokens = 0;
    for (const std::string& path : corpus.files) {
      SHORTLIST_ASSIGN_OR_RETURN(CorpusFile file, CorpusFile::Open(path, reading.flags.is_jsonl,
                                                                   reading.flags.fields, in));
      while (true) {
        SHORTLIST_ASSIGN_OR_RETURN(const std::vector<Document> batch, file.Read(kBatchBytes));
        if (batch.empty()) break;
        const std::vector<EncodedDocument> encoded = Encode(batch, reading);
        for (size_t i = 0; i < batch.size(); ++i) {
          SHORTLIST_RETURN_IF_ERROR(encoded[i].prompt.status());
          SHORTLIST_RETURN_IF_ERROR(encoded[i].output.status());
          SHORTLIST_RETURN_IF_ERROR(
              visit({corpus.name, batch[i].category, *encoded[i].prompt, *encoded[i].output}));
          num_tokens += std::ssize(*encoded[i].output);
        }
        progress.OnBatch(path, file.documents());
      }
      missing.Add(file.documents());
      progress.OnEndOfFile(file.documents());
    }
    if (num_tokens > 0) continue;
    return NoToken(reading, corpus, missing.num_texts - missing_before);
  }
  missing.Note(reading.command, reading.flags.fields);
  return absl::OkStatus();
}

}  // namespace shortlist
