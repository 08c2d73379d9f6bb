#include "serve/grammar_fields.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "serve/sampling_fields.h"

namespace shortlist {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kMaxGrammarBytes = 1 << 20;
constexpr size_t kMaxChoiceTexts = 10'000;

/// Collects the one grammar of a request.
class Reader {
 public:
  Reader(JsonFields& fields, const ordered_json& ordered) : fields_(fields), ordered_(ordered) {}

  void ReadText(const char* name, GrammarSpec::Kind kind) {
    std::string text = fields_.String(name, "", kMaxGrammarBytes);
    if (!text.empty()) Set(name, {.kind = kind, .text = std::move(text)});
  }

  void ReadChoice(const char* name) {
    std::vector<std::string> choices = fields_.Strings(name, kMaxChoiceTexts, kMaxGrammarBytes);
    if (choices.empty()) return;
    Set(name, {.kind = GrammarSpec::Kind::kChoice, .choices = std::move(choices)});
  }

  /// A schema or a structural tag, or the text of one.
  void ReadDocument(const char* name, GrammarSpec::Kind kind) {
    const json* const value = fields_.Find(name);
    if (value == nullptr || *value == "") return;
    const std::optional<ordered_json> document = DocumentOf(fields_, name, ordered_[name]);
    if (document) Set(name, {.kind = kind, .schema = *document});
  }

  void ReadFormat(const char* name) {
    const json* const value = fields_.Find(name);
    if (value == nullptr) return;
    if (std::optional<GrammarSpec> spec = FormatOf(fields_, name, ordered_[name])) {
      Set(name, *std::move(spec));
    }
  }

  /// vLLM's object with one of these members.
  void ReadStructuredOutputs(const char* name) {
    const json* const value = fields_.Find(name);
    if (value == nullptr) return;
    JsonFields members(*value, absl::StrCat(name, "."));
    Reader nested(members, ordered_[name]);
    nested.ReadDocument("json", GrammarSpec::Kind::kJsonSchema);
    nested.ReadDocument("structural_tag", GrammarSpec::Kind::kStructuralTag);
    nested.ReadText("regex", GrammarSpec::Kind::kRegex);
    nested.ReadChoice("choice");
    nested.ReadText("grammar", GrammarSpec::Kind::kEbnf);
    if (members.Bool("json_object", false)) nested.Set("json_object", {});
    const bool compact = members.Bool("disable_any_whitespace", false);
    members.Refuse({"disable_additional_properties", "whitespace_pattern"}, "not supported");
    members.RefuseUnknown();
    fields_.Take(members.status());
    if (!nested.spec_)
      fields_.Fail(name, "json, regex, choice, grammar, json_object or structural_tag is wanted");
    if (!fields_.status().ok()) return;
    nested.spec_->compact = compact;
    Set(name, *std::move(nested.spec_));
  }

  static std::optional<GrammarSpec> FormatOf(JsonFields& fields, const char* name,
                                             const ordered_json& ordered);

  std::shared_ptr<SharedGrammar> Take() {
    if (!spec_ || !fields_.status().ok()) return nullptr;
    return std::make_shared<SharedGrammar>(*std::move(spec_), field_);
  }

 private:
  static std::optional<ordered_json> DocumentOf(JsonFields& fields, const std::string& name,
                                                const ordered_json& value) {
    if (!value.is_string()) return value;
    const std::string& text = value.get_ref<const std::string&>();
    if (text == "$$ANY$$") return ordered_json::object();  // SGLang: any JSON
    const absl::StatusOr<json> parsed = ParseJson(text, name);
    if (parsed.ok()) return ParseOrderedJson(text);
    fields.Fail(name, parsed.status());
    return std::nullopt;
  }

  void Set(const char* name, GrammarSpec spec) {
    if (spec_) return fields_.Fail(name, absl::StrCat("the output already follows ", field_));
    spec_ = std::move(spec);
    field_ = fields_.PlaceOf(name);
  }

