#include "model/experts.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/elementwise.h"
#include "model/linear_weight.h"

namespace shortlist {
namespace {

/// The order in which experts are chosen: NaN last.
float Rank(float logit) { return std::isnan(logit) ? -INFINITY : logit; }

/// Reads a weight that is not quantised, and keeps its precision if that is f32. A weight of one
/// row may be stored as a vector.
absl::StatusOr<PackedLinear> LoadRouter(Checkpoint& checkpoint, const std::string& name,
                                        int64_t out_features, const ModelConfig& config,
                                        DType dtype, ThreadPool& pool) {
  SHORTLIST_ASSIGN_OR_RETURN(const DType stored, checkpoint.StoredDType(name));
  if (IsQuantized(dtype) || stored == DType::kF32) dtype = stored;
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<int64_t> stored_shape, checkpoint.StoredShape(name));
  const bool is_vector = out_features == 1 && stored_shape.size() == 1;
  const std::vector<int64_t> shape =
      is_vector ? std::vector{config.hidden} : std::vector{out_features, config.hidden};
  SHORTLIST_ASSIGN_OR_RETURN(const Matrix weight, checkpoint.Load(name, shape, dtype, pool));
  const MatrixView rows = {weight.data(), dtype, out_features};
  return PackRows(checkpoint, {&rows, 1}, config.hidden, dtype, pool);
}

/// Gives parts of experts the names that Mlp::Load reads.
class Renamer {
 public:
  Renamer(Checkpoint& checkpoint, const std::string& prefix, const ModelConfig& config)
      : checkpoint_(checkpoint), prefix_(prefix), config_(config) {}

  absl::Status Rename() {
    const ExpertNames& names = config_.experts.names;
    const int64_t width = config_.experts.intermediate, hidden = config_.hidden;
    const ExpertNames standard;
    for (const char* const kind : {"", ".weight"}) {  // GGUF's names end with it
      SHORTLIST_RETURN_IF_ERROR(SplitStacked(absl::StrCat(names.gate_up, kind),
                                             {standard.parts[0], standard.parts[1]}, width,
                                             hidden));
      SHORTLIST_RETURN_IF_ERROR(
          SplitStacked(absl::StrCat(names.down, kind), {standard.parts[2]}, hidden, width));
    }
    SHORTLIST_RETURN_IF_ERROR(
        SplitStacked("experts.gate_proj.weight", {standard.parts[0]}, width, hidden));
    SHORTLIST_RETURN_IF_ERROR(
        SplitStacked("experts.up_proj.weight", {standard.parts[1]}, width, hidden));
    for (int i = 0; i < 3; ++i) {
      if (std::string_view(names.parts[i]) == standard.parts[i]) continue;
      const int64_t num_rows = i == 2 ? hidden : width, num_columns = i == 2 ? width : hidden;
      for (int64_t expert = 0; expert < config_.experts.num_experts; ++expert) {
        const WeightFiles::Rows rows = {PartName(expert, standard.parts[i]), num_rows};
        SHORTLIST_RETURN_IF_ERROR(checkpoint_.Split(PartName(expert, names.parts[i]),
                                                    {num_rows, num_columns}, {&rows, 1}));
      }
    }
    return absl::OkStatus();
  }

 private:
  std::string PartName(int64_t expert, const char* part) const {
    return absl::StrCat(prefix_, "experts.", expert, ".", part, ".weight");
  }

  /// Splits the tensor `name`, if there is one, into `parts` of each expert, which have `num_rows`
  /// rows of `num_columns` each.
  absl::Status SplitStacked(const std::string& name, std::initializer_list<const char*> parts,
                            int64_t num_rows, int64_t num_columns) {
    const std::string stacked = absl::StrCat(prefix_, name);
    if (!checkpoint_.Contains(stacked)) return absl::OkStatus();
    const int64_t num_experts = config_.experts.num_experts;
    std::vector<WeightFiles::Rows> rows;
    for (int64_t expert = 0; expert < num_experts; ++expert) {
      for (const char* part : parts) rows.push_back({PartName(expert, part), num_rows});
    }
    const int64_t expert_rows = num_rows * static_cast<int64_t>(parts.size());
    return checkpoint_.Split(stacked, {num_experts, expert_rows, num_columns}, rows);
  }

  Checkpoint& checkpoint_;
  const std::string& prefix_;
  const ModelConfig& config_;
};

}  // namespace

