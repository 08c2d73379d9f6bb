#ifndef SHORTLIST_SERVE_SHARED_GRAMMAR_H_
#define SHORTLIST_SERVE_SHARED_GRAMMAR_H_

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "grammar/grammar_compiler.h"
#include "grammar/grammar_spec.h"
#include "request/token_constraint.h"

namespace shortlist {

/// The grammar that the generations of one request share: compiled once. Any thread.
class SharedGrammar {
 public:
  /// `field` names the member of the request that has the grammar, for error messages.
  SharedGrammar(GrammarSpec spec, std::string field)
      : spec_(std::move(spec)), field_(std::move(field)) {}

  /// Returns the member of the request that has `schema`, a part of spec(); empty: it is unknown.
  using FieldOf = std::function<std::string(const nlohmann::ordered_json& schema)>;
  /// Errors of a schema in a structural tag name this member. Precondition as below.
  void SetFieldOf(FieldOf field_of) { field_of_ = std::move(field_of); }

  const std::string& field() const { return field_; }

  /// What the output must follow. Precondition of both: Compile() was not called yet.
  const GrammarSpec& spec() const { return spec_; }
  void Replace(GrammarSpec spec) { spec_ = std::move(spec); }

  /// InvalidArgument, naming the field, for a grammar that cannot be followed. Other errors of
  /// GrammarCompiler::Compile. `compiler` and `salt` must be the same in all calls.
  const absl::StatusOr<std::shared_ptr<const TokenConstraint>>& Compile(GrammarCompiler& compiler,
                                                                        std::string_view salt);

 private:
  absl::Status Named(const absl::Status& status) const;

  std::mutex mutex_;
  GrammarSpec spec_;
  const std::string field_;
  FieldOf field_of_;
  // Constant once set.
  std::optional<absl::StatusOr<std::shared_ptr<const TokenConstraint>>> compiled_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_SHARED_GRAMMAR_H_
