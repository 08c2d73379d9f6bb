#include "io/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using Kind = PickleValue::Kind;

constexpr size_t kMaxValues = size_t{1} << 20;
constexpr int64_t kMaxGlobalBytes = 256;

/// The stack machine of Python's pickletools, with the opcodes supported here. A mark is a position
/// in the stack, not a value.
class Machine {
 public:
  Machine(const std::string& bytes, std::span<const char* const> allowed_globals)
      : bytes_(bytes), allowed_globals_(allowed_globals) {}

  absl::StatusOr<Pickle> Run() {
    bool stopped = false;
    while (!stopped) {
      opcode_at_ = at_;
      SHORTLIST_ASSIGN_OR_RETURN(const uint8_t opcode, Number<uint8_t>());
      SHORTLIST_RETURN_IF_ERROR(Step(opcode, stopped));
      if (pickle_.values.size() > kMaxValues) {
        return Bad(absl::StrCat("more than the ", kMaxValues, " values admitted here"));
      }
    }
    if (stack_.size() != 1 || !marks_.empty()) return Bad("does not end with one value");
    if (at_ != bytes_.size()) return Bad("goes on after its end");
    pickle_.root = stack_.back();
    return std::move(pickle_);
  }

 private:
  absl::Status Bad(const std::string& problem) const {
    return absl::InvalidArgumentError(absl::StrCat("pickle, byte ", opcode_at_, ": ", problem));
  }

