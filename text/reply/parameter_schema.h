#ifndef SHORTLIST_TEXT_REPLY_PARAMETER_SCHEMA_H_
#define SHORTLIST_TEXT_REPLY_PARAMETER_SCHEMA_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "text/reply/tag_format.h"
#include "text/reply/tool_types.h"

namespace shortlist {

/// An argument of a tool, and the schema of its values.
struct Parameter {
  std::string name;
  TagJson schema;  // a document of its own: contains what its references name
  TypeBits types = 0;
  bool is_required = false;

  bool may_be_string() const { return types == 0 || (types & kStringType) != 0; }
  bool must_be_string() const { return types == kStringType; }
};

/// Returns the names of all arguments that `schema`, that of a tool's arguments, lists.
std::vector<std::string> ArgumentNames(const TagJson& schema);

/// Returns the parameters that `schema` lists.
std::vector<Parameter> ParametersOf(const TagJson& schema);

/// InvalidArgument, naming the keyword, if more than a list of parameters limits the arguments, or
/// if the documents of all parameters would be too large.
absl::Status CheckArgumentsSchema(const TagJson& schema);

/// Returns `part` of the document `root` as a document of its own. A schema that is only a
/// reference is replaced by what the reference names.
TagJson DocumentOf(const TagJson& part, const TagJson& root);

/// True if `schema` has no keywords besides annotations and `others`.
bool HasOnly(const TagJson& schema, std::vector<std::string_view> others);

/// True if `schema` accepts every value of its types. False if that is not seen at once.
bool AcceptsWholeTypes(const TagJson& schema, int depth = 0);

/// Returns the schema of the strings that `schema` accepts, and that of its other values.
TagJson StringsOnly(const TagJson& schema);
TagJson WithoutStrings(const TagJson& schema);

/// Returns the texts of a schema that is an "enum" or "const" of strings; empty: it is none.
std::vector<std::string> FixedTexts(const TagJson& schema);

/// The same of `schema` and its alternatives, and the strings of an "enum" of several types.
std::vector<std::string> FixedTextsWithin(const TagJson& schema, int depth = 0);

/// Returns the alternatives of a schema that is only an "anyOf" of at most 16 or a list of types,
/// each a document of its own; empty: it is none.
std::vector<TagJson> AlternativesOf(const TagJson& schema);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_REPLY_PARAMETER_SCHEMA_H_
