#include "grammar/json_schema_object.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "grammar/json_schema_keywords.h"
#include "grammar/json_schema_members.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxPatterns = 6;  // distinct, of patternProperties: 64 classes of names

/// Compiles the objects of one case.
class ObjectCompiler {
 public:
  ObjectCompiler(SchemaCompiler& compiler, const Conjunction& parts)
      : compiler_(compiler), e_(compiler.expressions()), parts_(parts) {}

  absl::StatusOr<ExprId> Compile() {
    SHORTLIST_ASSIGN_OR_RETURN(
        limits_, CountLimitsOf(compiler_.document(), parts_, "minProperties", "maxProperties"));
    if (limits_.min > limits_.max) return e_.Nothing();
    SHORTLIST_RETURN_IF_ERROR(ReadNames());
    for (const std::string& name : names_) SHORTLIST_RETURN_IF_ERROR(AddNamed(name));
    SHORTLIST_RETURN_IF_ERROR(AddOthers());
    SHORTLIST_RETURN_IF_ERROR(CheckCounts());
    const int64_t size = static_cast<int64_t>(named_.size());
    SHORTLIST_RETURN_IF_ERROR(compiler_.document().Spend(IsCounted() ? size * size : size));
    return compiler_.text().Object(Members());
  }

 private:
  struct Named {
    ExprId member;
    bool required;
  };

  /// Finds the names of `properties`, then those that only `required` has, and `propertyNames`.
  absl::Status ReadNames() {
    std::set<std::string> seen;
    for (const Schema part : parts_) {
      SHORTLIST_ASSIGN_OR_RETURN(const Schema properties,
                                 ObjectOf(compiler_.document(), part, "properties"));
      const Schema names = Find(part, "propertyNames");
      if (names != nullptr) name_schemas_.push_back(names);
      if (properties == nullptr) continue;
      for (const auto& [name, unused] : properties->items()) {
        if (seen.insert(name).second) names_.push_back(name);
      }
    }
    SHORTLIST_ASSIGN_OR_RETURN(const std::vector<std::string> required,
                               RequiredNames(compiler_.document(), parts_));
    required_.insert(required.begin(), required.end());
    for (const std::string& name : required) {
      if (seen.insert(name).second) names_.push_back(name);
    }
    return absl::OkStatus();
  }

  absl::Status AddNamed(const std::string& name) {
    SHORTLIST_ASSIGN_OR_RETURN(
        const Conjunction schemas,
        MemberSchemas(compiler_.document(), compiler_.strings(), parts_, name));
    bool allowed = true;
    for (const Schema schema : name_schemas_) {
      SHORTLIST_ASSIGN_OR_RETURN(const bool accepts,
                                 compiler_.validator().Accepts(schema, ordered_json(name)));
      allowed &= accepts;
    }
    const ExprId key = compiler_.text().Quoted(e_.Text(JsonText::Escape(name)));
    const ExprId value = allowed ? compiler_.ValueOf(schemas) : e_.Nothing();
    named_.push_back({compiler_.text().Member(key, value), required_.contains(name)});
    return absl::OkStatus();
  }

  /// Sets others_ to the members whose names are not in names_. Names form classes by the patterns
  /// that they match.
  absl::Status AddOthers() {
    std::vector<std::string> patterns;
    for (const Schema part : parts_) {
      SHORTLIST_ASSIGN_OR_RETURN(const Schema list,
                                 ObjectOf(compiler_.document(), part, "patternProperties"));
      if (list == nullptr) continue;
      for (const auto& [pattern, unused] : list->items()) {
        if (std::ranges::find(patterns, pattern) != patterns.end()) continue;
        if (patterns.size() == kMaxPatterns) {
          return compiler_.document().Error(part, "patternProperties",
                                            absl::StrCat("more than ", kMaxPatterns, " patterns"));
        }
        patterns.push_back(pattern);
      }
    }
    ExprId names = e_.Repeat(compiler_.text().PlainChar(), 0, Expressions::kNoLimit);
    if (!name_schemas_.empty()) {
      SHORTLIST_ASSIGN_OR_RETURN(names, compiler_.StringsOf(name_schemas_));
    }
    std::vector<std::string> taken;
    for (const std::string& name : names_) taken.push_back(JsonText::Escape(name));
    const ExprId taken_names = compiler_.text().AnyOf(std::move(taken));
    std::vector<ExprId> options;
    for (uint32_t matched = 0; matched < uint32_t{1} << patterns.size(); ++matched) {
      SHORTLIST_ASSIGN_OR_RETURN(const ExprId name,
                                 NamesOfClass(patterns, matched, names, taken_names));
      SHORTLIST_ASSIGN_OR_RETURN(const ExprId value, ValueOfClass(patterns, matched));
      if (value == e_.Nothing() || !e_.IsProductive(name)) continue;
      options.push_back(compiler_.text().Member(compiler_.text().Quoted(name), value));
    }
    others_ = e_.Choice(options);
    return absl::OkStatus();
  }