  /// Reads the next little-endian number.
  template <typename T>
  absl::StatusOr<T> Number() {
    if (bytes_.size() - at_ < sizeof(T)) return Bad("cut short");
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  void Push(PickleValue value) {
    stack_.push_back(static_cast<int32_t>(pickle_.values.size()));
    pickle_.values.push_back(std::move(value));
  }
  void PushInt(int64_t value) { Push({.kind = Kind::kInt, .integer = value}); }

  /// Removes and returns the topmost `count` values, oldest first.
  absl::StatusOr<std::vector<int32_t>> Pop(size_t count) {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - floor < count) return Bad("takes a value from an empty stack");
    std::vector<int32_t> items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return items;
  }
  absl::StatusOr<std::vector<int32_t>> PopToMark() {
    if (marks_.empty()) return Bad("there is no mark");
    std::vector<int32_t> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()),
                               stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }

  absl::Status PushTuple(absl::StatusOr<std::vector<int32_t>> items) {
    if (!items.ok()) return items.status();
    Push({.kind = Kind::kTuple, .items = *std::move(items)});
    return absl::OkStatus();
  }

  /// Adds `items` to the list or dict on top.
  absl::Status Extend(Kind kind, absl::StatusOr<std::vector<int32_t>> items) {
    if (!items.ok()) return items.status();
    SHORTLIST_ASSIGN_OR_RETURN(const auto top, Pop(1));
    PickleValue& value = pickle_.values[top[0]];
    if (value.kind != kind) return Bad(kind == Kind::kList ? "no list" : "no dict");
    if (kind == Kind::kDict && items->size() % 2 != 0) return Bad("a key without a value");
    value.items.insert(value.items.end(), items->begin(), items->end());
    stack_.push_back(top[0]);
    return absl::OkStatus();
  }

  absl::Status PushGlobal() {
    std::string name;
    for (const char* part : {".", ""}) {
      const size_t end = bytes_.find('\n', at_);
      if (end == std::string::npos || end - at_ > kMaxGlobalBytes) {
        return Bad(
            absl::StrCat("the name of a global has no end within ", kMaxGlobalBytes, " bytes"));
      }
      absl::StrAppend(&name, bytes_.substr(at_, end - at_), part);
      at_ = end + 1;
    }
    if (std::find(allowed_globals_.begin(), allowed_globals_.end(), name) ==
        allowed_globals_.end()) {
      return Bad(absl::StrCat("names the global ", Quote(name),
                              ", which no list of tensors needs: refused"));
    }
    Push({.kind = Kind::kGlobal, .text = std::move(name)});
    return absl::OkStatus();
  }

  absl::Status Call() {
    SHORTLIST_ASSIGN_OR_RETURN(auto items, Pop(2));
    const PickleValue& callable = pickle_.at(items[0]);
    const PickleValue& arguments = pickle_.at(items[1]);
    if (callable.kind != Kind::kGlobal || arguments.kind != Kind::kTuple) {
      return Bad("calls what is not a global, or without a tuple");
    }
    if (callable.text == "collections.OrderedDict" && arguments.items.empty()) {
      Push({.kind = Kind::kDict});
    } else {
      Push({.kind = Kind::kCall, .items = std::move(items)});
    }
    return absl::OkStatus();
  }

  /// Drops the attributes of a module's state dict (its _metadata), which do not describe tensors.
  absl::Status DropState() {
    SHORTLIST_ASSIGN_OR_RETURN(const auto items, Pop(2));
    if (pickle_.at(items[0]).kind != Kind::kDict || pickle_.at(items[1]).kind != Kind::kDict) {
      return Bad("sets the state of what is not a dict");
    }
    stack_.push_back(items[0]);
    return absl::OkStatus();
  }

  absl::Status Memorize(uint32_t key) {
    if (stack_.empty()) return Bad("takes a value from an empty stack");
    memo_[key] = stack_.back();
    return absl::OkStatus();
  }
  absl::Status Recall(uint32_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) return Bad(absl::StrCat("nothing was stored under ", key));
    stack_.push_back(found->second);
    // Counted like a new value, so that the stack is bounded too.
    if (++num_recalls_ > kMaxValues) return Bad("too many references");
    return absl::OkStatus();
  }

  absl::Status PushString() {
    SHORTLIST_ASSIGN_OR_RETURN(const uint32_t length, Number<uint32_t>());
    if (length > bytes_.size() - at_) {
      return Bad(absl::StrCat("a string of ", length, " bytes, of which ", bytes_.size() - at_,
                              " are there"));
    }
    Push({.kind = Kind::kString, .text = bytes_.substr(at_, length)});
    at_ += length;
    return absl::OkStatus();
  }

  /// Pushes a two's complement integer, whose number of bytes is in the next byte.
  absl::Status PushLong() {
    SHORTLIST_ASSIGN_OR_RETURN(const uint8_t length, Number<uint8_t>());
    if (length > 8) return Bad(absl::StrCat("an integer of ", length, " bytes, more than 8"));
    uint64_t value = 0;
    for (int i = 0; i < length; ++i) {
      SHORTLIST_ASSIGN_OR_RETURN(const uint8_t byte, Number<uint8_t>());
      value |= static_cast<uint64_t>(byte) << (8 * i);
      const bool is_negative = i + 1 == length && (byte & 0x80) != 0;
      if (is_negative && length < 8) value |= ~uint64_t{0} << (8 * length);
    }
    PushInt(static_cast<int64_t>(value));
    return absl::OkStatus();
  }

  absl::Status PushFloat() {
    SHORTLIST_ASSIGN_OR_RETURN(const uint64_t bits, Number<uint64_t>());
    Push({.kind = Kind::kFloat, .real = std::bit_cast<double>(__builtin_bswap64(bits))});
    return absl::OkStatus();
  }

  template <typename T>
  absl::Status PushNumber() {
    SHORTLIST_ASSIGN_OR_RETURN(const T value, Number<T>());
    PushInt(value);
    return absl::OkStatus();
  }
  template <typename T>
  absl::Status UseMemo(absl::Status (Machine::*action)(uint32_t)) {
    SHORTLIST_ASSIGN_OR_RETURN(const T key, Number<T>());
    return (this->*action)(key);
  }

  absl::Status CheckProtocol() {
    SHORTLIST_ASSIGN_OR_RETURN(const uint8_t protocol, Number<uint8_t>());
    if (protocol == 2) return absl::OkStatus();
    return Bad(absl::StrCat("protocol ", protocol, "; only 2, which torch.save writes, is read"));
  }

  absl::Status Step(uint8_t opcode, bool& stopped) {
    switch (opcode) {
      case 0x80:
        return CheckProtocol();
      case '.':
        stopped = true;
        return absl::OkStatus();
      case '(':
        marks_.push_back(stack_.size());
        return absl::OkStatus();
      case 'N':
        Push({});
        return absl::OkStatus();
      case 0x88:
      case 0x89:
        Push({.kind = Kind::kBool, .integer = opcode == 0x88});
        return absl::OkStatus();
      case 'J':
        return PushNumber<int32_t>();
      case 'K':
        return PushNumber<uint8_t>();
      case 'M':
        return PushNumber<uint16_t>();
      case 0x8a:
        return PushLong();
      case 'G':
        return PushFloat();
      case 'X':
        return PushString();
      case 'c':
        return PushGlobal();
      case ')':
        return PushTuple(std::vector<int32_t>());
      case 0x85:
      case 0x86:
      case 0x87:
        return PushTuple(Pop(opcode - 0x84));
      case 't':
        return PushTuple(PopToMark());
      case ']':
        Push({.kind = Kind::kList});
        return absl::OkStatus();
      case 'a':
        return Extend(Kind::kList, Pop(1));
      case 'e':
        return Extend(Kind::kList, PopToMark());
      case '}':
        Push({.kind = Kind::kDict});
        return absl::OkStatus();
      case 's':
        return Extend(Kind::kDict, Pop(2));
      case 'u':
        return Extend(Kind::kDict, PopToMark());
      case 'R':
        return Call();
      case 'b':
        return DropState();
      case 'Q': {
        SHORTLIST_ASSIGN_OR_RETURN(auto id, Pop(1));
        Push({.kind = Kind::kPersistent, .items = std::move(id)});
        return absl::OkStatus();
      }
      case 'q':
        return UseMemo<uint8_t>(&Machine::Memorize);
      case 'r':
        return UseMemo<uint32_t>(&Machine::Memorize);
      case 'h':
        return UseMemo<uint8_t>(&Machine::Recall);
      case 'j':
        return UseMemo<uint32_t>(&Machine::Recall);
      default:
        return Bad(absl::StrFormat("opcode 0x%02x is not among the few that lists of tensors need",
                                   opcode));
    }
  }

  const std::string& bytes_;
  const std::span<const char* const> allowed_globals_;
  size_t at_ = 0;
  size_t opcode_at_ = 0;
  Pickle pickle_;
  std::vector<int32_t> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint32_t, int32_t> memo_;
  size_t num_recalls_ = 0;
};

}  // namespace

absl::StatusOr<Pickle> ParsePickle(const std::string& bytes,
                                   std::span<const char* const> allowed_globals) {
  return Machine(bytes, allowed_globals).Run();
}

}  // namespace shortlist
