#ifndef SHORTLIST_CLI_EAGLE3_FACTS_H_
#define SHORTLIST_CLI_EAGLE3_FACTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "io/model_source.h"
#include "model/checkpoint/eagle3_config.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// What `shortlist show` says about an EAGLE-3 head, which needs a target for the rest.
struct Eagle3Facts {
  Eagle3Config config;
  std::string path;
  int64_t num_parameters = 0;  // of its matrices and vectors of numbers
  int64_t num_bytes = 0;       // of them, as stored
};

/// Errors of ReadEagle3Config.
absl::StatusOr<Eagle3Facts> ReadEagle3Facts(const ModelSource& source);

/// (name, value) pairs, in the order of the page.
std::vector<std::pair<std::string, std::string>> LinesOf(const Eagle3Facts& facts);
nlohmann::ordered_json JsonOf(const Eagle3Facts& facts);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EAGLE3_FACTS_H_
