#ifndef SHORTLIST_TEXT_SENTENCEPIECE_CHARSMAP_H_
#define SHORTLIST_TEXT_SENTENCEPIECE_CHARSMAP_H_

#include <cstddef>
#include <string_view>

namespace shortlist {

/// The double array (Darts-clone) of a precompiled charsmap, which libsentencepiece walks without
/// looking at its bounds: byte size of the units as a little-endian u32, the units, then the
/// replacements, each ended by a NUL or the end of all.
///
/// True when the map is empty, or when no walk leaves the units, none is endless, at most
/// kMaxNestedKeys keys are prefixes of one text (more overflow an array of the library's), each
/// value is where valid UTF-8 begins, and no replacement is longer than kMaxCharsmapGrowth times
/// its key.
bool CharsmapIsSound(std::string_view charsmap);

inline constexpr size_t kMaxCharsmapBytes = size_t{4} << 20;
inline constexpr size_t kMaxNestedKeys = 32;
inline constexpr size_t kMaxCharsmapGrowth = 16;  // U+FDFA, 3 bytes: 39 with U+2581 for spaces

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_SENTENCEPIECE_CHARSMAP_H_
