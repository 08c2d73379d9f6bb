#include "cli/vocab/pins.h"

#include <algorithm>

#include "CLI/CLI.hpp"
#include "cli/flags/flag_kinds.h"

namespace shortlist {

CLI::Option* AddPinFlag(CLI::App& command, Pins& pins, const std::string& help) {
  const char* const name = pins == Pins::kNone      ? "none"
                           : pins == Pins::kControl ? "control"
                                                    : "control+bytes";
  return AddChoice<Pins>(command, "--pin", pins,
                         {{"control", Pins::kControl},
                          {"control+bytes", Pins::kControlAndBytes},
                          {"none", Pins::kNone}},
                         help + ": control tokens, and tokens of a single byte")
      ->default_str(name);
}

bool IsControl(const Tokenizer& tokenizer, TokenId id) {
  return tokenizer.IsSpecial(id) || id == tokenizer.eos();
}

bool IsByte(const Tokenizer& tokenizer, TokenId id) { return tokenizer.TokenBytes(id).size() == 1; }

std::vector<TokenId> PinnedIds(const Tokenizer& tokenizer, int64_t vocab_size, Pins pins) {
  std::vector<TokenId> pinned;
  if (pins == Pins::kNone) return pinned;
  for (int32_t i = 0; i < std::min(tokenizer.size(), vocab_size); ++i) {
    const TokenId id{i};
    if (IsControl(tokenizer, id) || (pins == Pins::kControlAndBytes && IsByte(tokenizer, id))) {
      pinned.push_back(id);
    }
  }
  return pinned;
}

}  // namespace shortlist
