#include "cli/session.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/counted.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "cli/prompts.h"
#include "cli/warnings.h"
#include "io/model_source.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/eagle3_config.h"
#include "nlohmann/json.hpp"
#include "runtime/decoding.h"
#include "runtime/grammars.h"
#include "text/chat/prompt_encoder.h"
#include "text/tokenizer.h"

namespace shortlist {

absl::StatusOr<std::unique_ptr<Session>> Session::Open(const RunFlags& flags) {
  std::unique_ptr<Session> session(new Session(flags));
  SHORTLIST_ASSIGN_OR_RETURN(session->models_, Models::Open(flags.models, session->pool_));
  PrintTokenizerWarnings(session->models_->model().path(), session->models_->tokenizer());
  session->TakeSamplingDefaults();
  SHORTLIST_RETURN_IF_ERROR(session->CompileGrammar());
  SHORTLIST_RETURN_IF_ERROR(session->EncodePrompts());
  SHORTLIST_RETURN_IF_ERROR(session->OpenBase());
  SHORTLIST_RETURN_IF_ERROR(session->models_->Load());
  for (const std::string& warning : session->models_->warnings()) PrintWarning(warning);
  session->NoteTaps();
  SHORTLIST_RETURN_IF_ERROR(session->OpenSketch());
  return session;
}

void Session::TakeSamplingDefaults() {
  const SamplingDefaults& defaults = models_->sampling();
  SamplingParams chosen = sampling_;
  chosen.temperature = defaults.do_sample ? 1.0 : 0.0;
  defaults.ApplyTo(chosen);
  for (size_t i = 0; i < kSamplingFields.size(); ++i) {
    const SamplingField& field = kSamplingFields[i];
    if (!flags_.given.sampling[i]) field.Set(sampling_, field.Get(chosen));
  }
  if (!flags_.given.max_new_tokens && defaults.max_new_tokens) {
    sampling_.max_new_tokens = *defaults.max_new_tokens;
  }
  for (const TokenId id : models_->stop_token_ids()) sampling_.stop_token_ids.push_back(id);
}

absl::Status Session::CompileGrammar() {
  constexpr int64_t kMaxGrammarBytes = 1 << 20;
  GrammarSpec spec;
  std::string flag;
  if (!flags_.json_schema_path.empty()) {
    flag = absl::StrCat("--json-schema ", flags_.json_schema_path);
    SHORTLIST_ASSIGN_OR_RETURN(const std::string text,
                               ReadFile(flags_.json_schema_path, kMaxGrammarBytes));
    SHORTLIST_RETURN_IF_ERROR(ParseJson(text, flag).status());
    spec = {.kind = GrammarSpec::Kind::kJsonSchema, .schema = ParseOrderedJson(text)};
  } else if (flags_.regex.has_value()) {
    flag = "--regex";
    spec = {.kind = GrammarSpec::Kind::kRegex, .text = *flags_.regex};
  } else if (!flags_.grammar_path.empty()) {
    flag = absl::StrCat("--grammar ", flags_.grammar_path);
    SHORTLIST_ASSIGN_OR_RETURN(spec.text, ReadFile(flags_.grammar_path, kMaxGrammarBytes));
    spec.kind = GrammarSpec::Kind::kEbnf;
  } else {
    return absl::OkStatus();
  }
  SHORTLIST_ASSIGN_OR_RETURN(grammars_, NewGrammarCompiler(*models_));
  absl::StatusOr<std::shared_ptr<const TokenConstraint>> grammar = grammars_->Compile(spec);
  if (!grammar.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": ", std::string(grammar.status().message())));
  }
  sampling_.grammar = *std::move(grammar);
  grammar_ = std::move(spec);
  return absl::OkStatus();
}

absl::Status Session::EncodePrompts() {
  std::vector<PromptRow> prompts;
  if (flags_.prompt.has_value()) {
    if (flags_.prompt->empty()) return absl::InvalidArgumentError("--prompt: the prompt is empty");
    prompts.push_back({*flags_.prompt, "--prompt", /*source=*/""});
  } else if (!flags_.prompts_path.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(prompts, ReadPrompts(flags_.prompts_path));
  }
  const PromptEncoder encoder(models_->tokenizer(), models_->config().vocab_size);
  const int64_t context_len = models_->config().context_len;
  for (PromptRow& prompt : prompts) {
    absl::StatusOr<std::vector<TokenId>> ids =
        encoder.Encode(std::move(prompt.text), {.parse_special = flags_.parse_special});
    if (!ids.ok()) {
      return absl::Status(ids.status().code(),
                          absl::StrCat(prompt.origin, ": ", ids.status().message()));
    }
    const auto num_tokens = static_cast<int64_t>(ids->size());
    if (num_tokens >= context_len) {
      return absl::InvalidArgumentError(absl::StrCat(
          prompt.origin, ": the prompt has ", Counted(num_tokens, "token"), ", a context of ",
          context_len, " has room for ", context_len - 1, " and one of output"));
    }
    requests_.push_back({std::move(prompt.origin), std::move(prompt.source), *std::move(ids)});
  }
  return absl::OkStatus();
}

