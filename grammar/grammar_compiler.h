#ifndef SHORTLIST_GRAMMAR_GRAMMAR_COMPILER_H_
#define SHORTLIST_GRAMMAR_GRAMMAR_COMPILER_H_

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "grammar/grammar_constraint.h"
#include "grammar/grammar_spec.h"
#include "grammar/head_cache.h"
#include "grammar/token_sets.h"
#include "request/token_constraint.h"

namespace shortlist {

/// Compiles grammars for one tokenizer, and keeps the latest ones with what they have computed, so
/// that requests with equal grammars share it. Thread-safe; grammars compile at the same time.
class GrammarCompiler {
 public:
  struct Options {
    // The bytes of each token of the target's vocabulary, by id; empty: the token is never part of
    // an output. Read in the constructor.
    std::vector<std::string_view> tokens;
    std::vector<TokenId> end_ids;  // tokens that end an output
    GrammarConstraint::Encode encode;
    int64_t max_bytes = int64_t{256} << 20;     // of the grammars that are kept
    int64_t max_used_bytes = int64_t{1} << 30;  // of those too that only requests still use
  };
  explicit GrammarCompiler(Options options);

  /// The constraint of `spec`, with the tokens that may come first. Grammars are shared within one
  /// `salt` only: the time of a compilation must not tell one client what another one uses.
  /// InvalidArgument says what of it is malformed, not supported, out of bounds, or too much for
  /// the memory of one grammar or for the work of one call. ResourceExhausted while all grammars in
  /// use take max_used_bytes.
  absl::StatusOr<std::shared_ptr<const TokenConstraint>> Compile(const GrammarSpec& spec,
                                                                 std::string_view salt = "");

 private:
  struct Kept {
    std::string key;
    std::shared_ptr<TokenSets> sets;
    std::shared_ptr<const TokenConstraint> constraint;

    int64_t num_bytes() const { return sets->grammar().num_bytes() + sets->num_bytes(); }
  };

  std::shared_ptr<const TokenConstraint> Find(const std::string& key);
  absl::Status CheckUsed();
  void Keep(Kept kept);

  const std::shared_ptr<HeadCache> heads_;
  const std::vector<TokenId> end_ids_;
  const GrammarConstraint::Encode encode_;
  const int64_t max_bytes_, max_used_bytes_;
  std::mutex mutex_;
  std::list<Kept> kept_;                        // the latest first
  std::vector<std::weak_ptr<TokenSets>> used_;  // all that may live
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_GRAMMAR_COMPILER_H_
