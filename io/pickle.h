#ifndef SHORTLIST_IO_PICKLE_H_
#define SHORTLIST_IO_PICKLE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace shortlist {

/// One value of a pickle. Values refer to each other by index in Pickle::values.
struct PickleValue {
  enum class Kind : uint8_t {
    kNone,
    kBool,        // integer
    kInt,         // integer
    kFloat,       // real
    kString,      // text
    kGlobal,      // text, "module.name"
    kTuple,       // items
    kList,        // items
    kDict,        // items: key, value, key, value, ...; a repeated key is not removed
    kCall,        // items: the global, its arguments (a tuple)
    kPersistent,  // items: the id
  };
  Kind kind = Kind::kNone;
  int64_t integer = 0;
  double real = 0.0;
  std::string text;
  std::vector<int32_t> items;
};

/// The contents of a pickle as plain data: nothing in it is imported, called or executed. Lists and
/// dicts can contain themselves, so readers must not follow items without a bound.
struct Pickle {
  std::vector<PickleValue> values;
  int32_t root = 0;

  const PickleValue& at(int32_t index) const { return values[index]; }
};

/// Reads a protocol 2 pickle. Supports only the opcodes that occur in state dicts and lists of
/// numbers. It may name only the globals in `allowed_globals`. Calling collections.OrderedDict
/// without arguments gives an empty dict, any other call a kCall. Memory is linear in the length of
/// `bytes`, and nothing recurses. InvalidArgument names the byte, the opcode or the global that is
/// rejected.
absl::StatusOr<Pickle> ParsePickle(const std::string& bytes,
                                   std::span<const char* const> allowed_globals);

}  // namespace shortlist

#endif  // SHORTLIST_IO_PICKLE_H_
