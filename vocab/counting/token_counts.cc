#include "vocab/counting/token_counts.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

/// Number of documents that one task encodes. Independent of the number of threads, so that pairs
/// are added in one order.
constexpr int64_t kDocumentsPerTask = 8;

/// Result of some consecutive documents: tokens in order, and pairs by shard.
struct Encoded {
  absl::Status status;
  std::vector<TokenId> tokens;
  std::array<std::vector<uint64_t>, PairCounts::kNumShards> pairs;
  // `open`: the first token, if it continues the documents before these. `last`: the token that
  // later documents may continue. `keeps_last`: these have no token and no beginning, so the
  // previous `last` stays.
  std::optional<TokenId> open, last;
  bool keeps_last = true;
};

absl::Status Encode(std::span<const Document> documents, const EncodeText& encode,
                    int64_t vocab_size, Encoded& encoded) {
  std::optional<TokenId>& last = encoded.last;
  for (const Document& document : documents) {
    if (!document.continues) {
      last.reset();
      encoded.keeps_last = false;
    }
    if (!document.prompt.empty()) {
      SHORTLIST_ASSIGN_OR_RETURN(const std::vector<TokenId> prompt, encode(document.prompt));
      if (!prompt.empty()) last = prompt.back();
    }
    SHORTLIST_ASSIGN_OR_RETURN(const std::vector<TokenId> ids,
                               TokensOf(document, encode, vocab_size));
    for (const TokenId id : ids) {
      encoded.tokens.push_back(id);
      if (last.has_value()) {
        const uint64_t key = PairCounts::KeyOf(*last, id);
        encoded.pairs[PairCounts::ShardOf(key)].push_back(key);
      } else if (encoded.keeps_last) {
        encoded.open = id;
      }
      last = id;
    }
    if (last.has_value()) encoded.keeps_last = false;
  }
  return absl::OkStatus();
}

}  // namespace

int64_t NumTokens(std::span<const CorpusCounts> corpora) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  int64_t num_tokens = 0;
  for (const CorpusCounts& corpus : corpora) {
    num_tokens += std::min(corpus.num_tokens, kMax - num_tokens);
  }
  return num_tokens;
}

absl::StatusOr<std::vector<TokenId>> TokensOf(const Document& document, const EncodeText& encode,
                                              int64_t vocab_size) {
  if (document.ids.empty()) return encode(document.text);
  std::vector<TokenId> ids;
  ids.reserve(document.ids.size());
  for (const int64_t id : document.ids) {
    if (id < 0 || id >= vocab_size) {
      return absl::InvalidArgumentError(
          absl::StrCat("token id ", id, " not in [0, ", vocab_size, ")"));
    }
    ids.push_back(TokenId{static_cast<int32_t>(id)});
  }
  return ids;
}

uint32_t AddCrc(std::span<const Document> documents, uint32_t crc) {
  const auto add = [&crc](const void* data, size_t num_bytes) {
    if (num_bytes == 0) return;  // the null pointer of no data would restart the CRC
    crc = static_cast<uint32_t>(crc32_z(crc, static_cast<const Bytef*>(data), num_bytes));
  };
  for (const Document& document : documents) {
    // Lengths included, so that bytes moved from one field to another change the CRC.
    const uint64_t lengths[] = {document.text.size(), document.prompt.size(), document.ids.size()};
    add(lengths, sizeof lengths);
    add(document.text.data(), document.text.size());
    add(document.prompt.data(), document.prompt.size());
    add(document.ids.data(), document.ids.size() * sizeof(int64_t));
  }
  return crc;
}

absl::Status CountDocuments(std::span<const Document> documents, const EncodeText& encode,
                            ThreadPool& pool, CorpusCounts& counts) {
  struct Context {
    std::span<const Document> documents;
    const EncodeText& encode;
    CorpusCounts& counts;
    std::vector<Encoded> encoded;
  } context{documents, encode, counts, {}};
  const int64_t num_tasks = (std::ssize(documents) + kDocumentsPerTask - 1) / kDocumentsPerTask;
  context.encoded.resize(num_tasks);
  pool.Run(
      num_tasks,
      [](void* raw, int64_t task) {
        auto& c = *static_cast<Context*>(raw);
        const int64_t begin = task * kDocumentsPerTask;
        const int64_t end = std::min(begin + kDocumentsPerTask, std::ssize(c.documents));
        c.encoded[task].status = Encode(c.documents.subspan(begin, end - begin), c.encode,
                                        std::ssize(c.counts.tokens), c.encoded[task]);
      },
      &context);
  for (const Encoded& encoded : context.encoded) SHORTLIST_RETURN_IF_ERROR(encoded.status);

  std::optional<TokenId> last;
  for (const Encoded& encoded : context.encoded) {
    if (encoded.open.has_value() && last.has_value()) {
      counts.pairs.Add(PairCounts::KeyOf(*last, *encoded.open));
    }
    for (const TokenId id : encoded.tokens) ++counts.tokens[Raw(id)];
    counts.num_tokens += std::ssize(encoded.tokens);
    if (!encoded.keeps_last) last = encoded.last;
  }
  pool.Run(
      PairCounts::kNumShards,
      [](void* raw, int64_t shard) {
        auto& c = *static_cast<Context*>(raw);
        for (const Encoded& encoded : c.encoded) {
          for (const uint64_t key : encoded.pairs[shard]) c.counts.pairs.Add(key);
        }
      },
      &context);
  return absl::OkStatus();
}

}  // namespace shortlist
