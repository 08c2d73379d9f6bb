#ifndef SHORTLIST_RUNTIME_GRAMMARS_H_
#define SHORTLIST_RUNTIME_GRAMMARS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "grammar/grammar_compiler.h"
#include "runtime/models.h"

namespace shortlist {

/// Returns what compiles grammars for the target of `models`, which must outlive it. An output ends
/// with one of the model's end-of-text tokens or of `more_end_ids`. `shown_controls`: control
/// tokens that are part of an output's text, as they are spelled; others never follow.
/// Unimplemented for a tokenizer that decodes tokens together, as it cleans up spaces: what a token
/// adds is then not known.
absl::StatusOr<std::unique_ptr<GrammarCompiler>> NewGrammarCompiler(
    const Models& models, const std::vector<TokenId>& more_end_ids = {},
    const std::vector<TokenId>& shown_controls = {});

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_GRAMMARS_H_
