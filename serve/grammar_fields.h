#ifndef SHORTLIST_SERVE_GRAMMAR_FIELDS_H_
#define SHORTLIST_SERVE_GRAMMAR_FIELDS_H_

#include <functional>
#include <memory>
#include <string>

#include "nlohmann/json.hpp"
#include "serve/http/json_fields.h"
#include "serve/shared_grammar.h"

namespace shortlist {

/// Reads what the output must follow from the members of a request. `ordered` returns them in the
/// order of its text; it is called if one of them is there: response_format (OpenAI, SGLang),
/// structured_outputs, guided_json, guided_regex, guided_choice, guided_grammar (vLLM),
/// json_schema, regex, ebnf, structural_tag (SGLang), json_schema, grammar (llama.cpp). Null:
/// nothing. Records an error for more than one of them, or for one that is not well formed.
std::shared_ptr<SharedGrammar> ReadGrammar(JsonFields& fields,
                                           const std::function<nlohmann::ordered_json()>& ordered);

/// Reads `format`, the value of the member `name`: {"type": "text"}, {"type": "json_object"},
/// {"type": "json_schema"} with a schema, in it (responses) or in its member json_schema (chat), or
/// a structural tag (`grammar/structural_tag.h`). Null: any text.
std::shared_ptr<SharedGrammar> ReadFormat(JsonFields& fields, const char* name,
                                          const nlohmann::ordered_json& format);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_GRAMMAR_FIELDS_H_
