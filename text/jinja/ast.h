#ifndef SHORTLIST_TEXT_JINJA_AST_H_
#define SHORTLIST_TEXT_JINJA_AST_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace shortlist::jinja {

/// Maximum nesting of expressions and statements in a template. A chain such as a + b + c nests
/// too.
inline constexpr int kMaxTemplateDepth = 200;

enum class Operator {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn
};

struct Expr;
using ExprPtr = std::unique_ptr<const Expr>;

struct Expr {
  enum class Kind {
    kConstant,     // constant
    kName,         // name
    kList,         // children: the elements
    kTuple,        // children: the elements
    kDict,         // children: key, value, key, value, ...
    kAttribute,    // children[0].name
    kItem,         // children[0][children[1]]
    kSlice,        // children[0][children[1]:children[2]:children[3]], null where left out
    kCall,         // children[0](children[1], ..., *unpacked, named, **unpacked_named)
    kFilter,       // children[0] | name(children[1], ...), arguments as in kCall
    kTest,         // children[0] is name(children[1], ...), arguments as in kCall
    kNot,          // not children[0]
    kNegate,       // -children[0]
    kPlus,         // +children[0]
    kBinary,       // children[0] operators[0] children[1]
    kCompare,      // children[0] operators[0] children[1] operators[1] children[2] ...
    kConcat,       // children[0] ~ children[1] ~ ...
    kAnd,          // children[0] and children[1]
    kOr,           // children[0] or children[1]
    kConditional,  // children[1] if children[0] else children[2], which may be null
  };

  Kind kind = Kind::kConstant;
  int line = 0;
  int depth = 1;
  std::string name;
  Value constant;
  std::vector<Operator> operators;
  std::vector<ExprPtr> children;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr unpacked;        // may be null
  ExprPtr unpacked_named;  // may be null
};

/// The target of a set or for statement: a name, an attribute of a namespace, or several targets.
struct Target {
  std::string name;
  std::string attribute;  // empty for a plain name
  std::vector<Target> parts;
};

using Block = std::vector<Statement>;

/// The variable in which a filter block keeps the text of its body. No template can spell this
/// name.
inline constexpr const char* kBlockText = " block";

struct Statement {
  enum class Kind {
    kText,        // text
    kOutput,      // exprs[0]
    kIf,          // exprs: the conditions; bodies: one each, and that of else if there is one
    kFor,         // target, exprs: {iterated, condition or null}, bodies: {body, else}
    kSet,         // target, exprs[0]
    kSetBlock,    // target, bodies[0], exprs[0]: filters over kBlockText
    kFilter,      // bodies[0], exprs[0]: filters over kBlockText
    kMacro,       // name, parameters, exprs: their defaults or null, bodies[0]
    kWith,        // target.parts, exprs: the value of each part, bodies[0]
    kGeneration,  // bodies[0]: the assistant's text
    kBreak,
    kContinue
  };

  Kind kind = Kind::kText;
  int line = 0;
  Text text;
  std::string name;
  std::vector<std::string> parameters;
  // True for a macro whose body reads varargs or kwargs, which hold further arguments.
  bool takes_more = false;
  bool takes_more_named = false;
  Target target;
  std::vector<ExprPtr> exprs;
  std::vector<Block> bodies;
};

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_AST_H_
