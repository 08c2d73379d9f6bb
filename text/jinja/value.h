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

/// Maximum nesting of lists; bounds every recursion over a value.
inline constexpr int kMaxValueDepth = 100;
/// Maximum bytes of one value, counting each part as often as it is reached. A list that holds
/// another list twice, many levels deep, is small in memory but endless in print.
inline constexpr int64_t kMaxValueBytes = int64_t{256} << 20;

class Value;
struct List;
struct Dict;
struct Namespace;
struct Loop;
struct Function;
struct Generator;

/// The value of a missing variable, key or attribute. Prints as nothing, is false, has no elements;
/// any other use fails with the message `what`.
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

/// A value of the template language, cheap to copy. Immutable, except for a Namespace, and for a
/// Generator, which can be read once.
class Value {
 public:
  Value() : Value(None{}) {}
  // Implicit conversions on purpose: an interpreter's results are values.
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
  /// Returns a list; InvalidArgument beyond kMaxValueDepth or kMaxValueBytes.
  static absl::StatusOr<Value> MakeList(std::vector<Value> items, ListKind kind = ListKind::kList);
  /// Returns a range; `items` are its elements from `start` on, `step` apart, before `stop`.
  static absl::StatusOr<Value> MakeRange(std::vector<Value> items, int64_t start, int64_t stop,
                                         int64_t step);
  /// Returns a view of the keys, values or pairs of `dict`, as `kind` says.
  static absl::StatusOr<Value> MakeView(const Value& dict, ListKind kind);
  static absl::StatusOr<Value> MakeDict(Dict dict);
  /// Returns a generator that yields `items` and then `end` (an error or OK). `type` is Python's
  /// name of its type, a literal.
  static absl::StatusOr<Value> MakeGenerator(std::vector<Value> items, absl::Status end = {},
                                             const char* type = "generator");

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool Is(Kind kind) const { return this->kind() == kind; }

  // Each accessor requires its kind.
  bool boolean() const { return std::get<bool>(data_); }
  int64_t integer() const { return std::get<int64_t>(data_); }
  double real() const { return std::get<double>(data_); }
  const Text& text() const { return *std::get<std::shared_ptr<const Text>>(data_); }
  const std::string& bytes() const { return text().bytes(); }
  /// True for a list that can be indexed; a view cannot.
  bool IsSequence() const;
  const List& list() const { return *std::get<std::shared_ptr<const List>>(data_); }
  const Dict& dict() const { return *std::get<std::shared_ptr<const Dict>>(data_); }
  Namespace& name_space() const { return *std::get<std::shared_ptr<Namespace>>(data_); }
  const Loop& loop() const { return *std::get<std::shared_ptr<const Loop>>(data_); }
  const Function& function() const { return *std::get<std::shared_ptr<const Function>>(data_); }
  Generator& generator() const { return *std::get<std::shared_ptr<Generator>>(data_); }
  const std::string& undefined_what() const { return *std::get<Undefined>(data_).what; }

  /// Returns a bool or an int as an integer, since Python computes with both.
  std::optional<int64_t> AsInt() const;
  /// Returns any number.
  std::optional<double> AsFloat() const;

  /// Python's bool().
  bool IsTrue() const;
  /// Python's name of the type, such as "str".
  const char* TypeName() const;
  /// Nesting and bytes, for kMaxValueDepth and kMaxValueBytes.
  int depth() const;
  int64_t deep_bytes() const;
  /// Bytes of a text, or of a list or dictionary without the contents of its elements.
  int64_t own_bytes() const;
  /// True for the same object, as Python's `is`; never true for two numbers.
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
  Value dict = {};                    // for a view: the dictionary that it views
  std::array<int64_t, 3> range = {};  // for a range: start, stop, step
  int depth = 1;
  int64_t deep_bytes = 0;

  bool is_view() const { return kind >= ListKind::kKeys; }
};

/// Keys in the order of their first insertion: texts, numbers, bools or None.
struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  std::unordered_map<std::string_view, size_t> index;  // of text keys, whose bytes it views
  int depth = 1;
  int64_t deep_bytes = 0;

  /// Returns nullptr if the key is absent.
  const Value* Find(std::string_view key) const;
  const Value* FindKey(const Value& key) const;
  void Set(Value key, Value value);
};

/// namespace(): the only object that a template can change in place.
struct Namespace {
  std::unordered_map<std::string, Value> attributes;
};

/// An iterator of Python, the result of several filters: true for any contents, without a length,
/// and empty after it has been read. Its elements are computed when it is created. If one of them
/// fails, the error is reported where Python would compute that element.
struct Generator {
  std::vector<Value> items;
  absl::Status end;  // after the items
  const char* type = "";
  size_t num_given = 0;  // items that Next() has returned
  int depth = 1;
  int64_t deep_bytes = 0;

  /// Returns the next element; nullopt after the last one.
  absl::StatusOr<std::optional<Value>> Next();
};

/// The elements of a for statement, as far as they are known.
struct LoopItems {
  std::vector<Value> values;
  /// Appends a value, or returns false after the last one; empty: all values are present.
  std::function<absl::StatusOr<bool>()> pull;
  std::optional<std::vector<Value>> last_changed;  // arguments of the last loop.changed call

  /// True if there is a value at `index`; pulls as many values as needed.
  absl::StatusOr<bool> Has(size_t index);
  /// Returns the number of values; pulls all.
  absl::StatusOr<size_t> Count();
};

/// `loop` within one iteration of a for statement.
struct Loop {
  std::shared_ptr<LoopItems> items;
  size_t index0 = 0;
};

struct Statement;

/// A macro, a function of the language, or a method of a value.
struct Function {
  const Statement* macro = nullptr;
  std::string name;
  Value receiver;  // for a method; undefined otherwise
};

/// Returns InvalidArgument if `text` is too_long().
absl::Status CheckLength(const Text& text);

/// Python's ==, including lists and dictionaries.
bool Equal(const Value& a, const Value& b);

/// Python's <, which means "proper subset of" for views of keys and of items. InvalidArgument for
/// kinds that Python does not order.
absl::StatusOr<bool> Less(const Value& a, const Value& b);

/// Returns the elements that a for statement iterates over: elements, keys, code points, the rest
/// of a generator (which is empty afterwards), nothing for undefined. InvalidArgument for other
/// kinds and for a text of more than a million code points; the error of a generator.
absl::StatusOr<std::vector<Value>> Items(const Value& value);

/// Reads the elements of a value one by one.
class Source {
 public:
  explicit Source(const Value& value) : value_(value) {}
  /// Returns the next element of Items(), or nullopt after the last one. Reads only one element of
  /// a generator. Returns the errors of Items().
  absl::StatusOr<std::optional<Value>> Next();

 private:
  Value value_;
  std::optional<std::vector<Value>> items_;
  size_t num_given_ = 0;
};

/// Converts JSON to a value; all text is content. InvalidArgument names text that is not UTF-8, an
/// integer beyond 64 bits signed, or nesting beyond kMaxValueDepth.
absl::StatusOr<Value> FromJson(const nlohmann::ordered_json& json);

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_VALUE_H_
