#include "grammar/json_schema_negation.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "grammar/decimal.h"
#include "grammar/json_schema_keywords.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

constexpr int kMaxDepth = 32;
constexpr size_t kMaxConjunctions = 256;
constexpr size_t kMaxNumbers = 8;  // of one enum

/// A keyword whose argument is a limit, and the keyword of the values beyond that limit.
struct Opposite {
  std::string_view keyword;
  const char* type;
  const char* opposite;
  int step;  // from the limit to the first value beyond it, for counts
};
constexpr std::array<Opposite, 10> kOpposites = {{
    {"minimum", "number", "exclusiveMaximum", 0},
    {"maximum", "number", "exclusiveMinimum", 0},
    {"exclusiveMinimum", "number", "maximum", 0},
    {"exclusiveMaximum", "number", "minimum", 0},
    {"minLength", "string", "maxLength", -1},
    {"maxLength", "string", "minLength", 1},
    {"minItems", "array", "maxItems", -1},
    {"maxItems", "array", "minItems", 1},
    {"minProperties", "object", "maxProperties", -1},
    {"maxProperties", "object", "minProperties", 1},
}};

using Options = std::vector<Conjunction>;

/// Negates one schema and those that it joins.
class Negator {
 public:
  explicit Negator(SchemaDocument& document) : document_(document) {}

  absl::StatusOr<Options> Negate(Schema schema, int depth) {
    SHORTLIST_RETURN_IF_ERROR(
        document_.Spend(1 + static_cast<int64_t>(schema->is_object() ? schema->size() : 0)));
    if (depth > kMaxDepth) return document_.Error(schema, "not", "nests too deep");
    if (schema->is_boolean()) {
      return schema->get<bool>() ? Options{} : Options{Conjunction{}};
    }
    if (!schema->is_object()) return document_.Error(schema, "not", "not a schema");
    Options options;
    for (const auto& [keyword, argument] : schema->items()) {
      if (IsAnnotation(keyword)) continue;
      SHORTLIST_ASSIGN_OR_RETURN(const Options rejected,
                                 NegateKeyword(schema, keyword, argument, depth));
      options.insert(options.end(), rejected.begin(), rejected.end());
      if (options.size() > kMaxConjunctions) {
        return document_.Error(schema, "not", "has too many cases");
      }
    }
    return options;
  }

 private:
  Conjunction New(ordered_json schema, Schema origin) {
    return {document_.Add(std::move(schema), origin)};
  }

  absl::StatusOr<Options> NegateKeyword(Schema schema, const std::string& keyword,
                                        const ordered_json& argument, int depth) {
    if (keyword == "type") return NegateType(schema);
    if (keyword == "const") return NegateValues(schema, ordered_json::array({argument}));
    if (keyword == "enum" && argument.is_array()) return NegateValues(schema, argument);
    if (keyword == "not") return Options{{&argument}};
    if (keyword == "$ref") {
      SHORTLIST_ASSIGN_OR_RETURN(const Schema target, document_.Resolve(schema));
      return Negate(target, depth + 1);
    }
    if (keyword == "allOf" && argument.is_array()) return NegateAny(argument, depth);
    if (keyword == "anyOf" && argument.is_array()) return NegateAll(schema, argument, depth);
    if (keyword == "required" && argument.is_array()) return NegateRequired(schema, argument);
    if (keyword == "properties" && argument.is_object()) {
      return NegateProperties(schema, argument);
    }
    if (keyword == "pattern" && argument.is_string()) {
      const Conjunction strings = New({{"type", "string"}}, schema);
      document_.Exclude(strings[0], {.texts = {}, .pattern = argument.get<std::string>()});
      return Options{strings};
    }
    return NegateLimit(schema, keyword, argument);
  }

  absl::StatusOr<Options> NegateType(Schema schema) {
    SHORTLIST_ASSIGN_OR_RETURN(const JsonTypes types, TypesOf(document_, schema));
    Options options = {OfTypes(kAnyType & ~types, schema)};
    if ((types & kNumberType) == kIntegerType) {
      options.push_back(New({{"type", "number"}}, schema));
      document_.Exclude(options.back()[0], {.texts = {}, .pattern = {}, .integers = true});
    }
    return options;
  }

  /// The values of `types`; numbers only if both kinds are there.
  Conjunction OfTypes(JsonTypes types, Schema origin) {
    ordered_json names = ordered_json::array();
    for (const char* name : {"null", "boolean", "string", "array", "object", "number"}) {
      const ordered_json named = {{"type", name}};
      const auto type = TypesOf(document_, &named);
      if (type.ok() && (*type & ~types) == 0) names.push_back(name);
    }
    return New({{"type", std::move(names)}}, origin);
  }

  /// The numbers other than those of `values`. False for more than kMaxNumbers.
  bool AddOtherNumbers(Schema schema, const ordered_json& values, Options& options) {
    std::vector<ordered_json> numbers;
    std::ranges::copy_if(values, std::back_inserter(numbers), &ordered_json::is_number);
    if (numbers.empty()) return true;
    if (numbers.size() > kMaxNumbers) return false;
    std::ranges::sort(numbers, [](const ordered_json& a, const ordered_json& b) {
      return Compare(DecimalOf(a), DecimalOf(b)) < 0;
    });
    for (size_t i = 0; i <= numbers.size(); ++i) {
      ordered_json between = {{"type", "number"}};
      if (i > 0) between["exclusiveMinimum"] = numbers[i - 1];
      if (i < numbers.size()) between["exclusiveMaximum"] = numbers[i];
      options.push_back(New(std::move(between), schema));
    }
    return true;
  }

