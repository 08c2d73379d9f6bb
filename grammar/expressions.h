#ifndef SHORTLIST_GRAMMAR_EXPRESSIONS_H_
#define SHORTLIST_GRAMMAR_EXPRESSIONS_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/byte_set.h"
#include "grammar/expr_moves.h"

namespace shortlist {

/// A named expression of an `Expressions`, which may refer to itself.
enum class RuleId : int32_t {};

/// Expressions over bytes, each of which stands for a set of byte strings: a context-free grammar
/// whose states are expressions too. What may follow after a byte is again an expression, the
/// derivative (Brzozowski 1964; of context-free languages: Might, Darais, Spiewak 2011). So a
/// state is immutable, depends on the grammar and the bytes alone, and nothing is ever rolled back.
///
/// Expressions are hash-consed in a normal form: sequences associate to the right, choices are
/// sorted and distinct. Equal expressions have equal ids; unequal ids may stand for equal sets.
/// Repetitions count, they are never copied.
///
/// Grows while it is used, up to `max_bytes`; expressions live as long as this object. Thread-safe.
class Expressions {
 public:
  static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

  explicit Expressions(int64_t max_bytes = int64_t{64} << 20);
  ~Expressions();

  // Building. If there is no more room, the result is Nothing() and is_full() is true from then on.

  /// No string at all.
  ExprId Nothing() const;
  /// The empty string.
  ExprId Empty() const;
  /// One byte of `bytes`.
  ExprId Bytes(const ByteSet& bytes);
  ExprId Text(std::string_view text);
  /// A string of `first`, then one of `second`.
  ExprId Sequence(ExprId first, ExprId second);
  ExprId Sequence(std::span<const ExprId> parts);
  ExprId Choice(ExprId a, ExprId b);
  ExprId Choice(std::span<const ExprId> options);
  /// `min` to `max` strings of `of`; 0 <= min <= max, kNoLimit: any number.
  ExprId Repeat(ExprId of, int64_t min, int64_t max);
  ExprId Optional(ExprId of) { return Choice(Empty(), of); }
  /// The strings of both, and those of `a` that are not in `b`. Neither may call a rule (checked).
  ExprId Both(ExprId a, ExprId b);
  ExprId Except(ExprId a, ExprId b);

  /// A rule without a definition: Define() it before Check(). `name` is for messages.
  RuleId NewRule(std::string name);
  void Define(RuleId rule, ExprId as);
  ExprId Call(RuleId rule);

  // Using: all rules that `of` can reach must have passed Check().

  /// What is wrong with the rules that `start` can reach; empty: nothing. A rule may be
  /// left-recursive (its own first part, possibly behind empty parts), undefined, or the
  /// expressions are full.
  std::string Check(ExprId start);

  /// True if `of` contains the empty string.
  bool IsNullable(ExprId of) const;
  /// True if `of` contains any string.
  bool IsProductive(ExprId of) const;
  /// Length of the shortest string; kNoLimit if there is none.
  int64_t MinLength(ExprId of) const;
  /// The rest of the strings of `of` that begin with `byte`. Nothing() if no string goes on so: an
  /// expression that is not productive is never returned.
  ExprId After(ExprId of, uint8_t byte) { return MovesOf(of).After(byte); }
  /// Likewise for each of `bytes` in turn. Of a text it makes no states on the way.
  ExprId After(ExprId of, std::string_view bytes);
  /// After() for every byte. Lives as long as this object.
  const ExprMoves& MovesOf(ExprId of);
  /// The bytes with which a string of `of` can begin.
  ByteSet FirstBytes(ExprId of);

  // The form of an expression, for what is computed part by part.

  /// `of` is a string of `first`, then one of `rest`; `first` is no sequence. Empty() as `rest` if
  /// `of` is no sequence.
  struct Split {
    ExprId first, rest;
  };
  Split SplitSequence(ExprId of) const;
  /// The options of a choice, none of which is a choice; otherwise `of` alone.
  std::vector<ExprId> OptionsOf(ExprId of) const;
  /// The arguments of Repeat(); {of, 1, 1} if `of` is no repetition.
  struct Repetition {
    ExprId of;
    int64_t min, max;
  };
  Repetition RepetitionOf(ExprId of) const;
  /// The arguments of Both(), nullopt if `of` is no such.
  std::optional<std::pair<ExprId, ExprId>> BothOf(ExprId of) const;
  /// The first argument of Except(), `of` itself if it is no such.
  ExprId MinuendOf(ExprId of) const;
  /// The definition of the rule that `of` calls, `of` itself if it is no call.
  ExprId DefinitionOf(ExprId of) const;
  /// True if `of` or a part of it is a Call().
  bool CallsRule(ExprId of) const;
  /// True if `of` is Bytes() or Text(), or Nothing() or Empty().
  bool IsPlain(ExprId of) const;
  /// True if all strings of `of` begin with one Text(), which is the first of a sequence or `of`
  /// itself, and there is such a string.
  bool BeginsWithText(ExprId of) const;
  /// Copies the first bytes of that text, as many as there is room for, and returns its length.
  size_t CopyText(ExprId of, std::span<char> to) const;
  /// A text that is the same for the same form in every `Expressions`, and for no other. nullopt:
  /// `of` calls a rule, or the text is longer than 4 KiB.
  std::optional<std::string> FormOf(ExprId of) const;

  /// Limits the work until the next call, in units of about 0.1 µs: if more is needed, the
  /// expressions are full. A state with many ways to go on takes work in proportion. Without a call
  /// there is no limit.
  void LimitWork(int64_t units);

  bool is_full() const;
  int64_t num_bytes() const;  // of memory in use

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shortlist

#endif  // SHORTLIST_GRAMMAR_EXPRESSIONS_H_
