#ifndef SHORTLIST_VOCAB_COUNTING_TOKEN_COUNTS_H_
#define SHORTLIST_VOCAB_COUNTING_TOKEN_COUNTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/thread_pool.h"
#include "vocab/counting/documents.h"
#include "vocab/counting/pair_counts.h"

namespace shortlist {

/// Returns the ids of a text, below the vocabulary's size. Any thread may call it.
using EncodeText = std::function<absl::StatusOr<std::vector<TokenId>>(std::string_view)>;

/// A file as it was when it was counted completely.
struct CountedFile {
  std::string path;
  int64_t bytes = -1;       // size as stored, packed or not; -1: unknown
  int64_t modified_ns = 0;  // since 1970, if `bytes` is known
  // Time of the last change of any kind, which no program can set back. Files of counts do not
  // contain it, because a new name or owner changes it too.
  int64_t changed_ns = 0;
};

/// Counts of one corpus, and how far the counting has come.
struct CorpusCounts {
  std::string name;                // chosen by the user
  std::string added_from;          // another run's file of counts that it came from; empty: none
  double weight = 0.0;             // its share among all weights; 0: by its number of tokens
  std::vector<CountedFile> files;  // counted completely, in order
  std::string open_file;           // counted in part; empty: none
  int64_t num_documents = 0;       // counted documents of open_file
  std::string read_as;             // how the files were read, in words; empty: unknown
  std::optional<uint32_t> documents_crc = 0;  // AddCrc of the num_documents; nullopt: unknown

  int64_t num_tokens = 0;
  std::vector<int64_t> tokens;  // [vocab_size]
  PairCounts pairs{0};

  CorpusCounts() = default;
  CorpusCounts(std::string name, double weight, int64_t vocab_size, int64_t max_pairs)
      : name(std::move(name)), weight(weight), tokens(vocab_size), pairs(max_pairs) {}
};

/// Returns the number of tokens of all corpora, at most 2^63 - 1.
int64_t NumTokens(std::span<const CorpusCounts> corpora);

/// Returns the tokens of a document: its ids, or the result of `encode` on its text.
/// InvalidArgument names an id that is not in [0, vocab_size).
absl::StatusOr<std::vector<TokenId>> TokensOf(const Document& document, const EncodeText& encode,
                                              int64_t vocab_size);

/// Returns the CRC-32 of documents, continued from `crc` of the documents before them (0: none).
uint32_t AddCrc(std::span<const Document> documents, uint32_t crc);

/// Encodes documents on the threads of `pool` and adds their tokens and pairs to `counts`. The last
/// token of a prompt is the predecessor of the text's first token. Counts do not depend on the
/// number of threads. Errors of TokensOf and `encode`; nothing is added then.
absl::Status CountDocuments(std::span<const Document> documents, const EncodeText& encode,
                            ThreadPool& pool, CorpusCounts& counts);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_COUNTING_TOKEN_COUNTS_H_