absl::Status Session::OpenBase() {
  const int64_t vocab_size = models_->config().vocab_size;
  for (const auto& [flag, rows] : {std::pair("--dynamic-rows", flags_.dynamic_rows),
                                   std::pair("--dynamic-capacity", flags_.dynamic_capacity)}) {
    if (rows <= vocab_size) continue;
    return absl::InvalidArgumentError(absl::StrCat(flag, ": ", rows, " not in [0, ", vocab_size,
                                                   "], the size of the vocabulary"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(decoding_.base, models_->SelectBase(flags_.vocab));
  SHORTLIST_RETURN_IF_ERROR(flags_.sketch.Check(*base(), flags_.dynamic_rows));
  if (flags_.vocab.use_static_vocab && !flags_.vocab.custom_vocab_path.empty() &&
      flags_.vocab.static_vocab_ratio != VocabOptions().static_vocab_ratio) {
    std::cerr << "note: --custom-vocab-path wins over --static-vocab-ratio\n";
  }
  SHORTLIST_ASSIGN_OR_RETURN(decoding_.ladder, models_->SelectLadder(flags_.vocab));
  decoding_.num_shared_rows = flags_.dynamic_capacity;

  const bool is_full_head = base()->is_full_head() && ladder() == nullptr;
  if (flags_.sketch.rows() > 0 &&
      (!models_->has_draft() || (is_full_head && !flags_.sketch.alone))) {
    std::cerr << "note: --sketch and --sketch-rows have no effect "
              << (models_->has_draft() ? "with --vocab full" : "without a draft model") << "\n";
  }
  if (!models_->has_draft()) {
    if (!base()->is_full_head() || flags_.dynamic_rows > 0 || flags_.dynamic_capacity > 0) {
      std::cerr << "note: --vocab, --dynamic-rows and --dynamic-capacity have no effect without "
                   "a draft model\n";
    }
    if (flags_.models.quantize_draft) {
      std::cerr << "note: --quantize-draft has no effect without a draft model\n";
    }
    if (flags_.models.draft_taps) {
      std::cerr << "note: --draft-taps has no effect without a draft model\n";
    }
    if (flags_.models.device != Device::kCpu) {
      std::cerr << "note: --device cuda has no effect without a draft model\n";
    }
  } else if (ladder() != nullptr || (is_full_head && flags_.sketch.alone)) {
    // No note: the base may change while requests run.
  } else if (is_full_head) {
    if (flags_.dynamic_rows > 0 || flags_.dynamic_capacity > 0) {
      std::cerr << "note: --dynamic-rows and --dynamic-capacity have no effect with --vocab full\n";
    }
  } else if (base()->size() == base()->vocab_size()) {
    std::cerr << "note: --vocab selects the whole vocabulary, " << Counted(base()->size(), "token")
              << "\n";
  }
  return absl::OkStatus();
}

/// A choice that only the acceptance tells from a wrong one.
void Session::NoteTaps() const {
  const Eagle3Config* const head = models_->eagle3();
  if (head == nullptr || head->reads_output()) return;
  std::cerr << "note: --draft reads layer boundaries " << absl::StrJoin(head->taps, ", ")
            << " of the target (" << head->taps_reason << "; --draft-taps)\n";
}

absl::Status Session::OpenSketch() {
  SHORTLIST_RETURN_IF_ERROR(flags_.sketch.Open(*models_, decoding_));
  if (decoding_.learning != nullptr && !decoding_.learning->warning.empty()) {
    PrintWarning(decoding_.learning->warning);
  }
  if (decoding_.sketch_alone && !flags_.given.dynamic_rows) {
    flags_.dynamic_rows = std::min(SketchOptions::kTailRows, models_->config().vocab_size);
  }
  return absl::OkStatus();
}

int64_t Session::max_sequence_slots() const {
  int64_t longest_prompt = 0;
  for (const Request& request : requests_) {
    longest_prompt = std::max(longest_prompt, static_cast<int64_t>(request.token_ids.size()));
  }
  return std::min(models_->config().context_len,
                  longest_prompt + sampling_.max_new_tokens + flags_.decoding.num_draft_tokens);
}

}  // namespace shortlist
