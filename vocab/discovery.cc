#include "vocab/discovery.h"

namespace shortlist {

void ExtendTail(const Discovered& found, int64_t continuation_rows, const ActiveVocab& active,
                RequestTail& tail, CountsBySource& added) {
  constexpr int64_t kAll = INT64_MAX;
  const struct {
    RowSource source;
    std::span<const TokenId> ids;
    int64_t budget;
  } kSources[] = {{RowSource::kContinuations, found.continuations, continuation_rows},
                  {RowSource::kPrefix, found.prefix, kAll},
                  {RowSource::kPrompt, found.prompt, kAll},
                  {RowSource::kGiven, found.given, kAll},
                  {RowSource::kOutput, found.output, kAll}};
  for (const auto& of : kSources) {
    if (of.ids.empty()) continue;
    added[Index(of.source)] += tail.Add(of.ids, active, of.source, of.budget);
  }
}

}  // namespace shortlist
