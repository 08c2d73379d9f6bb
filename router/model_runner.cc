#include "router/model_runner.h"

#include <exception>
#include <new>

namespace shortlist {

absl::StatusOr<std::span<const StepResult>> ModelRunner::Forward(const Batch& batch) {
  try {
    return Run(batch);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

absl::StatusOr<std::span<const StepResult>> ModelRunner::Run(const Batch& batch) {
  work_.clear();
  for (Req* req : batch.reqs) {
    const GenerateReq& of = AsGenerate(req);
    work_.push_back({.sequence = of.sequence.get(),
                     .kv_slots = of.kv_slots,
                     .vocab = of.vocab,
                     .new_dynamic_tokens = of.new_dynamic_tokens,
                     .shares_prompt = shares_prompts_});
  }
  if (batch.mode == ForwardMode::kPrefill) return engine_.Prefill(work_, batch.num_tokens);
  absl::StatusOr<std::span<const StepResult>> results = engine_.Step(work_);
  for (Req* req : batch.reqs) AsGenerate(req).new_dynamic_tokens.clear();
  return results;
}

}  // namespace shortlist
