#include "grammar/char_class.h"

#include <algorithm>
#include <map>

namespace shortlist {
namespace {

constexpr int kTailBits = 6;  // of a code point, in each byte after the first

/// Builds the sequences of one length class of UTF-8. Code points that share leading bytes share
/// the expression, so its size does not depend on the number of code points.
class SequenceBuilder {
 public:
  explicit SequenceBuilder(Expressions& expressions) : expressions_(expressions) {}

  /// Returns the last `num_bytes` bytes of the code points of `chars` in
  /// [first, first + 64 ^ num_bytes).
  ExprId Tail(const CharClass& chars, uint32_t first, int num_bytes) {
    const uint32_t size = uint32_t{1} << (kTailBits * num_bytes);
    const CharClass here = Intersection(chars, {{first, first + size - 1}});
    if (here.empty()) return expressions_.Nothing();
    if (num_bytes == 0) return expressions_.Empty();
    if (here.size() == 1 && here[0].last - here[0].first == size - 1) {
      return expressions_.Repeat(expressions_.Bytes(ByteSet::Range(0x80, 0xBF)), num_bytes,
                                 num_bytes);
    }
    return Lead(here, first, num_bytes - 1, /*lead_bits=*/0x80, /*num_leads=*/64);
  }

  /// Returns a byte of `lead_bits` + [0, num_leads), then its tail of `num_bytes` bytes. The first
  /// lead begins at the code point `first`.
  ExprId Lead(const CharClass& chars, uint32_t first, int num_bytes, int lead_bits, int num_leads) {
    std::map<ExprId, ByteSet> leads_of_tail;
    for (int i = 0; i < num_leads; ++i) {
      const uint32_t begin = first + (static_cast<uint32_t>(i) << (kTailBits * num_bytes));
      const ExprId tail = Tail(chars, begin, num_bytes);
      if (tail != expressions_.Nothing()) {
        leads_of_tail[tail].Add(static_cast<uint8_t>(lead_bits + i));
      }
    }
    std::vector<ExprId> options;
    for (const auto& [tail, leads] : leads_of_tail) {
      options.push_back(expressions_.Sequence(expressions_.Bytes(leads), tail));
    }
    return expressions_.Choice(options);
  }

 private:
  Expressions& expressions_;
};

}  // namespace

CharClass MakeCharClass(std::span<const CodePointRange> ranges) {
  std::vector<CodePointRange> sorted(ranges.begin(), ranges.end());
  std::ranges::sort(sorted, {}, &CodePointRange::first);
  CharClass chars;
  for (const CodePointRange& range : sorted) {
    const uint32_t last = std::min(range.last, kMaxCodePoint);
    if (range.first > last) continue;
    if (!chars.empty() && range.first <= chars.back().last + 1) {
      chars.back().last = std::max(chars.back().last, last);
    } else {
      chars.push_back({range.first, last});
    }
  }
  return chars;
}

CharClass Complement(const CharClass& chars) {
  CharClass others;
  uint32_t next = 0;
  for (const CodePointRange& range : chars) {
    if (next < range.first) others.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kMaxCodePoint) others.push_back({next, kMaxCodePoint});
  return others;
}

CharClass Intersection(const CharClass& a, const CharClass& b) {
  CharClass both;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    const uint32_t first = std::max(x->first, y->first);
    const uint32_t last = std::min(x->last, y->last);
    if (first <= last) both.push_back({first, last});
    x->last < y->last ? static_cast<void>(++x) : static_cast<void>(++y);
  }
  return both;
}

ExprId CodePoints(Expressions& expressions, std::span<const CodePointRange> ranges) {
  const CharClass chars =
      Intersection(MakeCharClass(ranges), {{0, 0xD7FF}, {0xE000, kMaxCodePoint}});
  SequenceBuilder builder(expressions);
  const auto within = [&](uint32_t first, uint32_t last) {
    return Intersection(chars, {{first, last}});
  };
  return expressions.Choice(std::vector<ExprId>{
      builder.Lead(within(0, 0x7F), 0, 0, 0, 0x80),
      builder.Lead(within(0x80, 0x7FF), 0, 1, 0xC0, 0x20),
      builder.Lead(within(0x800, 0xFFFF), 0, 2, 0xE0, 0x10),
      builder.Lead(within(0x10000, kMaxCodePoint), 0, 3, 0xF0, 5),
  });
}

}  // namespace shortlist
