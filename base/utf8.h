#ifndef SHORTLIST_BASE_UTF8_H_
#define SHORTLIST_BASE_UTF8_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace shortlist {

/// U+FFFD, which stands for bytes that are not UTF-8.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// Offset of the first byte that does not begin a well-formed sequence, by the strict rules of the
/// Unicode standard (table 3-7): no overlong form, no surrogate, nothing above U+10FFFF. nullopt
/// when `text` is UTF-8.
std::optional<size_t> FindInvalidUtf8(std::string_view text);

/// What stands for bytes that are not UTF-8: one U+FFFD for each maximal ill-formed subpart
/// (Unicode 15, section 3.9, the practice that the standard recommends), or one for each byte.
enum class Replacement { kPerSubpart, kPerByte };

/// Appends `bytes` to `text`, what is ill-formed replaced. Returns how many bytes at the end were
/// left out because they begin a well-formed sequence that more bytes may complete: 0 to 3.
///
/// Example: "a\xF0\x9F\x98" appends "a" and returns 3; "\xE4\xBDz" appends U+FFFD and "z" and
/// returns 0.
size_t AppendUtf8(std::string_view bytes, std::string& text,
                  Replacement replacement = Replacement::kPerSubpart);

/// Appends what stands for the bytes that AppendUtf8 left out, when no more come.
void AppendReplaced(size_t num_left_out, std::string& text, Replacement replacement);

}  // namespace shortlist

#endif  // SHORTLIST_BASE_UTF8_H_
