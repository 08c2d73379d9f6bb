#ifndef SHORTLIST_DRAFT_SUFFIX_INDEX_H_
#define SHORTLIST_DRAFT_SUFFIX_INDEX_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>

#include "base/ids.h"

namespace shortlist {

/// What followed the end of a text elsewhere.
struct SuffixMatch {
  TokenId next{-1};        // the token that followed most often; of equal ones the latest
  int64_t length = 0;      // matching tokens before it; 0: there is no match
  int32_t num_places = 0;  // places with a match of this length, of those considered
  int32_t num_next = 0;    // of them, those that `next` followed

  /// Probability that `next` follows again; 0 without a match. It rises with the length and with
  /// the places that agree, and falls with those that do not.
  double Probability() const;
};

/// Texts of token ids, linked where they repeat each other: finds what followed the end of a text
/// elsewhere and how often, as the suffix trees of SuffixDecoding do (Oliaro et al. 2024). Instead
/// of a tree's nodes, each token has links to the previous place after the same 2, 4 and 8 tokens.
/// The index holds the latest `capacity` tokens; older ones leave first.
///
/// Texts belong to owners. A search finds only texts of its owner. Not thread-safe.
///
/// Example: after Append(0, {1 2 3 4 1 2 5 1 2 3}), the end of "9 1 2" has matches of 2 tokens in 3
/// places. Two of them are followed by 3, which is `next`.
class SuffixIndex {
 public:
  using Owner = uint32_t;

  /// Runs of these lengths are linked.
  static constexpr std::array<int64_t, 3> kOrders = {2, 4, 8};
  static constexpr int64_t kMaxLength = 32;  // longer matches count as this long
  static constexpr int64_t kMaxPlaces = 16;  // considered by a search, the latest ones
  /// A token, its owner, and for each order two entries of a table and a link.
  static constexpr int64_t kBytesPerToken = 8 + 12 * std::ssize(kOrders);
  static constexpr int64_t kMinCapacity = 16, kMaxCapacity = int64_t{1} << 28;

  /// Reserves kBytesPerToken for each of `capacity` tokens, a power of two in [kMinCapacity,
  /// kMaxCapacity]. The system provides the memory when it is first written. Throws std::bad_alloc.
  explicit SuffixIndex(int64_t capacity);

  /// Appends tokens, none of them negative, to the last text. Starts a new text if `owner` differs
  /// from that of the last text, or after EndText().
  void Append(Owner owner, std::span<const TokenId> tokens);
  /// Ends the last text. The end takes the place of one token.
  void EndText();
  /// Drops the tokens before position `begin`.
  void DropBefore(int64_t begin);

  /// Searches for the last tokens of `text` followed by `drafted`. Considers the latest kMaxPlaces
  /// places of `owner` that follow the same last 8 tokens; if there are none, the same last 4, then
  /// 2. Of them, the places with the longest match count.
  SuffixMatch Find(Owner owner, std::span<const TokenId> text,
                   std::span<const TokenId> drafted) const;

  int64_t capacity() const { return capacity_; }
  /// Positions of the oldest token and after the latest one, counted from the first token ever.
  int64_t begin() const { return begin_; }
  int64_t end() const { return end_; }

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  template <typename T>
  using Array = std::unique_ptr<T[], Free>;

  /// Runs of one length, each with its latest place: the token after it.
  struct Links {
    Array<uint32_t> heads;  // [2 * capacity] hash table of latest places; 0: empty
    // [capacity] by slot of a place: distance to the previous place after an equal run; 0: none.
    Array<uint32_t> back;
  };
  /// The last tokens of a text.
  struct Ending {
    std::array<TokenId, kMaxLength> last_first;
    int64_t len = 0;
  };

  template <typename T>
  static Array<T> NewArray(int64_t size);
  int64_t SlotOf(int64_t position) const { return position & (capacity_ - 1); }
  uint64_t Hash(Owner owner, const TokenId* last_first, int64_t len) const;
  void CopyBefore(int64_t place, int64_t len, TokenId* last_first) const;
  int64_t PlaceOf(uint32_t entry) const;
  uint32_t Entry(uint64_t hash, int64_t place) const;
  uint32_t* FindHead(size_t order, uint64_t hash, Owner owner, const TokenId* last_first) const;
  void Push(Owner owner, TokenId token);
  void Link(int64_t place);
  void DropOldest();
  void EraseHead(size_t order, int64_t at);
  int64_t MatchLength(int64_t place, const Ending& ending) const;
  SuffixMatch CountPlaces(size_t order, int64_t latest, const Ending& ending) const;

  const int64_t capacity_;
  int64_t begin_ = 0, end_ = 0;
  int64_t text_len_ = 0;    // tokens of the last text that are held; 0: it has ended
  Array<TokenId> tokens_;   // [capacity] by slot; -1 between texts
  Array<uint32_t> owners_;  // [capacity] by slot
  std::array<Links, kOrders.size()> links_;
};

}  // namespace shortlist

#endif  // SHORTLIST_DRAFT_SUFFIX_INDEX_H_
