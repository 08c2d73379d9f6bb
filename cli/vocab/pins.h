#ifndef SHORTLIST_CLI_VOCAB_PINS_H_
#define SHORTLIST_CLI_VOCAB_PINS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "text/tokenizer.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace shortlist {

/// Tokens that a list holds however rare they are: control tokens, with which outputs end, and
/// tokens of one byte, with which every text can be written.
enum class Pins { kControl, kControlAndBytes, kNone };

/// Adds --pin with the value that `pins` has; parsing fills `pins`, which must outlive `command`.
CLI::Option* AddPinFlag(CLI::App& command, Pins& pins, const std::string& help);

/// True for control tokens and the end-of-text token.
bool IsControl(const Tokenizer& tokenizer, TokenId id);
/// True for a token that stands for one byte.
bool IsByte(const Tokenizer& tokenizer, TokenId id);

/// Returns the pinned ids below `vocab_size`, ascending.
std::vector<TokenId> PinnedIds(const Tokenizer& tokenizer, int64_t vocab_size, Pins pins);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_PINS_H_