  /// The arrays or objects (`type`) other than those of `values`. False if one of these is not
  /// empty.
  bool AddOtherStructures(Schema schema, const ordered_json& values, JsonTypes type,
                          Options& options) {
    bool has_any = false;
    for (const ordered_json& value : values) {
      if (TypeOf(value) != type) continue;
      if (!value.empty()) return false;
      has_any = true;
    }
    if (!has_any) return true;
    options.push_back(New(type == kArrayType
                              ? ordered_json{{"type", "array"}, {"minItems", 1}}
                              : ordered_json{{"type", "object"}, {"minProperties", 1}},
                          schema));
    return true;
  }

  absl::StatusOr<Options> NegateValues(Schema schema, const ordered_json& values) {
    JsonTypes types = kAnyType;
    SchemaDocument::Exclusion exclusion;
    bool has[2] = {false, false};  // false, true
    for (const ordered_json& value : values) {
      const int64_t num_bytes =
          value.is_string() ? static_cast<int64_t>(value.get_ref<const std::string&>().size()) : 0;
      SHORTLIST_RETURN_IF_ERROR(document_.Spend(NumNodes(value) + num_bytes / 16));
      types &= ~TypeOf(value);
      if (value.is_string()) exclusion.texts.push_back(value.get<std::string>());
      if (value.is_boolean()) has[value.get<bool>()] = true;
    }
    Options options = {OfTypes(types, schema)};
    JsonTypes unknown = 0;
    if (!AddOtherNumbers(schema, values, options)) unknown |= kNumberType;
    if (!AddOtherStructures(schema, values, kArrayType, options)) unknown |= kArrayType;
    if (!AddOtherStructures(schema, values, kObjectType, options)) unknown |= kObjectType;
    if (unknown != 0) {
      options.push_back(OfTypes(unknown, schema));
      document_.Exclude(options.back()[0],
                        {.texts = {}, .pattern = {}, .integers = false, .has_no_grammar = true});
    }
    if (has[0] != has[1]) options.push_back(New({{"const", has[0]}}, schema));
    if (!exclusion.texts.empty()) {
      options.push_back(New({{"type", "string"}}, schema));
      document_.Exclude(options.back()[0], std::move(exclusion));
    }
    return options;
  }

  /// What any of `schemas` rejects.
  absl::StatusOr<Options> NegateAny(const ordered_json& schemas, int depth) {
    Options options;
    for (const ordered_json& schema : schemas) {
      SHORTLIST_ASSIGN_OR_RETURN(const Options rejected, Negate(&schema, depth + 1));
      SHORTLIST_RETURN_IF_ERROR(document_.Spend(static_cast<int64_t>(rejected.size())));
      options.insert(options.end(), rejected.begin(), rejected.end());
    }
    return options;
  }

  /// What all of `schemas` reject.
  absl::StatusOr<Options> NegateAll(Schema origin, const ordered_json& schemas, int depth) {
    Options options = {{}};
    for (const ordered_json& schema : schemas) {
      SHORTLIST_ASSIGN_OR_RETURN(const Options rejected, Negate(&schema, depth + 1));
      if (options.size() * rejected.size() > kMaxConjunctions) {
        return document_.Error(origin, "not", "has too many cases");
      }
      Options products;
      for (const Conjunction& left : options) {
        for (const Conjunction& right : rejected) {
          SHORTLIST_RETURN_IF_ERROR(
              document_.Spend(1 + static_cast<int64_t>((left.size() + right.size()) / 16)));
          products.push_back(left);
          products.back().insert(products.back().end(), right.begin(), right.end());
        }
      }
      options = std::move(products);
    }
    return options;
  }

  absl::StatusOr<Options> NegateRequired(Schema schema, const ordered_json& names) {
    SHORTLIST_RETURN_IF_ERROR(document_.Spend(4 * static_cast<int64_t>(names.size())));
    Options options;
    for (const ordered_json& name : names) {
      if (!name.is_string()) return document_.Error(schema, "required", "not a list of names");
      ordered_json properties = {{name.get<std::string>(), false}};
      options.push_back(New({{"type", "object"}, {"properties", std::move(properties)}}, schema));
    }
    return options;
  }

  /// Some property is there and is not as it has to be.
  absl::StatusOr<Options> NegateProperties(Schema schema, const ordered_json& properties) {
    Options options;
    for (const auto& [name, property] : properties.items()) {
      SHORTLIST_RETURN_IF_ERROR(document_.Spend(4 + NumNodes(property)));
      ordered_json wrong;
      wrong[name]["not"] = property;
      options.push_back(New({{"type", "object"},
                             {"properties", std::move(wrong)},
                             {"required", ordered_json::array({name})}},
                            schema));
    }
    return options;
  }

  absl::StatusOr<Options> NegateLimit(Schema schema, const std::string& keyword,
                                      const ordered_json& argument) {
    for (const Opposite& pair : kOpposites) {
      if (pair.keyword != keyword || !argument.is_number()) continue;
      ordered_json limit = argument;
      if (pair.step != 0) {
        SHORTLIST_ASSIGN_OR_RETURN(const int64_t count,
                                   CountOf(document_, schema, keyword.c_str(), 0));
        if (count + pair.step < 0) return Options{};
        limit = count + pair.step;
      }
      return Options{New({{"type", pair.type}, {pair.opposite, std::move(limit)}}, schema)};
    }
    return document_.Error(schema, keyword, "has no negation (`not`, `if` or `oneOf`)");
  }

  SchemaDocument& document_;
};

}  // namespace

absl::StatusOr<std::vector<Conjunction>> Negate(SchemaDocument& document, Schema schema) {
  return Negator(document).Negate(schema, 0);
}

}  // namespace shortlist
