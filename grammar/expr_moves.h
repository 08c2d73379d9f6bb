#ifndef SHORTLIST_GRAMMAR_EXPR_MOVES_H_
#define SHORTLIST_GRAMMAR_EXPR_MOVES_H_

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace shortlist {

/// An expression of an `Expressions`: a set of byte strings.
enum class ExprId : int32_t {};

/// Classes of bytes that lead to the same state. Shared by all states with the same classes.
struct ByteClasses {
  std::array<uint8_t, 256> class_of{};
  int num_classes = 1;
  std::vector<uint8_t> bytes{};  // [num_classes] one of each class, in an ExprMoves

  bool operator==(const ByteClasses& other) const { return class_of == other.class_of; }
  template <typename H>
  friend H AbslHashValue(H h, const ByteClasses& classes) {
    return H::combine(std::move(h), classes.class_of);
  }
};

/// What follows an expression after each byte.
struct ExprMoves {
  const ByteClasses* classes;
  const ExprId* targets;  // [classes->num_classes], none of them dead

  ExprId After(uint8_t byte) const { return targets[classes->class_of[byte]]; }
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_EXPR_MOVES_H_
