#include "io/quote.h"

#include "nlohmann/json.hpp"

namespace shortlist {

std::string Quote(const nlohmann::json& value) {
  constexpr size_t kMaxBytes = 100;
  std::string text = value.dump(/*indent=*/-1, /*indent_char=*/' ', /*ensure_ascii=*/true,
                                nlohmann::json::error_handler_t::replace);
  if (text.size() > kMaxBytes) text.replace(kMaxBytes, std::string::npos, "...");
  return text;
}

}  // namespace shortlist
