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

/// Result of one prompt with one way to decode.
struct PromptResult {
  double step_seconds = 0.0;  // decoding time of its fastest repetition (Completion::step_seconds)
  SequenceStats stats;        // of one repetition
  EngineStats engine;         // of its steps, all repetitions
  Repetition repetition;      // of its output
  bool identical = true;      // every repetition had the ids of plain decoding
};

/// One way to decode, with its results for all prompts.
struct Contender {
  std::string name;
  int64_t base_rows = 0;       // of the active vocabulary; 0: plain decoding
  int64_t dynamic_rows = 0;    // at most, per request
  int64_t shared_rows = 0;     // dynamic rows shared by all requests
  bool finds_size = false;     // base_rows is the size found at the end
  bool sketch_alone = false;   // DecodingOptions::sketch_alone
  int64_t successor_rows = 0;  // additional rows scored per draft step, at most
  int64_t sketch_rows = 0;     // additional rows scored per draft step
  bool finds_share = false;    // sketch_rows is the maximum
  std::vector<PromptResult> prompts;
};

/// A way to decode that cannot run, such as a size that the list does not have.
struct RefusedContender {
  std::string name;
  std::string why;
};

/// A comparison, ready to be written.
struct Comparison {
  std::vector<Contender> contenders;  // plain decoding first, then the draft with its full head, or
                                      // suffix drafts alone
  std::vector<RefusedContender> refused;
  std::vector<std::string> sources;  // [prompts], empty if the file gave none
  bool greedy = false;
  bool comparable = false;  // outputs must equal those of plain decoding
  // The draft's head and its sketch.
  int64_t head_rows = 0, head_row_bytes = 0, sketch_bytes = 0;
  int64_t num_repetitions = 0;
  int64_t batch = 0;
  int64_t num_threads = 0;
  double temperature = 0.0;
  int64_t num_draft_tokens = 0;
  std::optional<double> draft_p_min;
  bool suffix_drafts = false;
  int64_t max_new_tokens = 0;
};

/// True if every output equals that of plain decoding.
bool AllIdentical(const Comparison& comparison);

/// Writes one table over all prompts. A greedy comparison gets a second table over the prompts
/// whose plain output repeats less than 30 % of its 6-grams, if these are some but not all. Speeds
/// are those of each prompt's fastest repetition, without prefill. The first table ends with a row
/// for each refused contender.
void WriteTables(const Comparison& comparison, std::ostream& out);

/// Writes one JSON object with the settings and "rows". There is one row for each group ("all", and
/// "few_repeats" if greedy), source (null: all sources) and contender that has any prompts. Each
/// refused contender has a row with an "error".
void WriteJson(const Comparison& comparison, std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_COMPARE_REPORT_H_
