#ifndef SHORTLIST_DRAFT_PAST_OUTPUTS_H_
#define SHORTLIST_DRAFT_PAST_OUTPUTS_H_

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <unordered_map>

#include "base/ids.h"
#include "draft/suffix_index.h"

namespace shortlist {

/// Outputs of finished requests, for drafts of later requests of the same client: agents repeat
/// their calls, and edits of one file repeat the file. A client is a `cache_salt`, as for the radix
/// cache; no client finds another client's outputs. Bounded in bytes; the oldest outputs of all
/// clients leave first.
///
/// Used by the engine's thread.
class PastOutputs {
 public:
  /// `max_bytes`: at least kMinBytes. All memory counts, apart from the allocator's own. Throws
  /// std::bad_alloc.
  explicit PastOutputs(int64_t max_bytes);
  static constexpr int64_t kMinBytes = 4096;

  /// Adds an output, unless it is too short to be found, its salt is too long for the list, or
  /// memory is short.
  void Add(const std::string& cache_salt, std::span<const TokenId> output);

  /// SuffixIndex::Find among the outputs of `cache_salt`.
  SuffixMatch Find(const std::string& cache_salt, std::span<const TokenId> text,
                   std::span<const TokenId> drafted) const;

  int64_t num_tokens() const { return index_.end() - index_.begin(); }
  int64_t bytes() const;

 private:
  struct Client {
    SuffixIndex::Owner owner;
    int64_t num_outputs = 0;
  };
  using Clients = std::unordered_map<std::string, Client>;
  struct Output {
    int64_t end;  // position in the index
    Clients::value_type* client;
  };

  static int64_t BytesOf(const std::string& cache_salt);
  void ForgetOldest();

  const int64_t max_list_bytes_;  // of outputs_ and clients_
  SuffixIndex index_;
  Clients clients_;             // those that have outputs
  std::deque<Output> outputs_;  // oldest first
  int64_t list_bytes_ = 0;
  SuffixIndex::Owner next_owner_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_PAST_OUTPUTS_H_