  JsonFields& fields_;
  const ordered_json& ordered_;
  std::optional<GrammarSpec> spec_;
  std::string field_;
};

std::optional<GrammarSpec> Reader::FormatOf(JsonFields& fields, const char* name,
                                            const ordered_json& ordered) {
  const json format = ordered;
  JsonFields members(format, absl::StrCat(name, "."));
  const std::string type = members.String("type", "", kMaxNameBytes);
  std::optional<GrammarSpec> spec;
  if (members.status().ok() && type == "json_object") {
    // llama.cpp's and Together's form has a schema here.
    spec = members.Find("schema") == nullptr
               ? GrammarSpec{}
               : GrammarSpec{.kind = GrammarSpec::Kind::kJsonSchema, .schema = ordered["schema"]};
  } else if (members.status().ok() && type == "json_schema") {
    const bool is_nested = members.Find("json_schema") != nullptr;
    const json& object = is_nested ? format["json_schema"] : format;
    JsonFields nested(object, absl::StrCat(name, is_nested ? ".json_schema." : "."));
    nested.Accept({"type", "name", "description", "strict", "json_schema"});
    if (nested.Find("schema") == nullptr) nested.Fail("schema", "is missing");
    nested.RefuseUnknown();
    members.Accept({"name", "description", "strict", "schema"});
    if (nested.status().ok()) {
      const ordered_json& holder = is_nested ? ordered["json_schema"] : ordered;
      if (auto schema = DocumentOf(nested, "schema", holder["schema"])) {
        spec = {.kind = GrammarSpec::Kind::kJsonSchema, .schema = *std::move(schema)};
      }
    }
    members.Take(nested.status());
  } else if (members.status().ok() && type == "structural_tag") {
    members.Accept({"format", "structures", "triggers", "at_least_one", "stop_after_first"});
    spec = {.kind = GrammarSpec::Kind::kStructuralTag, .schema = ordered};
  } else if (members.status().ok() && type != "text") {
    members.Fail("type",
                 "\"text\", \"json_object\", \"json_schema\" and \"structural_tag\" are supported");
  }
  members.RefuseUnknown();
  fields.Take(members.status());
  return spec;
}

}  // namespace

std::shared_ptr<SharedGrammar> ReadGrammar(JsonFields& fields,
                                           const std::function<ordered_json()>& ordered) {
  constexpr const char* kNames[] = {"response_format", "structured_outputs",
                                    "structural_tag",  "json_schema",
                                    "regex",           "ebnf",
                                    "grammar",         "guided_json",
                                    "guided_regex",    "guided_choice",
                                    "guided_grammar"};
  fields.Accept({"guided_decoding_backend"});  // the output does not depend on it
  fields.Refuse({"guided_whitespace_pattern"}, "not supported");
  bool has_any = false;
  for (const char* const name : kNames) has_any |= fields.Find(name) != nullptr;
  if (!has_any) return nullptr;
  const ordered_json members = ordered();
  Reader reader(fields, members);
  reader.ReadFormat("response_format");
  reader.ReadStructuredOutputs("structured_outputs");
  reader.ReadDocument("structural_tag", GrammarSpec::Kind::kStructuralTag);
  for (const char* const name : {"json_schema", "guided_json"}) {
    reader.ReadDocument(name, GrammarSpec::Kind::kJsonSchema);
  }
  for (const char* const name : {"regex", "guided_regex"}) {
    reader.ReadText(name, GrammarSpec::Kind::kRegex);
  }
  for (const char* const name : {"ebnf", "grammar", "guided_grammar"}) {
    reader.ReadText(name, GrammarSpec::Kind::kEbnf);
  }
  reader.ReadChoice("guided_choice");
  return reader.Take();
}

std::shared_ptr<SharedGrammar> ReadFormat(JsonFields& fields, const char* name,
                                          const ordered_json& format) {
  std::optional<GrammarSpec> spec = Reader::FormatOf(fields, name, format);
  if (!spec || !fields.status().ok()) return nullptr;
  return std::make_shared<SharedGrammar>(*std::move(spec), name);
}

}  // namespace shortlist
