#ifndef SHORTLIST_BASE_HEX_H_
#define SHORTLIST_BASE_HEX_H_

namespace shortlist {

/// Returns the value of a hexadecimal digit; -1 for other characters.
constexpr int HexDigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace shortlist

#endif  // SHORTLIST_BASE_HEX_H_