Routing Route(const ExpertShape& shape, const float* logits, int64_t num_tokens) {
  const int64_t num_experts = shape.num_experts, num_used = shape.num_used;
  // Of each token, in the order of choice.
  std::vector<int32_t> chosen(static_cast<size_t>(num_tokens * num_used));
  std::vector<float> weights(chosen.size());
  std::vector<int32_t> ids(static_cast<size_t>(num_experts));
  std::vector<int64_t> ends(static_cast<size_t>(num_experts) + 1);  // of groups
  for (int64_t t = 0; t < num_tokens; ++t) {
    const float* const row = logits + t * num_experts;
    std::iota(ids.begin(), ids.end(), 0);
    std::partial_sort(ids.begin(), ids.begin() + num_used, ids.end(), [row](int32_t a, int32_t b) {
      const float of_a = Rank(row[a]), of_b = Rank(row[b]);
      return of_a > of_b || (of_a == of_b && a < b);
    });
    const float largest = row[ids[0]];
    float sum = 0.0f;
    const int64_t num_summed = shape.normalises ? num_used : num_experts;
    for (int64_t i = 0; i < num_summed; ++i) {
      const float term = std::exp(row[shape.normalises ? ids[i] : i] - largest);
      sum += term;
    }
    for (int64_t i = 0; i < num_used; ++i) {
      chosen[t * num_used + i] = ids[i];
      weights[t * num_used + i] = std::exp(row[ids[i]] - largest) / sum;
      ++ends[ids[i] + 1];
    }
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  Routing routing;
  for (int64_t expert = 0; expert < num_experts; ++expert) {
    const int64_t count = ends[expert + 1] - ends[expert];
    if (count > 0) routing.groups.push_back({expert, ends[expert], count});
  }
  routing.tokens.resize(chosen.size());
  routing.weights.resize(chosen.size());
  for (size_t i = 0; i < chosen.size(); ++i) {
    const int64_t place = ends[chosen[i]]++;
    routing.tokens[place] = static_cast<int32_t>(static_cast<int64_t>(i) / num_used);
    routing.weights[place] = weights[i];
  }
  return routing;
}

absl::StatusOr<Experts> Experts::Load(Checkpoint& checkpoint, const std::string& prefix,
                                      const ModelConfig& config, DType dtype, ThreadPool& pool) {
  const ExpertShape& shape = config.experts;
  Experts experts;
  SHORTLIST_ASSIGN_OR_RETURN(experts.router_,
                             LoadRouter(checkpoint, absl::StrCat(prefix, shape.names.router),
                                        shape.num_experts, config, dtype, pool));
  SHORTLIST_RETURN_IF_ERROR(Renamer(checkpoint, prefix, config).Rename());
  for (int64_t i = 0; i < shape.num_experts; ++i) {
    SHORTLIST_ASSIGN_OR_RETURN(
        Mlp expert, Mlp::Load(checkpoint, absl::StrCat(prefix, "experts.", i, "."), config,
                              shape.intermediate, dtype, pool));
    experts.experts_.push_back(std::move(expert));
  }
  if (shape.shared_intermediate == 0) return experts;
  SHORTLIST_ASSIGN_OR_RETURN(experts.shared_,
                             Mlp::Load(checkpoint, absl::StrCat(prefix, "shared_expert."), config,
                                       shape.shared_intermediate, dtype, pool));
  SHORTLIST_ASSIGN_OR_RETURN(
      experts.shared_gate_,
      LoadRouter(checkpoint, absl::StrCat(prefix, "shared_expert_gate.weight"), /*out_features=*/1,
                 config, dtype, pool));
  return experts;
}

void Experts::Forward(const ModelConfig& config, const LinearInput& input, int64_t num_tokens,
                      LayerScratch& scratch, ThreadPool& pool) const {
  const int64_t hidden = config.hidden;
  const float* x = input.x;
  if (input.norm_weight != nullptr) {
    float* const normed = FloatsOf(scratch.normed);
    RmsNormCpu(x, input.norm_weight, input.norm_epsilon, num_tokens, hidden, normed, pool);
    x = normed;
  }
  float* const logits = FloatsOf(scratch.expert_logits);
  LinearCpu(router_, {x}, num_tokens, logits, /*accumulate=*/false, pool);
  const Routing routing = Route(config.experts, logits, num_tokens);

  float* const sums = FloatsOf(scratch.branch);
  float* const gathered = FloatsOf(scratch.expert_input);
  float* const output = FloatsOf(scratch.expert_output);
  std::fill_n(sums, num_tokens * hidden, 0.0f);
  for (const auto& [expert, first, count] : routing.groups) {
    const int32_t* const tokens = routing.tokens.data() + first;
    EmbeddingCpu(x, DType::kF32, hidden, tokens, count, gathered, pool);
    const Mlp& mlp = experts_[static_cast<size_t>(expert)];
    const float* const gated = mlp.Forward(config, {gathered}, count, scratch, pool);
    LinearCpu(mlp.down(), {gated}, count, output, /*accumulate=*/false, pool);
    AddScaledRowsCpu(output, tokens, routing.weights.data() + first, count, hidden, sums, pool);
  }
  if (!shared_) return;
  const float* const gated = shared_->Forward(config, {x}, num_tokens, scratch, pool);
  LinearCpu(shared_->down(), {gated}, num_tokens, output, /*accumulate=*/false, pool);
  float* const gates = logits;
  LinearCpu(shared_gate_, {x}, num_tokens, gates, /*accumulate=*/false, pool);
  for (int64_t t = 0; t < num_tokens; ++t) gates[t] = 1.0f / (1.0f + std::exp(-gates[t]));
  AddScaledRowsCpu(output, /*rows=*/nullptr, gates, num_tokens, hidden, sums, pool);
}

}  // namespace shortlist
