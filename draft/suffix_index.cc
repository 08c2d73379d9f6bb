#include "draft/suffix_index.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <new>

#include "base/check.h"

namespace shortlist {
namespace {

// Separates texts; equals no token.
constexpr TokenId kNoToken{-1};

}  // namespace

/// Fitted to texts of code, prose, arithmetic, edits and diffs: what followed one match of n tokens
/// follows again with odds of n^1.5 / 4.5.
double SuffixMatch::Probability() const {
  const double of_one = std::pow(static_cast<double>(length), 1.5) / 4.5;
  const double odds = num_next * of_one / (1.0 + 1.5 * of_one * (num_places - num_next));
  return odds / (1.0 + odds);
}

void SuffixIndex::Free::operator()(void* memory) const { std::free(memory); }

/// Returns zeros, in pages that take no memory until they are written.
template <typename T>
SuffixIndex::Array<T> SuffixIndex::NewArray(int64_t size) {
  void* const memory = std::calloc(size, sizeof(T));
  if (memory == nullptr) throw std::bad_alloc();
  return Array<T>(static_cast<T*>(memory));
}

SuffixIndex::SuffixIndex(int64_t capacity)
    : capacity_(capacity),
      tokens_(NewArray<TokenId>(capacity)),
      owners_(NewArray<Owner>(capacity)) {
  SHORTLIST_CHECK(capacity >= kMinCapacity && capacity <= kMaxCapacity &&
                  (capacity & (capacity - 1)) == 0);
  for (Links& links : links_) {
    links.heads = NewArray<uint32_t>(2 * capacity_);
    links.back = NewArray<uint32_t>(capacity_);
  }
}

/// The memory's address, which the system chooses at random, keeps clients from choosing tokens
/// whose runs collide.
uint64_t SuffixIndex::Hash(Owner owner, const TokenId* last_first, int64_t len) const {
  constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15;
  uint64_t hash = reinterpret_cast<uintptr_t>(tokens_.get()) + owner;
  for (int64_t i = 0; i < len; ++i) {
    hash = (hash ^ static_cast<uint32_t>(Raw(last_first[i]))) * kMultiplier;
    hash ^= hash >> 29;
  }
  return hash * kMultiplier;
}

/// Copies the `len` tokens before `place`.
void SuffixIndex::CopyBefore(int64_t place, int64_t len, TokenId* last_first) const {
  for (int64_t i = 0; i < len; ++i) last_first[i] = tokens_[SlotOf(place - 1 - i)];
}

/// The place of an entry of a table, whose low bits are the place's slot plus 1.
int64_t SuffixIndex::PlaceOf(uint32_t entry) const {
  const int64_t slot = (entry & (2 * capacity_ - 1)) - 1;
  const int64_t first = end_ - capacity_;
  return first + SlotOf(slot - first);
}

/// The high bits are of the hash, so that most entries of other runs need no comparison.
uint32_t SuffixIndex::Entry(uint64_t hash, int64_t place) const {
  const auto slot = static_cast<uint32_t>(SlotOf(place) + 1);
  return (static_cast<uint32_t>(hash) & ~static_cast<uint32_t>(2 * capacity_ - 1)) | slot;
}

/// Returns the entry of a run, or the empty one where it belongs.
uint32_t* SuffixIndex::FindHead(size_t order, uint64_t hash, Owner owner,
                                const TokenId* last_first) const {
  const int64_t mask = 2 * capacity_ - 1;
  const auto tag_mask = ~static_cast<uint32_t>(mask);
  const auto tag = static_cast<uint32_t>(hash) & tag_mask;
  uint32_t* const heads = links_[order].heads.get();
  for (auto at = static_cast<int64_t>(hash >> 32) & mask;; at = (at + 1) & mask) {
    const uint32_t entry = heads[at];
    if (entry == 0) return &heads[at];
    if ((entry & tag_mask) != tag) continue;
    const int64_t place = PlaceOf(entry);
    bool is_equal = owners_[SlotOf(place)] == owner;
    for (int64_t i = 0; is_equal && i < kOrders[order]; ++i) {
      is_equal = tokens_[SlotOf(place - 1 - i)] == last_first[i];
    }
    if (is_equal) return &heads[at];
  }
}

void SuffixIndex::Append(Owner owner, std::span<const TokenId> tokens) {
  if (text_len_ > 0 && owners_[SlotOf(end_ - 1)] != owner) EndText();
  for (const TokenId token : tokens) {
    Push(owner, token);
    Link(end_ - 1);
    ++text_len_;
  }
}

void SuffixIndex::EndText() {
  if (text_len_ == 0) return;
  Push(owners_[SlotOf(end_ - 1)], kNoToken);
  text_len_ = 0;
}

void SuffixIndex::Push(Owner owner, TokenId token) {
  if (end_ - begin_ == capacity_) DropOldest();
  tokens_[SlotOf(end_)] = token;
  owners_[SlotOf(end_)] = owner;
  ++end_;
}

void SuffixIndex::DropBefore(int64_t begin) {
  while (begin_ < std::min(begin, end_)) DropOldest();
}

/// Makes `place`, the last token, the latest place after each run that ends before it.
void SuffixIndex::Link(int64_t place) {
  std::array<TokenId, kOrders.back()> before;
  CopyBefore(place, std::min(text_len_, kOrders.back()), before.data());
  const Owner owner = owners_[SlotOf(place)];
  for (size_t order = 0; order < kOrders.size() && kOrders[order] <= text_len_; ++order) {
    const uint64_t hash = Hash(owner, before.data(), kOrders[order]);
    uint32_t* const head = FindHead(order, hash, owner, before.data());
    links_[order].back[SlotOf(place)] =
        *head == 0 ? 0 : static_cast<uint32_t>(place - PlaceOf(*head));
    *head = Entry(hash, place);
  }
}

/// Drops the oldest token, and with it the places after runs that begin with it.
void SuffixIndex::DropOldest() {
  const int64_t first = begin_;
  std::array<TokenId, kOrders.back()> before;
  int64_t len = 0;  // tokens of the text from `first` on, and of what was linked
  while (len <= kOrders.back() && first + len < end_ && tokens_[SlotOf(first + len)] != kNoToken) {
    ++len;
  }
  for (size_t order = 0; order < kOrders.size() && kOrders[order] < len; ++order) {
    const int64_t place = first + kOrders[order];
    CopyBefore(place, kOrders[order], before.data());
    const Owner owner = owners_[SlotOf(place)];
    const uint64_t hash = Hash(owner, before.data(), kOrders[order]);
    uint32_t* const head = FindHead(order, hash, owner, before.data());
    if (PlaceOf(*head) == place) EraseHead(order, head - links_[order].heads.get());
  }
  ++begin_;
  text_len_ = std::min(text_len_, end_ - begin_);
}

/// Empties an entry, and moves later ones up to where a search for them ends.
void SuffixIndex::EraseHead(size_t order, int64_t at) {
  const int64_t mask = 2 * capacity_ - 1;
  uint32_t* const heads = links_[order].heads.get();
  std::array<TokenId, kOrders.back()> before;
  for (int64_t next = (at + 1) & mask; heads[next] != 0; next = (next + 1) & mask) {
    const int64_t place = PlaceOf(heads[next]);
    CopyBefore(place, kOrders[order], before.data());
    const uint64_t hash = Hash(owners_[SlotOf(place)], before.data(), kOrders[order]);
    const int64_t home = static_cast<int64_t>(hash >> 32) & mask;
    if (((next - home) & mask) < ((next - at) & mask)) continue;  // it would stand before its home
    heads[at] = heads[next];
    at = next;
  }
  heads[at] = 0;
}

/// Returns how many tokens before `place` equal the ending, at most kMaxLength.
int64_t SuffixIndex::MatchLength(int64_t place, const Ending& ending) const {
  const int64_t longest = std::min(place - begin_, ending.len);
  int64_t length = 0;
  while (length < longest && tokens_[SlotOf(place - 1 - length)] == ending.last_first[length]) {
    ++length;
  }
  return length;
}

/// Counts what follows the longest matches among the latest places of an order.
SuffixMatch SuffixIndex::CountPlaces(size_t order, int64_t latest, const Ending& ending) const {
  std::array<TokenId, kMaxPlaces> next;  // after the longest matches, latest first
  SuffixMatch match;
  int64_t place = latest;
  for (int64_t n = 0; n < kMaxPlaces && place - kOrders[order] >= begin_; ++n) {
    const int64_t length = MatchLength(place, ending);
    if (length > match.length) match = {.length = length};
    if (length == match.length) next[match.num_places++] = tokens_[SlotOf(place)];
    const int64_t back = links_[order].back[SlotOf(place)];
    if (back == 0) break;
    place -= back;
  }
  for (int32_t i = 0; i < match.num_places; ++i) {
    const auto count = static_cast<int32_t>(
        std::count(next.begin() + i, next.begin() + match.num_places, next[i]));
    if (count <= match.num_next) continue;
    match.next = next[i];
    match.num_next = count;
  }
  return match;
}

SuffixMatch SuffixIndex::Find(Owner owner, std::span<const TokenId> text,
                              std::span<const TokenId> drafted) const {
  Ending ending;
  for (const std::span<const TokenId> part : {drafted, text}) {
    for (auto token = part.rbegin(); token != part.rend() && ending.len < kMaxLength; ++token) {
      ending.last_first[ending.len++] = *token;
    }
  }
  const TokenId* const run = ending.last_first.data();
  for (size_t order = kOrders.size(); order-- > 0;) {
    const int64_t len = kOrders[order];
    if (len > ending.len) continue;
    const uint32_t head = *FindHead(order, Hash(owner, run, len), owner, run);
    if (head != 0) return CountPlaces(order, PlaceOf(head), ending);
  }
  return {};
}

}  // namespace shortlist
