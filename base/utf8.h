#ifndef SHORTLIST_BASE_UTF8_H_
#define SHORTLIST_BASE_UTF8_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace shortlist {

/// U+FFFD, which replaces bytes that are not UTF-8.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// Returns the offset of the first byte that does not begin a well-formed sequence, nullopt if
/// `text` is UTF-8. Follows the strict rules of the Unicode standard (table 3-7): no overlong form,
/// no surrogate, nothing above U+10FFFF.
std::optional<size_t> FindInvalidUtf8(std::string_view text);

/// What replaces bytes that are not UTF-8: one U+FFFD for each maximal ill-formed subpart (Unicode
/// 15, section 3.9, the practice that the standard recommends), or one for each byte.
enum class Replacement { kPerSubpart, kPerByte };

/// Appends `bytes` to `text` and replaces ill-formed parts. Returns the number of bytes at the end
/// that were left out because they begin a well-formed sequence that more bytes may complete: 0 to
/// 3.
///
/// Example: "a\xF0\x9F\x98" appends "a" and returns 3; "\xE4\xBDz" appends U+FFFD and "z" and
/// returns 0.
size_t AppendUtf8(std::string_view bytes, std::string& text,
                  Replacement replacement = Replacement::kPerSubpart);

/// Appends the replacement of bytes that AppendUtf8 left out, when no more bytes come.
void AppendReplaced(size_t num_left_out, std::string& text, Replacement replacement);

}  // namespace shortlist

#endif  // SHORTLIST_BASE_UTF8_H_
