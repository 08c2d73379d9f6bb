#include "grammar/head_cache.h"

#include <optional>
#include <utility>

namespace shortlist {

template <typename Compute>
std::shared_ptr<const HeadTokens> HeadCache::FindOrAdd(char kind, ExprId id,
                                                       Expressions& expressions, Compute compute) {
  std::optional<std::string> form = expressions.FormOf(id);
  if (!form.has_value()) return compute();
  form->push_back(kind);
  if (auto found = heads_.Find(*form); found != nullptr) return found;
  std::shared_ptr<const HeadTokens> head = compute();
  // Full expressions have lost some tokens.
  if (expressions.is_full()) return head;
  const int64_t num_bytes = head->num_bytes() + static_cast<int64_t>(2 * form->size()) + 128;
  heads_.Add(*form, head, num_bytes);
  return head;
}

std::shared_ptr<const HeadTokens> HeadCache::HeadOf(ExprId first, Expressions& expressions) {
  return FindOrAdd('h', first, expressions,
                   [&] { return HeadTokens::Of(first, *trie_, expressions); });
}

std::shared_ptr<const HeadTokens> HeadCache::RepetitionsOf(ExprId of, Expressions& expressions) {
  return FindOrAdd('r', of, expressions,
                   [&] { return HeadTokens::OfRepetitions(of, *trie_, expressions); });
}

}  // namespace shortlist
