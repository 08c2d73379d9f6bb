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
  for (Req* req : batch.reqs) work_.push_back({AsGenerate(req).sequence.get(), req->kv_slots});
  if (batch.mode != ForwardMode::kPrefill) return engine_.Step(work_);
  return engine_.Prefill(work_, batch.num_tokens);
}

}  // namespace shortlist
