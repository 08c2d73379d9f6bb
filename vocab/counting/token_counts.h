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

/// Ids of a text, below the vocabulary's size; any thread may call it.
using EncodeText = std::function<absl::StatusOr<std::vector<TokenId>>(std::string_view)>;

/// A file as it was when it was counted to its end.
struct CountedFile {
  std::string path;
  int64_t bytes = -1;       // as it lies there, packed or not; -1: not known
  int64_t modified_ns = 0;  // since 1970, where `bytes` is known
  // Of the last change of any kind, which no program can set back. Files of counts do not keep it:
  // a new name or owner changes it too.
  int64_t changed_ns = 0;
};

/// What was counted of one corpus, and how far.
struct CorpusCounts {
  std::string name;                // what the user calls it
  std::string added_from;          // the file of counts that another run kept it in; empty: none
  double weight = 0.0;             // its share of the mix among all weights; 0: as often as counted
  std::vector<CountedFile> files;  // those that were counted to their end, in order
  std::string open_file;           // the one that was counted in part; empty: none
  int64_t num_documents = 0;       // of that one
  std::string read_as;             // how the files were read, in words; empty: not known
  std::optional<uint32_t> documents_crc = 0;  // AddCrc of the num_documents; none: not known

  int64_t num_tokens = 0;
  std::vector<int64_t> tokens;  // [vocab_size]
  PairCounts pairs{0};

  CorpusCounts() = default;
  CorpusCounts(std::string name, double weight, int64_t vocab_size, int64_t max_pairs)
      : name(std::move(name)), weight(weight), tokens(vocab_size), pairs(max_pairs) {}
};

/// The tokens of all corpora; 2^63 - 1 where there are more.
int64_t NumTokens(std::span<const CorpusCounts> corpora);

/// The tokens of a document's text: its ids, or what `encode` makes of it. InvalidArgument names an
/// id that is not in [0, vocab_size).
absl::StatusOr<std::vector<TokenId>> TokensOf(const Document& document, const EncodeText& encode,
                                              int64_t vocab_size);

/// The CRC-32 of documents as they are counted, where `crc` is that of the documents before them;
/// 0: there are none.
uint32_t AddCrc(std::span<const Document> documents, uint32_t crc);

/// Encodes documents on the threads of `pool` and adds their tokens, and which follows which, to
/// `counts`. Of a document's prompt the last token counts as what the text's first one follows.
/// The same counts with any number of threads, and nothing is added on an error: TokensOf's.
absl::Status CountDocuments(std::span<const Document> documents, const EncodeText& encode,
                            ThreadPool& pool, CorpusCounts& counts);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_COUNTING_TOKEN_COUNTS_H_