  /// The names that match exactly the patterns of the bits `matched`.
  absl::StatusOr<ExprId> NamesOfClass(const std::vector<std::string>& patterns, uint32_t matched,
                                      ExprId names, ExprId taken_names) {
    ExprId excluded = taken_names;
    for (size_t i = 0; i < patterns.size(); ++i) {
      SHORTLIST_ASSIGN_OR_RETURN(const ExprId pattern,
                                 compiler_.strings().PatternStrings(parts_.front(), patterns[i]));
      if ((matched >> i & 1) != 0) {
        names = e_.Both(names, pattern);
      } else {
        excluded = e_.Choice(excluded, pattern);
      }
    }
    return excluded == e_.Nothing() ? names : e_.Except(names, excluded);
  }

  absl::StatusOr<ExprId> ValueOfClass(const std::vector<std::string>& patterns, uint32_t matched) {
    Conjunction schemas;
    for (const Schema part : parts_) {
      bool any_pattern = false;
      const Schema list = Find(part, "patternProperties");
      for (size_t i = 0; list != nullptr && i < patterns.size(); ++i) {
        const Schema found = (matched >> i & 1) != 0 ? Find(list, patterns[i]) : nullptr;
        if (found == nullptr) continue;
        schemas.push_back(found);
        any_pattern = true;
      }
      const Schema rest = Find(part, "additionalProperties");
      if (!any_pattern && rest != nullptr) schemas.push_back(rest);
    }
    const bool rejected = std::ranges::any_of(
        schemas, [](Schema schema) { return schema->is_boolean() && !schema->get<bool>(); });
    return rejected ? e_.Nothing() : compiler_.ValueOf(schemas);
  }

  bool IsCounted() const {
    return limits_.min > static_cast<int64_t>(required_.size()) ||
           limits_.max != Expressions::kNoLimit;
  }

  /// A repeated name counts once, but a grammar cannot tell: at most one of the needed members may
  /// be one of the others.
  absl::Status CheckCounts() const {
    if (others_ == e_.Nothing()) return absl::OkStatus();
    if (limits_.min <= static_cast<int64_t>(required_.size()) + 1) return absl::OkStatus();
    for (const Schema part : parts_) {
      if (Find(part, "minProperties") == nullptr) continue;
      return compiler_.document().Error(part, "minProperties",
                                        "not supported with names that are not listed");
    }
    return absl::OkStatus();
  }

  /// Members in order, from the last to the first. rest[c]: what may follow after `c` members; if
  /// members are not counted, 1 stands for any number from there on.
  ExprId Members() {
    const int64_t max_count = IsCounted() ? static_cast<int64_t>(named_.size()) : 1;
    std::vector<ExprId> rest;
    for (int64_t c = 0; c <= max_count; ++c) rest.push_back(OtherMembers(c));
    for (size_t i = named_.size(); i-- > 0;) {
      for (int64_t c = 0; c <= std::min<int64_t>(max_count, static_cast<int64_t>(i)); ++c) {
        rest[c] = MembersFrom(named_[i], c, rest);
      }
    }
    return rest[0];
  }

  ExprId MembersFrom(const Named& named, int64_t count, const std::vector<ExprId>& rest) {
    const ExprId member =
        count == 0 ? named.member : e_.Sequence(compiler_.text().Comma(), named.member);
    const bool last_count = count + 1 == static_cast<int64_t>(rest.size());
    if (!IsCounted() && last_count) {
      return e_.Sequence(named.required ? member : e_.Optional(member), rest[count]);
    }
    const ExprId with = e_.Sequence(member, rest[count + 1]);
    return named.required ? with : e_.Choice(with, rest[count]);
  }

  /// Only members that are not listed, after `count` listed ones.
  ExprId OtherMembers(int64_t count) {
    if (count > limits_.max) return e_.Nothing();
    const int64_t min = IsCounted() ? std::max<int64_t>(limits_.min - count, 0) : 0;
    const int64_t max = limits_.max == Expressions::kNoLimit ? limits_.max : limits_.max - count;
    if (max == 0 || others_ == e_.Nothing()) return min == 0 ? e_.Empty() : e_.Nothing();
    const ExprId more = e_.Sequence(compiler_.text().Comma(), others_);
    if (count > 0) return e_.Repeat(more, min, max);
    const int64_t max_more = max == Expressions::kNoLimit ? max : max - 1;
    const ExprId some =
        e_.Sequence(others_, e_.Repeat(more, std::max<int64_t>(min - 1, 0), max_more));
    return min == 0 ? e_.Optional(some) : some;
  }

  SchemaCompiler& compiler_;
  Expressions& e_;
  const Conjunction& parts_;
  CountLimits limits_;
  std::vector<std::string> names_;
  std::set<std::string> required_;
  Conjunction name_schemas_;
  std::vector<Named> named_;  // of names_
  ExprId others_{};
};

}  // namespace

absl::StatusOr<ExprId> ObjectTexts(SchemaCompiler& compiler, const Conjunction& parts) {
  return ObjectCompiler(compiler, parts).Compile();
}

}  // namespace shortlist
