#ifndef SHORTLIST_TESTS_TEXT_REPLY_TAG_GRAMMAR_H_
#define SHORTLIST_TESTS_TEXT_REPLY_TAG_GRAMMAR_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

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

  /// A text that follows the tag, drawn byte by byte; empty after 4,000 bytes without an end.
  std::string Draw(std::mt19937& random) {
    std::string text;
    if (!grammar_.ok()) return text;
    for (ExprId state = *grammar_; text.size() < 4'000;) {
      std::vector<uint8_t> bytes;
      const ByteSet first = expressions_->FirstBytes(state);
      for (int byte = 0; byte < 256; ++byte) {
        if (first.Contains(static_cast<uint8_t>(byte))) bytes.push_back(byte);
      }
      if (expressions_->IsNullable(state) && (bytes.empty() || random() % 2 == 0)) return text;
      if (bytes.empty()) return "";
      text += static_cast<char>(bytes[random() % bytes.size()]);
      state = expressions_->After(state, static_cast<uint8_t>(text.back()));
    }
    return "";
  }

 private:
  std::unique_ptr<Expressions> expressions_ = std::make_unique<Expressions>();
  absl::StatusOr<ExprId> grammar_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_TEXT_REPLY_TAG_GRAMMAR_H_
