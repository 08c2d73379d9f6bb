#include "cli/compare_explain.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace shortlist {
namespace {

double Ratio(double a, double b) { return b > 0.0 ? a / b : 0.0; }

/// Sums of one way to decode over all prompts.
struct Measured {
  explicit Measured(const Contender& contender) {
    for (const PromptResult& result : contender.prompts) {
      seconds += result.step_seconds;
      stats.Add(result.stats);
      engine.Add(result.engine);
    }
  }

  double of_step(double sum) const { return Ratio(sum, static_cast<double>(engine.num_steps)); }
  double tokens_per_s() const { return Ratio(static_cast<double>(stats.num_step_tokens), seconds); }

  double seconds = 0.0;
  SequenceStats stats;
  EngineStats engine;
};

std::string WhyItLost(double draft, double verify, double accept_length) {
  if (draft == 0.0) return "nothing was drafted";
  if (accept_length < 1.1) return "hardly a drafted token is taken";
  return draft > verify - 1.0 ? "the draft's passes take more than their tokens bring"
                              : "the further rows of the target's pass take more than they bring";
}

void Explain(const Contender& contender, const Measured& plain, int64_t num_repetitions,
             std::ostream& out) {
  const Measured of(contender);
  const double plain_ms = plain.of_step(plain.engine.verify_ms);
  if (plain_ms == 0.0 || of.engine.num_steps == 0) return;
  const double passes = of.of_step(static_cast<double>(of.engine.num_draft_passes));
  const double draft = of.of_step(of.engine.draft_ms) / plain_ms;
  const double verify = of.of_step(of.engine.verify_ms) / plain_ms;
  const SequenceStats& stats = of.stats;
  // Requests of a step share its passes, in plain decoding too.
  const double requests = of.of_step(static_cast<double>(stats.num_verify_steps * num_repetitions));
  const double rows = requests * (1.0 + stats.draft_length());
  const double expected = Ratio(stats.accept_length(), draft + verify);
  const double measured = Ratio(of.tokens_per_s(), plain.tokens_per_s());
  const double resting = of.of_step(static_cast<double>(of.engine.num_resting_steps));

  out << "\n" << contender.name << "\n";
  out << absl::StreamFormat(
      "  costs: a step takes %.2f plain steps of %.2f ms: %.1f draft passes %.2f, the target's "
      "pass "
      "over %.1f rows %.2f\n",
      draft + verify, plain_ms, passes, draft, rows, verify);
  out << absl::StreamFormat(
      "  brings: %.2f tokens; of %.2f drafted %.0f %% are taken; %.1f %% of what came could be "
      "drafted\n",
      stats.accept_length(), stats.draft_length(), 100.0 * stats.acceptance_rate(),
      100.0 * stats.coverage());
  out << absl::StreamFormat("  so %.2f x plain is expected and %.2f x measured: ", expected,
                            measured);
  if (measured >= 1.0) {
    out << "it wins";
  } else {
    out << "it loses, as " << WhyItLost(draft, verify, stats.accept_length());
  }
  if (resting > 0.0)
    out << absl::StreamFormat("; drafting rested in %.0f %% of the steps", 100.0 * resting);
  out << "\n";
}

}  // namespace

void WriteExplanations(const Comparison& comparison, std::ostream& out) {
  const Measured plain(comparison.contenders.front());
  for (size_t i = 1; i < comparison.contenders.size(); ++i) {
    Explain(comparison.contenders[i], plain, comparison.num_repetitions, out);
  }
}

}  // namespace shortlist
