#ifndef SHORTLIST_TESTS_GRAMMAR_SCHEMA_GRAMMAR_H_
#define SHORTLIST_TESTS_GRAMMAR_SCHEMA_GRAMMAR_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "grammar/json_schema.h"
#include "nlohmann/json.hpp"

namespace shortlist {

/// A schema and its grammar.
class SchemaGrammar {
 public:
  explicit SchemaGrammar(std::string_view schema, JsonSchemaOptions options = {})
      : SchemaGrammar(options, nlohmann::ordered_json::parse(schema)) {}
  /// Large objects take long to parse.
  static SchemaGrammar Of(nlohmann::ordered_json schema, JsonSchemaOptions options = {}) {
    return SchemaGrammar(options, std::move(schema));
  }

  const absl::Status& status() const { return grammar_.status(); }

  bool Accepts(std::string_view text) {
    EXPECT_TRUE(grammar_.ok()) << grammar_.status() << " " << schema_;
    if (!grammar_.ok()) return false;
    ExprId state = *grammar_;
    for (const char byte : text) state = expressions_->After(state, static_cast<uint8_t>(byte));
    EXPECT_FALSE(expressions_->is_full());
    return expressions_->IsNullable(state);
  }

  void ExpectAll(std::initializer_list<std::string_view> texts, bool accepted) {
    for (const std::string_view text : texts) {
      EXPECT_EQ(Accepts(text), accepted) << text << " " << schema_;
    }
  }

 private:
  SchemaGrammar(JsonSchemaOptions options, nlohmann::ordered_json schema)
      : schema_(std::move(schema)), grammar_(CompileJsonSchema(schema_, options, *expressions_)) {}

  nlohmann::ordered_json schema_;
  std::unique_ptr<Expressions> expressions_ = std::make_unique<Expressions>();
  absl::StatusOr<ExprId> grammar_;
};

inline void ExpectExactly(std::string_view schema, std::initializer_list<std::string_view> accepted,
                          std::initializer_list<std::string_view> rejected) {
  SchemaGrammar grammar(schema);
  grammar.ExpectAll(accepted, true);
  grammar.ExpectAll(rejected, false);
}

/// `status` is InvalidArgument, with `part_of_message`.
inline void ExpectInvalid(const absl::Status& status, std::string_view part_of_message) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find(part_of_message), std::string::npos) << status;
}

inline void ExpectError(std::string_view schema, std::string_view part_of_message) {
  SCOPED_TRACE(std::string(schema));
  ExpectInvalid(SchemaGrammar(schema).status(), part_of_message);
}

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_GRAMMAR_SCHEMA_GRAMMAR_H_
