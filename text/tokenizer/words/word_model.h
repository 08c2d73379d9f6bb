#ifndef SHORTLIST_TEXT_TOKENIZER_WORDS_WORD_MODEL_H_
#define SHORTLIST_TEXT_TOKENIZER_WORDS_WORD_MODEL_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/ids.h"
#include "base/status_macros.h"
#include "text/encode_budget.h"
#include "text/tokenizer/words/word_cache.h"

namespace shortlist {

/// Working memory of one Encode call. The cache belongs to one tokenizer.
struct EncodeScratch {
  /// A symbol of a word in a linked list; `prev` and `next` are -1 at its ends.
  struct Symbol {
    int32_t id;
    int32_t prev, next;
  };
  /// A merge of the symbol at `pos` with the next one, possible when it was pushed.
  struct Candidate {
    uint32_t rank;
    int32_t pos;
    int32_t id;
  };
  /// The best path that ends at a byte.
  struct PathNode {
    double score;
    int32_t id;
    int32_t begin;  // -1: no path ends here
  };

  WordCache cache;
  EncodeBudget* budget = nullptr;  // of the call
  std::vector<Symbol> symbols;
  std::vector<Candidate> candidates;
  std::vector<PathNode> path;
};

/// Converts a word (a piece from the pre-tokenizer) to ids. Immutable; any thread may call Encode
/// with its own scratch.
class WordModel {
 public:
  virtual ~WordModel() = default;

  /// Appends the ids of `word` (valid UTF-8, not empty). InvalidArgument if the time of
  /// `scratch.budget` is used up.
  virtual absl::Status Encode(std::string_view word, EncodeScratch& scratch,
                              std::vector<TokenId>& ids) const = 0;

  /// Maximum number of bytes of a word that one id stands for, at least 1; nullopt: unbounded.
  virtual std::optional<int64_t> max_token_bytes() const = 0;

  /// True if a word may have no ids.
  virtual bool drops_words() const { return false; }

  /// True if a word may be split before each U+2581 that follows another character: encoding the
  /// parts one by one gives the same ids as encoding the whole.
  virtual bool SplitsBeforeSpaceMarks() const { return false; }
};

/// Same as model.Encode(), but reads the ids from the cache if it holds the word.
inline absl::Status EncodeCached(const WordModel& model, std::string_view word,
                                 EncodeScratch& scratch, std::vector<TokenId>& ids) {
  if (word.size() > WordCache::kMaxWordBytes) return model.Encode(word, scratch, ids);
  WordCache::Entry& entry = scratch.cache.Find(word);
  if (entry.Holds(word)) {
    ids.insert(ids.end(), entry.ids, entry.ids + entry.num_ids);
    return absl::OkStatus();
  }
  const size_t begin = ids.size();
  SHORTLIST_RETURN_IF_ERROR(model.Encode(word, scratch, ids));
  entry.Store(word, ids.data() + begin, ids.size() - begin);
  return absl::OkStatus();
}

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_WORDS_WORD_MODEL_H_
