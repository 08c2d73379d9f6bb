#ifndef SHORTLIST_GRAMMAR_EXPR_NODES_H_
#define SHORTLIST_GRAMMAR_EXPR_NODES_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "grammar/byte_set.h"
#include "grammar/expr_moves.h"
#include "grammar/expressions.h"

namespace shortlist {

constexpr int32_t Raw(ExprId id) { return static_cast<int32_t>(id); }
constexpr int32_t Raw(RuleId id) { return static_cast<int32_t>(id); }

inline constexpr ExprId kNothing{0};
inline constexpr ExprId kEmpty{1};
inline constexpr int64_t kUnknownLength = -1;

// Up to kText: without parts.
enum class ExprKind : uint8_t {
  kNothing,
  kEmpty,
  kBytes,     // a: index of the set, b: the byte if it is one, otherwise -1
  kText,      // a: offset in the text arena, b: length, at least 2, x: hash
  kSequence,  // a: first, not a sequence; b: second
  kChoice,    // a: offset in the array of options, b: their number, at least 2; none is a choice
  kRepeat,    // a: what is repeated, b: index of the maximum, x: minimum
  kBoth,      // a, b: ascending
  kExcept,    // a, without b
  kCall,      // a: rule
};

struct ExprNode {
  ExprKind kind = ExprKind::kNothing;
  bool calls_rule = false;
  uint8_t both_depth = 0;  // nested kBoth and kExcept
  int32_t a = 0, b = 0;
  int64_t x = 0;
  // kNoLimit: unproductive. kUnknownLength: it reaches a rule that has not passed Check(), or it is
  // a kBoth or kExcept that nobody has searched yet. Otherwise final.
  int64_t min_length = kUnknownLength;
  std::atomic<const ExprMoves*> moves = nullptr;  // null: not computed yet
};

/// Stores expressions, each once, and counts their memory. Adds what it is given, in whatever form;
/// `ExprNormalForm` decides the form. One thread at a time may add; any thread may read a node
/// whose id it received after the node was added.
class ExprNodes {
 public:
  static constexpr int64_t kNoLimit = Expressions::kNoLimit;

  explicit ExprNodes(int64_t max_bytes);

  const ExprNode& operator[](ExprId id) const { return NodeAt(Raw(id)); }
  ExprKind KindOf(ExprId id) const { return (*this)[id].kind; }
  bool IsNullable(ExprId id) const { return (*this)[id].min_length == 0; }
  bool IsDead(ExprId id) const { return (*this)[id].min_length == kNoLimit; }
  int32_t size() const { return size_; }

  // Of the kinds that carry data. References and views live until the next Add…().
  const ByteSet& SetOf(ExprId id) const { return sets_[(*this)[id].a]; }
  std::string_view TextOf(ExprId id) const;
  std::span<const ExprId> OptionsOf(ExprId id) const;
  int64_t MaxOf(ExprId id) const { return maxima_[(*this)[id].b]; }

  // Each returns the one node with this content; kNothing if there is no room.
  ExprId AddBytes(const ByteSet& set);
  /// `text` has at least two bytes.
  ExprId AddText(std::string_view text);
  /// The text `of` without its first `num_bytes`, at least two bytes.
  ExprId AddTextSuffix(ExprId of, int32_t num_bytes);
  ExprId AddChoice(std::span<const ExprId> options);
  ExprId AddRepeat(ExprId of, int64_t min, int64_t max);
  /// kSequence, kBoth, kExcept.
  ExprId AddPair(ExprKind kind, ExprId a, ExprId b);
  ExprId AddCall(RuleId rule);

  void SetMinLength(ExprId id, int64_t length) { NodeAt(Raw(id)).min_length = length; }
  void SetMoves(ExprId id, const ExprMoves* moves) {
    NodeAt(Raw(id)).moves.store(moves, std::memory_order_release);
  }

  /// Takes memory from the budget. False, and full from then on, if there is not enough.
  bool Charge(int64_t bytes);
  /// Counts work: about 0.1 µs a unit. Full from then on if it exceeds the latest limit.
  void CountWork(int64_t units) {
    if (work_left_.fetch_sub(units, std::memory_order_relaxed) < units) SetFull();
  }
  void LimitWork(int64_t units) { work_left_.store(units, std::memory_order_relaxed); }
  void SetFull() { full_.store(true, std::memory_order_relaxed); }
  bool is_full() const { return full_.load(std::memory_order_relaxed); }
  int64_t num_bytes() const { return num_bytes_.load(std::memory_order_relaxed); }

 private:
  static constexpr int kChunkBits = 10;

  // The content of a node, stored or not.
  struct Key {
    ExprKind kind;
    int32_t a = 0, b = 0;
    int64_t x = 0;
    int64_t max = 0;
    const ByteSet* set = nullptr;
    std::string_view text = {};
    std::span<const ExprId> options = {};
  };
  struct KeyHash {
    using is_transparent = void;
    const ExprNodes* nodes;
    size_t operator()(const Key& key) const;
    size_t operator()(ExprId id) const { return (*this)(nodes->KeyOf(id)); }
  };
  struct KeyEq {
    using is_transparent = void;
    const ExprNodes* nodes;
    static bool Equal(const Key& a, const Key& b);
    bool operator()(ExprId a, ExprId b) const { return a == b; }
    bool operator()(ExprId a, const Key& b) const { return Equal(nodes->KeyOf(a), b); }
  };

  ExprNode& NodeAt(int32_t index) const {
    return chunks_[index >> kChunkBits][index & ((1 << kChunkBits) - 1)];
  }
  Key KeyOf(ExprId id) const;
  std::optional<ExprId> Find(const Key& key);
  /// Appends a node; `extra_bytes`: memory that its content takes elsewhere.
  ExprId Append(ExprKind kind, int32_t a, int32_t b, int64_t x, int64_t extra_bytes);
  void SetProperties(ExprNode& node) const;
  void AddChild(ExprNode& node, ExprId child) const;

  const int64_t max_bytes_;
  std::atomic<int64_t> num_bytes_ = 0;
  std::atomic<int64_t> work_left_ = std::numeric_limits<int64_t>::max();
  std::atomic<bool> full_ = false;
  std::vector<std::unique_ptr<ExprNode[]>> chunks_;  // never resized, so that readers need no lock
  int32_t size_ = 0;
  absl::flat_hash_set<ExprId, KeyHash, KeyEq> ids_;
  std::vector<ByteSet> sets_;
  std::string texts_;
  std::vector<ExprId> options_;
  std::vector<int64_t> maxima_;
};

/// a + b and a * b of lengths; kNoLimit if either has none, otherwise below kNoLimit.
int64_t AddLengths(int64_t a, int64_t b);
int64_t MultiplyLength(int64_t length, int64_t times);

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_EXPR_NODES_H_
