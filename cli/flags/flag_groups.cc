#include "cli/flags/flag_groups.h"

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/flags/flag_kinds.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxDraftTokens = 64;

// Headings of --help.
constexpr char kModelTopic[] = "Models";
constexpr char kVocabTopic[] = "Rows that a draft step scores";
constexpr char kDraftTopic[] = "Drafting";

/// Adds a flag for each field of VocabOptions, as an alternative to --vocab.
void AddStaticVocabFlags(CLI::App& command, RunFlags& flags) {
  VocabOptions& options = flags.vocab;
  CLI::Option* const use =
      command.add_flag("--use-static-vocab", options.use_static_vocab,
                       "In place of --vocab: a share of the vocabulary, or a list");
  use->each([&flags](const std::string&) {
    flags.given.vocab = true;
    flags.sketch.alone = false;
  });
  use->excludes(command.get_option("--vocab"));
  AddReal(command, "--static-vocab-ratio", options.static_vocab_ratio, 0.0, 1.0, Low::kExcluded,
          "With --use-static-vocab: the first ids, as many as make up this share")
      ->needs(use);
  command
      .add_option("--custom-vocab-path", options.custom_vocab_path,
                  "With --use-static-vocab: a list, which wins over the ratio")
      ->needs(use)
      ->type_name("FILE");
}

/// Adds flags for the rows that a draft step scores.
void AddVocabFlags(CLI::App& command, RunFlags& flags) {
  const FlagTopic topic(command, kVocabTopic);
  auto parse_vocab = [&flags](const std::string& text) {
    absl::StatusOr<VocabOptions> options = ParseVocabFlag(text);
    if (!options.ok()) {
      throw CLI::ValidationError("--vocab", std::string(options.status().message()));
    }
    flags.vocab = *std::move(options);
    flags.given.vocab = true;
    flags.sketch.alone = false;
  };
  command
      .add_option_function<std::string>(
          "--vocab", parse_vocab,
          "Base of the active vocabulary; without it a sketch chooses the rows, which is fitted "
          "while the draft runs and kept in the user's cache")
      ->type_name(
          "full|empty|ratio:R|FILE[:top=N|:ratio=R|:coverage=C|:auto[=MIN..MAX]][:successors=M]");
  AddStaticVocabFlags(command, flags);
  AddInteger<int64_t>(command, "--dynamic-rows", flags.dynamic_rows, 0, kMaxCount,
                      "Rows that prompt tokens and escapes of one request may add")
      ->each([&flags](const std::string&) { flags.given.dynamic_rows = true; })
      ->default_str(absl::StrCat("0; without --vocab ", SketchOptions::kTailRows));
  AddInteger<int64_t>(command, "--dynamic-capacity", flags.dynamic_capacity, 0, kMaxCount,
                      "Rows of the part that requests share, which learns from all of them")
      ->each([&flags](const std::string&) { flags.given.dynamic_capacity = true; })
      ->default_str("0; of serve and chat: as --dynamic-rows");
  AddInteger<int64_t>(
      command, "--continuation-rows", flags.decoding.continuation_rows, 0, 1 << 20,
      "Of --dynamic-rows, those for tokens that followed the same prefix in other requests");
  AddReal(command, "--coverage-floor", flags.decoding.coverage_floor, 0.0, 1.0, Low::kIncluded,
          "A request is drafted for with the full head while less than this share of its latest "
          "tokens is in its active vocabulary; 0: never");
}

void AddSketchFlags(CLI::App& command, RunFlags& flags) {
  const FlagTopic topic(command, kVocabTopic);
  command
      .add_option(
          "--sketch", flags.sketch.path,
          "Sketch of the draft's head (shortlist vocab sketch): rows that every draft token "
          "adds by its hidden state")
      ->type_name("FILE");
  auto parse_sketch_rows = [&flags](const std::string& text) {
    if (const absl::Status status = flags.sketch.ParseRows(text); !status.ok()) {
      throw CLI::ValidationError("--sketch-rows", std::string(status.message()));
    }
  };
  command
      .add_option_function<std::string>(
          "--sketch-rows", parse_sketch_rows,
          "How many of them; of a range, whatever is fastest, measured while it runs; without "
          "--sketch by a sketch of the head alone, and without --vocab by the one that is fitted")
      ->type_name("N|MIN..MAX")
      ->default_str(absl::StrCat(kDefaultSketchRows, " with --sketch, else ",
                                 SketchOptions::kAloneRows, " without --vocab, else 0"));
}

