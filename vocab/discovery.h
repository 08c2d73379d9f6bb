#ifndef SHORTLIST_VOCAB_DISCOVERY_H_
#define SHORTLIST_VOCAB_DISCOVERY_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "vocab/active_vocab.h"
#include "vocab/request_tail.h"
#include "vocab/row_source.h"

namespace shortlist {

/// What a request has brought since its sources were asked last.
struct Discovered {
  std::span<const TokenId> prompt;  // all of it, the first time
  std::span<const TokenId> output;  // tokens emitted
  std::span<const TokenId> given;   // ids that the client named
  std::span<const TokenId> prefix;  // rows that the radix cache keeps with its prefix
  // Tokens that followed the same prefix in other requests, nearest last.
  std::span<const TokenId> continuations;
  // The target's best at the last position of the prompt, likeliest last; once.
  std::span<const TokenId> prompt_likely;
  // The target's best at the positions judged, likeliest last; empty unless a source wants them.
  std::span<const TokenId> likely;
};

/// A way to find tokens that a request may need next. Immutable once made; any thread.
class DiscoverySource {
 public:
  virtual ~DiscoverySource() = default;

  virtual RowSource source() const = 0;
  /// Appends ids, those that matter most last. In [0, vocab_size) of the model.
  virtual void Find(const Discovered& news, std::vector<TokenId>& ids) const = 0;
};

/// How many rows of a request's tail each source may take, and what it looks at.
struct DiscoveryOptions {
  // At most this many of the tail's rows each; 0: the source is off. What is known of the request
  // has all of them.
  int64_t continuation_rows = 64;
  int64_t prompt_target_rows = 0;  // the target's so many best behind the prompt; in [0, 32]
  int64_t target_rows = 0;
  int64_t target_top_k = 4;  // of each position judged; in [1, 32]
  int64_t variant_rows = 0;
  // [vocab_size] the surface variants of each token (surface_variants.h); null: there are none.
  std::shared_ptr<const std::vector<std::vector<TokenId>>> variants;
};

/// Parses NAME=ROWS[,NAME=ROWS]..., of the names `continuations`, `prompt_target`, `target` and
/// `variants`, and `top` for target_top_k; what it does not name keeps its default. InvalidArgument
/// names what is wrong.
absl::StatusOr<DiscoveryOptions> ParseDiscoveryFlag(std::string_view flag);

/// All sources of a request's tail, each with its budget. Immutable; any thread.
class Discovery {
 public:
  explicit Discovery(const DiscoveryOptions& options);

  /// The target's best tokens that `likely` should hold for each position; 0: none.
  int64_t target_top_k() const { return target_top_k_; }
  /// Those that `prompt_likely` should hold; 0: none.
  int64_t prompt_top_k() const { return prompt_top_k_; }

  /// Asks every source and adds what they find to `tail`; counts the rows that are new in `added`.
  void Extend(const Discovered& news, const ActiveVocab& active, RequestTail& tail,
              CountsBySource& added) const;

 private:
  struct Budgeted {
    std::unique_ptr<DiscoverySource> source;
    int64_t budget;
  };
  void Add(std::unique_ptr<DiscoverySource> source, int64_t budget);

  std::vector<Budgeted> sources_;  // guesses first: of rows that are short, facts take theirs
  int64_t target_top_k_ = 0, prompt_top_k_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_DISCOVERY_H_
