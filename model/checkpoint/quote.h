#ifndef SHORTLIST_MODEL_CHECKPOINT_QUOTE_H_
#define SHORTLIST_MODEL_CHECKPOINT_QUOTE_H_

#include <string>

#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// Formats a value or name from a file for a message: JSON in printable ASCII, cut after 100 bytes.
std::string Quote(const nlohmann::json& value);

}  // namespace shortlist

#endif  // SHORTLIST_MODEL_CHECKPOINT_QUOTE_H_
