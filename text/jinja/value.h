#ifndef SHORTLIST_TEXT_JINJA_VALUE_H_
#define SHORTLIST_TEXT_JINJA_VALUE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "text/jinja/text.h"

namespace shortlist::jinja {

/// Lists within lists; bounds every recursion over a value.
inline constexpr int kMaxValueDepth = 100;
/// Bytes of one value, each part counted as often as it is reached: a list that holds another twice
/// over, many levels deep, is small in memory and endless in print.
inline constexpr int64_t kMaxValueBytes = int64_t{256} << 20;

class Value;
struct List;
struct Dict;
struct Namespace;
struct Loop;
struct Function;
struct Generator;

/// What a missing variable, key or attribute gives. Prints as nothing, is false, has no elements;
/// whatever else is asked of it fails with `what`.
struct Undefined {
  std::shared_ptr<const std::string> what;
};
struct None {};

/// The Python type of a sequence. The last three are views of a dictionary.
enum class ListKind { kList, kTuple, kRange, kKeys, kValues, kItems };

enum class Kind {
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kText,
  kList,
  kDict,
  kNamespace,
  kLoop,
  kFunction,
  kGenerator
};

/// A value of the template language, cheap to copy. Everything is immutable but a Namespace, and a
/// Generator, which may be gone through once.
class Value {
 public:
  Value() : Value(None{}) {}
  // Conversions on purpose: an interpreter's results are values.
  // NOLINTBEGIN(google-explicit-constructor)
  Value(None none) : data_(none) {}
  Value(bool value) : data_(value) {}
  Value(int64_t value) : data_(value) {}
  Value(double value) : data_(value) {}
  Value(Text text);
  Value(Undefined undefined) : data_(std::move(undefined)) {}
  Value(std::shared_ptr<Namespace> value) : data_(std::move(value)) {}
  Value(std::shared_ptr<const Loop> value) : data_(std::move(value)) {}
  Value(std::shared_ptr<const Function> value) : data_(std::move(value)) {}
  Value(std::shared_ptr<Generator> value) : data_(std::move(value)) {}
  // NOLINTEND(google-explicit-constructor)

  static Value MakeUndefined(std::string what);
  /// InvalidArgument past kMaxValueDepth or kMaxValueBytes.
  static absl::StatusOr<Value> MakeList(std::vector<Value> items, ListKind kind = ListKind::kList);
  /// The elements from `start` on, `step` apart, before `stop`.
  static absl::StatusOr<Value> MakeRange(std::vector<Value> items, int64_t start, int64_t stop,
                                         int64_t step);
  /// Keys, values or pairs of `dict`, as `kind` says.
  static absl::StatusOr<Value> MakeView(const Value& dict, ListKind kind);
  static absl::StatusOr<Value> MakeDict(Dict dict);
  /// Gives `items` and then `end`, an error or OK; `type` is Python's name of it, a literal.
  static absl::StatusOr<Value> MakeGenerator(std::vector<Value> items, absl::Status end = {},
                                             const char* type = "generator");

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool Is(Kind kind) const { return this->kind() == kind; }

  // Each needs its kind.
  bool boolean() const { return std::get<bool>(data_); }
  int64_t integer() const { return std::get<int64_t>(data_); }
  double real() const { return std::get<double>(data_); }
  const Text& text() const { return *std::get<std::shared_ptr<const Text>>(data_); }
  const std::string& bytes() const { return text().bytes(); }
  /// True for a list that can be indexed: a view cannot.
  bool IsSequence() const;
  const List& list() const { return *std::get<std::shared_ptr<const List>>(data_); }
  const Dict& dict() const { return *std::get<std::shared_ptr<const Dict>>(data_); }
  Namespace& name_space() const { return *std::get<std::shared_ptr<Namespace>>(data_); }
  const Loop& loop() const { return *std::get<std::shared_ptr<const Loop>>(data_); }
  const Function& function() const { return *std::get<std::shared_ptr<const Function>>(data_); }
  Generator& generator() const { return *std::get<std::shared_ptr<Generator>>(data_); }
  const std::string& undefined_what() const { return *std::get<Undefined>(data_).what; }

  /// A bool or an int, as Python counts with both.
  std::optional<int64_t> AsInt() const;
  /// Any number.
  std::optional<double> AsFloat() const;