void AddDraftFlags(CLI::App& command, RunFlags& flags) {
  const FlagTopic topic(command, kDraftTopic);
  AddInteger<int64_t>(command, "--num-draft-tokens", flags.decoding.num_draft_tokens, 1,
                      kMaxDraftTokens, "Most draft tokens per step, without the bonus token");
  auto parse_p_min = [&flags](const std::string& text) {
    const std::optional<double> least = ParseNumber<double>(text);
    const bool fits = least && *least >= 0.0 && *least <= 1.0;  // NaN does not
    if (!fits && text != "auto") RefuseFlag("--draft-p-min", text, "[0, 1] and is not auto");
    flags.decoding.draft_p_min = least;
  };
  command
      .add_option_function<std::string>(
          "--draft-p-min", parse_p_min,
          "auto: draft on while a token is worth what it costs here, as measured, and not at all "
          "where drafting does not pay; a number: while the target is likely to take all tokens of "
          "this step, by at least this forecast; 0 drafts --num-draft-tokens always")
      ->type_name("X|auto")
      ->default_str("auto");
  AddChoice<bool>(
      command, "--suffix-drafts", flags.decoding.suffix_drafts, {{"on", true}, {"off", false}},
      "Draft on with what followed the same tokens earlier, in the request's text or in "
      "outputs of its client")
      ->default_str("on");
}

/// Parses layer boundaries, separated by commas.
std::vector<int64_t> ParseTaps(const std::string& text) {
  constexpr int64_t kMost = 1024;
  constexpr size_t kMostTaps = 64;
  std::vector<int64_t> taps;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(text, ','))) {
    const std::optional<int64_t> tap = ParseNumber<int64_t>(part);
    if (!tap || *tap < 0 || *tap > kMost || taps.size() == kMostTaps) {
      RefuseFlag("--draft-taps", text,
                 absl::StrCat("[0, ", kMost, "], 1 to ", kMostTaps,
                              " layer boundaries separated by commas"));
    }
    taps.push_back(*tap);
  }
  return taps;
}

}  // namespace

CLI::Option* AddModelFlags(CLI::App& command, RunFlags& flags, const std::string& model_names) {
  const FlagTopic topic(command, kModelTopic);
  CLI::Option* const model = command
                                 .add_option(model_names, flags.models.model,
                                             "Target: a Hugging Face model directory, NAME.gguf, "
                                             "or org/name[@revision] of the cache")
                                 ->type_name("DIR");
  command
      .add_option_function<std::string>(
          "--draft",
          [&flags](const std::string& draft) {
            flags.decoding.copies_alone = draft == "suffix";
            flags.models.draft = flags.decoding.copies_alone ? "" : draft;
          },
          "Draft: a smaller model with the target's tokenizer, or an EAGLE-1 or EAGLE-3 head for "
          "it; mtp: the MTP layer in the target's own files; suffix: no model, --suffix-drafts "
          "alone")
      ->type_name("DIR|mtp|suffix");
  command
      .add_option_function<std::string>(
          "--draft-taps",
          [&flags](const std::string& text) { flags.models.draft_taps = ParseTaps(text); },
          "Layer boundaries of the target that an EAGLE-3 head reads: N enters layer N, from 0; "
          "default: as its file says, else 2, n / 2 and n - 3 of n layers")
      ->type_name("N,N,...");
  AddVocabFlags(command, flags);
  AddSketchFlags(command, flags);
  AddDraftFlags(command, flags);
  AddDtypeFlag(command, flags.models.dtype, "Weights and KV cache; auto keeps the checkpoint's");
  AddQuantizeFlag(command, flags.models.quantize,
                  "Linear layers and heads, target's and draft's, on load");
  AddChoice<std::optional<DType>>(
      command, "--quantize-draft", flags.models.quantize_draft,
      {{"int8", DType::kInt8}, {"int4", DType::kInt4}},
      "The draft's alone: cheaper drafts, and the output stays the target's");
  return model;
}

void AddVerifyFlag(CLI::App& command, RunFlags& flags) {
  const FlagTopic topic(command, kDraftTopic);
  AddChoice<VerifyMode>(command, "--verify", flags.decoding.verify,
                        {{"coupled", VerifyMode::kCoupled}, {"rejection", VerifyMode::kRejection}},
                        "How sampled drafts are verified")
      ->default_str("coupled");
}

