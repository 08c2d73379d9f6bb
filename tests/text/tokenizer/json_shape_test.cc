#include "text/tokenizer/json_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/json.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json Shapes() {
  return *ReadJsonFile(SHORTLIST_SOURCE_DIR "/tests/reference/golden/tokenizer_shape.json",
                       1 << 20);
}

json::json_pointer PathOf(const json& names) {
  json::json_pointer path;
  for (const json& name : names) {
    if (name.is_number()) {
      path /= name.get<size_t>();
    } else {
      path /= name.get<std::string>();
    }
  }
  return path;
}

TEST(JsonShapeTest, RejectsWhatTokenizersLibraryRejectsForMissingMember) {
  const json shapes = Shapes();
  for (const json& golden : shapes["cases"]) {
    EXPECT_TRUE(CheckJsonShape(golden["document"]).ok()) << golden["document"];
    const json::json_pointer path = PathOf(golden["path"]);
    for (const auto& [name, value] : golden["document"][path].items()) {
      const bool is_needed = std::ranges::count(golden["needed"], json(name)) > 0;
      if (path.empty() && name == "model") continue;  // ParseJsonTokenizer asks for it
      json without = golden["document"];
      without[path].erase(name);
      const absl::Status status = CheckJsonShape(without);
      EXPECT_EQ(status.ok(), !is_needed) << path.to_string() << " without " << name;
      if (is_needed) {
        EXPECT_THAT(std::string(status.message()), HasSubstr("no \"" + name + "\""));
      }
    }
  }
}

TEST(JsonShapeTest, RejectsUnknownMembersAndWrongKinds) {
  const json shapes = Shapes();
  for (const json& document : shapes["rejected"]) {
    EXPECT_EQ(CheckJsonShape(document).code(), absl::StatusCode::kInvalidArgument) << document;
  }
  EXPECT_THAT(std::string(CheckJsonShape({{"modle", json::object()}}).message()),
              HasSubstr("\"modle\" is not a member of a tokenizer"));
  EXPECT_FALSE(CheckJsonShape(json::array()).ok());
}

}  // namespace
}  // namespace shortlist
