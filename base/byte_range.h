#ifndef SHORTLIST_BASE_BYTE_RANGE_H_
#define SHORTLIST_BASE_BYTE_RANGE_H_

#include <cstddef>

namespace shortlist {

/// Bytes [begin, end) of a text; never empty.
struct ByteRange {
  size_t begin = 0;
  size_t end = 0;
  bool operator==(const ByteRange&) const = default;
};

}  // namespace shortlist

#endif  // SHORTLIST_BASE_BYTE_RANGE_H_
