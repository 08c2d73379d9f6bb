#ifndef SHORTLIST_TEXT_SENTENCEPIECE_CHARSMAP_H_
#define SHORTLIST_TEXT_SENTENCEPIECE_CHARSMAP_H_

#include <cstddef>
#include <string_view>

namespace shortlist {

/// Checks the double array (Darts-clone) of a precompiled charsmap, which libsentencepiece reads
/// without bounds checks. Layout: byte size of the units as a little-endian u32, the units, then
/// the replacements, each ended by a NUL or the end of the map.
///
/// True if the map is empty, or if all of this holds: the map has at most kMaxCharsmapBytes; no
/// walk leaves the units or is endless; at most kMaxNestedKeys keys are prefixes of one text (more
/// overflow an array of the library); each value points to the start of valid UTF-8; and no
/// replacement is longer than kMaxCharsmapGrowth times its key.
bool CharsmapIsSound(std::string_view charsmap);

inline constexpr size_t kMaxCharsmapBytes = size_t{4} << 20;
inline constexpr size_t kMaxNestedKeys = 32;
inline constexpr size_t kMaxCharsmapGrowth = 16;  // U+FDFA: 3 bytes become 39, with U+2581

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_SENTENCEPIECE_CHARSMAP_H_
