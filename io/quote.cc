#include "io/quote.h"

#include "nlohmann/json.hpp"

namespace shortlist {

std::string Quote(const nlohmann::json& value) {
  constexpr size_t kMaxBytes = 100;
  // Of a long text, no more is written out than is shown.
  if (const auto* const whole = value.get_ptr<const std::string*>();
      whole != nullptr && whole->size() > kMaxBytes) {
    const std::string head = nlohmann::json(whole->substr(0, kMaxBytes))
                                 .dump(
                                     /*indent=*/-1, /*indent_char=*/' ', /*ensure_ascii=*/true,
                                     nlohmann::json::error_handler_t::replace);
    return head.substr(0, kMaxBytes) + "...";
  }
  std::string text = value.dump(/*indent=*/-1, /*indent_char=*/' ', /*ensure_ascii=*/true,
                                nlohmann::json::error_handler_t::replace);
  if (text.size() > kMaxBytes) text.replace(kMaxBytes, std::string::npos, "...");
  return text;
}

}  // namespace shortlist
