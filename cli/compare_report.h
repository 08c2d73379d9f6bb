#ifndef SHORTLIST_CLI_COMPARE_REPORT_H_
#define SHORTLIST_CLI_COMPARE_REPORT_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/repetition.h"
#include "draft/engine.h"
#include "request/sequence.h"

namespace shortlist {

/// What one prompt came to in one way to decode.
struct PromptResult {
  double step_seconds = 0.0;  // decoding time of its fastest repetition (Completion::step_seconds)
  SequenceStats stats;        // of one repetition
  EngineStats engine;         // of its steps, all repetitions
  Repetition repetition;      // of its output
  bool identical = true;      // every repetition had the ids of plain decoding
};

/// One way to decode, over all prompts.
struct Contender {
  std::string name;
  int64_t base_rows = 0;       // of the active vocabulary; 0: plain decoding
  int64_t dynamic_rows = 0;    // a request may add
  int64_t shared_rows = 0;     // that requests share
  bool finds_size = false;     // base_rows are those that it ended with
  bool sketch_alone = false;   // DecodingOptions::sketch_alone
  int64_t successor_rows = 0;  // a draft step may score besides
  int64_t sketch_rows = 0;     // a draft step scores besides
  bool finds_share = false;    // sketch_rows are the most that it may take
  std::vector<PromptResult> prompts;
};

/// A way to decode that there is not, a size that the list does not have, say.
struct RefusedContender {
  std::string name;
  std::string why;
};

/// A comparison, ready to be written.
struct Comparison {
  std::vector<Contender> contenders;  // plain decoding first, then the draft with its full head
  std::vector<RefusedContender> refused;
  std::vector<std::string> sources;  // [prompts], empty where the file gave none
  bool greedy = false;
  bool comparable = false;  // outputs are meant to be those of plain decoding
  // The draft's head, and the sketch that chooses rows of it.
  int64_t head_rows = 0, head_row_bytes = 0, sketch_bytes = 0;
  int64_t num_repetitions = 0;
  int64_t batch = 0;
  int64_t num_threads = 0;
  double temperature = 0.0;
  int64_t num_draft_tokens = 0;
  std::optional<double> draft_p_min;
  bool prompt_lookup = false;
  int64_t max_new_tokens = 0;
};

/// Whether every output was that of plain decoding.
bool AllIdentical(const Comparison& comparison);

/// One table over all prompts; for a greedy comparison a second one over the group of prompts whose
/// plain output repeats less than 30 % of its 6-grams (where these are some and not all). Speeds
/// are those of each prompt's fastest repetition, prefill excluded. The first table ends with a row
/// for each refused contender.
void WriteTables(const Comparison& comparison, std::ostream& out);

/// One JSON object: the settings, and "rows", one for each group ("all", and "few_repeats" when
/// greedy), source (null: all of them) and contender that has any prompts, and one with an "error"
/// for each that is refused.
void WriteJson(const Comparison& comparison, std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_COMPARE_REPORT_H_
