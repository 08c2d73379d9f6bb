#include "tests/router/router_harness.h"

#include <gtest/gtest.h>

#include "router/scheduler.h"

namespace shortlist {

RouterHarness::RouterHarness(SpeculativeEngine& engine, Router::Options options) {
  auto router = Router::Create(engine, std::move(options));
  EXPECT_TRUE(router.ok()) << router.status();
  if (router.ok()) router_ = std::move(*router);
}

void RouterHarness::Step(std::vector<RouterMessage> messages) {
  const BatchTokenIdOut out = router_->ExposedStep(std::move(messages));
  for (const BatchTokenIdOut::Row& row : out.rows) {
    Served& served = served_[row.rid];
    EXPECT_EQ(served.num_terminal_rows, 0) << "a row after the last one of " << row.rid;
    served.output.insert(served.output.end(), row.token_ids.begin(), row.token_ids.end());
    served.infos.insert(served.infos.end(), row.token_infos.begin(), row.token_infos.end());
    EXPECT_EQ(served.infos.size(), served.output.size()) << row.rid;
    served.prompt_infos.insert(served.prompt_infos.end(), row.prompt_infos.begin(),
                               row.prompt_infos.end());
    if (!row.finished) continue;
    ++served.num_terminal_rows;
    served.last = row;
  }
  const absl::Status status = router_->CheckInvariants();
  EXPECT_TRUE(status.ok()) << status;
}

void RouterHarness::StepUntilIdle(int64_t max_steps) {
  for (int64_t i = 0; i < max_steps && !router_->idle(); ++i) Step();
  EXPECT_TRUE(router_->idle());
}

void RouterHarness::ExpectNothingHeld() const {
  const Scheduler& scheduler = router_->scheduler();
  EXPECT_TRUE(scheduler.idle());
  EXPECT_EQ(scheduler.available_len(), scheduler.options().max_total_tokens);
  EXPECT_EQ(scheduler.cache().evictable_len(), scheduler.cache().len());
}

}  // namespace shortlist