  /// Python's bool().
  bool IsTrue() const;
  /// Python's name of the type, such as "str".
  const char* TypeName() const;
  /// Nesting and bytes, for the bounds above.
  int depth() const;
  int64_t deep_bytes() const;
  /// Bytes of a text, or of a list or dictionary without what its elements hold.
  int64_t own_bytes() const;
  /// True for the same object, as Python's `is` has it; a number never is.
  bool SameObject(const Value& other) const {
    return data_.index() == other.data_.index() && address() == other.address();
  }

 private:
  static absl::StatusOr<Value> Wrap(List list);
  const void* address() const;

  // In the order of Kind.
  std::variant<Undefined, None, bool, int64_t, double, std::shared_ptr<const Text>,
               std::shared_ptr<const List>, std::shared_ptr<const Dict>, std::shared_ptr<Namespace>,
               std::shared_ptr<const Loop>, std::shared_ptr<const Function>,
               std::shared_ptr<Generator>>
      data_;
};

struct List {
  std::vector<Value> items = {};
  ListKind kind = ListKind::kList;
  Value dict = {};                    // of a view: what it views
  std::array<int64_t, 3> range = {};  // of a range: start, stop, step
  int depth = 1;
  int64_t deep_bytes = 0;

  bool is_view() const { return kind >= ListKind::kKeys; }
};

/// Keys in the order in which they came first: texts, numbers, bools or none.
struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  std::unordered_map<std::string_view, size_t> index;  // of text keys, whose bytes it views
  int depth = 1;
  int64_t deep_bytes = 0;

  /// nullptr when absent.
  const Value* Find(std::string_view key) const;
  const Value* FindKey(const Value& key) const;
  void Set(Value key, Value value);
};

/// namespace(): the one thing that a template can change in place.
struct Namespace {
  std::unordered_map<std::string, Value> attributes;
};

/// An iterator of Python, which several filters give: true whatever is in it, without a length, and
/// empty after it has been gone through. Its elements are computed when it is made; an error that
/// one of them makes comes where Python would compute that element.
struct Generator {
  std::vector<Value> items;
  absl::Status end;  // after the items
  const char* type = "";
  size_t num_given = 0;  // items that Next has given
  int depth = 1;
  int64_t deep_bytes = 0;

  /// The next element; nullopt behind the last one.
  absl::StatusOr<std::optional<Value>> Next();
};

/// What a for statement goes through, as far as it is known.
struct LoopItems {
  std::vector<Value> values;
  /// Appends a value, or returns false behind the last one; empty: all values are there.
  std::function<absl::StatusOr<bool>()> pull;
  std::optional<std::vector<Value>> last_changed;  // what loop.changed was called with last

  /// Whether there is a value at `index`; pulls what it takes to know that.
  absl::StatusOr<bool> Has(size_t index);
  /// How many there are; pulls all.
  absl::StatusOr<size_t> Count();
};

/// `loop` within one round of a for statement.
struct Loop {
  std::shared_ptr<LoopItems> items;
  size_t index0 = 0;
};

struct Statement;

/// A macro, a function of the language, or a method of a value.
struct Function {
  const Statement* macro = nullptr;
  std::string name;
  Value receiver;  // of a method; undefined otherwise
};

/// InvalidArgument for a text that had to stop growing.
absl::Status CheckLength(const Text& text);

/// Python's ==, over lists and dictionaries too.
bool Equal(const Value& a, const Value& b);

/// Python's <, which of views of keys and of items is "proper subset of". InvalidArgument for kinds
/// that it does not order.
absl::StatusOr<bool> Less(const Value& a, const Value& b);

/// What a for statement goes through: elements, keys, code points, what is left of a generator
/// (which then is empty); nothing for undefined. InvalidArgument for the rest, and past a million;
/// the error of a generator.
absl::StatusOr<std::vector<Value>> Items(const Value& value);

/// One element of a value after the other.
class Source {
 public:
  explicit Source(const Value& value) : value_(value) {}
  /// Those of Items, but of a generator only the one that is asked for; nullopt behind the last
  /// one. The same errors.
  absl::StatusOr<std::optional<Value>> Next();

 private:
  Value value_;
  std::optional<std::vector<Value>> items_;
  size_t num_given_ = 0;
};

/// The JSON's value; all text is content. InvalidArgument names what is not UTF-8, an integer
/// beyond 64 bits signed, or nesting past kMaxValueDepth.
absl::StatusOr<Value> FromJson(const nlohmann::ordered_json& json);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_VALUE_H_