void AddDeviceFlag(CLI::App& command, RunFlags& flags) {
  AddChoice<Device>(command, "--device", flags.models.device,
                    {{"cpu", Device::kCpu}, {"cuda", Device::kCuda}},
                    "Where the draft's head is scored")
      ->default_str("cpu");
}

void AddSamplingFlags(CLI::App& command, RunFlags& flags) {
  const FlagTopic topic(command, "Sampling");
  SamplingParams& sampling = flags.sampling;
  const auto notes = [](bool& given) { return [&given](const std::string&) { given = true; }; };
  AddInteger<int64_t>(command, "--max-new-tokens", sampling.max_new_tokens, 1, kMaxCount,
                      "Length limit of each output")
      ->each(notes(flags.given.max_new_tokens))
      ->default_str("the model's, else 128");
  for (size_t i = 0; i < kSamplingFields.size(); ++i) {
    const SamplingField& field = kSamplingFields[i];
    if (field.flag_help == nullptr) continue;
    const auto& [low, high, above_low] = field.range;
    CLI::Option* const option =
        field.number != nullptr
            ? AddReal(command, field.Flag(), sampling.*field.number, low, high,
                      above_low ? Low::kExcluded : Low::kIncluded, field.flag_help)
            : AddInteger<int64_t>(command, field.Flag(), sampling.*field.count,
                                  static_cast<int64_t>(low), static_cast<int64_t>(high),
                                  field.flag_help);
    option->each(notes(flags.given.sampling[i]))
        ->default_str(absl::StrCat("the model's, else ", field.Get(SamplingParams())));
  }
  AddInteger<uint64_t>(command, "--seed", sampling.seed, 0, std::numeric_limits<uint64_t>::max(),
                       "Output is a function of seed and prompt");
  AddVerifyFlag(command, flags);
}

void AddGrammarFlags(CLI::App& command, RunFlags& flags) {
  CLI::Option_group* const group = command.add_option_group("Grammar", "At most one of");
  group->add_option("--json-schema", flags.json_schema_path, "Outputs are JSON by this schema")
      ->type_name("FILE.json");
  group->add_option("--regex", flags.regex, "Outputs match this regular expression as a whole")
      ->type_name("PATTERN");
  group
      ->add_option("--grammar", flags.grammar_path,
                   "Outputs follow this grammar (GBNF of llama.cpp, EBNF)")
      ->type_name("FILE");
  group->require_option(0, 1);
}

void AddConvTemplateFlag(CLI::App& command, std::string& name) {
  command
      .add_option("--conv-template", name,
                  "Named conversation template in place of the checkpoint's chat template")
      ->type_name("NAME");
}

void AddSchedulerFlags(CLI::App& command, SchedulerOptions& options) {
  const FlagTopic topic(command, "Scheduling and memory");
  AddChoice<SchedulePolicy>(command, "--schedule-policy", options.policy,
                            {{"lpm", SchedulePolicy::kLpm},
                             {"fcfs", SchedulePolicy::kFcfs},
                             {"dfs_weight", SchedulePolicy::kDfsWeight},
                             {"random", SchedulePolicy::kRandom}},
                            "In which order waiting requests are admitted")
      ->default_str("lpm");
  AddInteger<int64_t>(command, "--max-prefill-tokens", options.max_prefill_tokens, 1, kMaxCount,
                      "Most tokens of a prefill pass");
  AddInteger<int64_t>(command, "--chunked-prefill-size", options.chunked_prefill_size, 0, kMaxCount,
                      "Prompts are cut so that a pass has at most this many tokens; 0: uncut");
  AddInteger<int64_t>(command, "--max-running-requests", options.max_running_requests, 1,
                      kMaxRequests, "Requests computed together");
  AddInteger<int64_t>(command, "--max-queued-requests", options.max_queued_requests, 1,
                      kMaxRequests, "Requests that may wait");
  AddInteger<int64_t>(command, "--max-total-tokens", options.max_total_tokens, 1, kMaxCount,
                      "KV slots of all requests and the radix cache");
  AddInteger<int64_t>(command, "--context-length,--max-model-len", options.context_length, 0,
                      kMaxCount, "Longest request, prompt and output; 0: the model's context");
  command.add_flag("--disable-radix-cache", options.disable_radix_cache,
                   "Share no prefixes between requests");
}

}  // namespace shortlist
