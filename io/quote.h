#ifndef SHORTLIST_IO_QUOTE_H_
#define SHORTLIST_IO_QUOTE_H_

#include <string>

#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// Formats a value or name from a file for a message: JSON in printable ASCII, cut after 100 bytes.
std::string Quote(const nlohmann::json& value);

}  // namespace shortlist

#endif  // SHORTLIST_IO_QUOTE_H_
