#ifndef SHORTLIST_GRAMMAR_GRAMMAR_SPEC_H_
#define SHORTLIST_GRAMMAR_GRAMMAR_SPEC_H_

#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace shortlist {

/// What an output must follow, as a request or a command line says it.
struct GrammarSpec {
  enum class Kind {
    kJsonSchema,    // `schema`; its properties come in its order
    kJsonObject,    // any JSON object
    kRegex,         // `text`, which matches the whole output
    kEbnf,          // `text`: GBNF of llama.cpp, or EBNF of SGLang and xgrammar
    kChoice,        // one of `choices`
    kStructuralTag  // `schema`: the document of a structural tag (`grammar/structural_tag.h`)
  };
  Kind kind = Kind::kJsonObject;
  nlohmann::ordered_json schema;
  std::string text;
  std::vector<std::string> choices;
  bool compact = false;  // no white space between the parts of JSON

  bool operator==(const GrammarSpec&) const = default;
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_GRAMMAR_SPEC_H_
