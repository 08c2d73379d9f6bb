#ifndef SHORTLIST_TESTS_TEXT_REPLY_TAG_GRAMMAR_H_
#define SHORTLIST_TESTS_TEXT_REPLY_TAG_GRAMMAR_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "grammar/expressions.h"
#include "grammar/structural_tag.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace shortlist {

/// The texts that follow a structural tag.
class TagGrammar {
 public:
  explicit TagGrammar(const nlohmann::ordered_json& tag)
      : grammar_(CompileStructuralTag(tag, /*compact=*/false, *expressions_)) {
    EXPECT_TRUE(grammar_.ok()) << grammar_.status();
    if (grammar_.ok()) {
      EXPECT_EQ(expressions_->Check(*grammar_), "");
    }
  }

  bool Accepts(std::string_view text) {
    if (!grammar_.ok()) return false;
    ExprId state = *grammar_;
    for (const char byte : text) state = expressions_->After(state, static_cast<uint8_t>(byte));
    EXPECT_FALSE(expressions_->is_full());
    return expressions_->IsNullable(state);
  }

 private:
  std::unique_ptr<Expressions> expressions_ = std::make_unique<Expressions>();
  absl::StatusOr<ExprId> grammar_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_TEXT_REPLY_TAG_GRAMMAR_H_
