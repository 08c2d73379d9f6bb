#ifndef SHORTLIST_TESTS_ROUTER_ROUTER_HARNESS_H_
#define SHORTLIST_TESTS_ROUTER_ROUTER_HARNESS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "router/router.h"

namespace shortlist {

/// The result of one request.
struct Served {
  std::vector<TokenId> output;
  std::vector<TokenInfo> infos;  // [output.size()]
  std::vector<TokenInfo> prompt_infos;
  int64_t num_terminal_rows = 0;
  BatchTokenIdOut::Row last;
};

/// A router and everybody it talks to. Expects, after every step, that invariants hold and that no
/// row follows a request's terminal one.
class RouterHarness {
 public:
  RouterHarness(SpeculativeEngine& engine, Router::Options options);

  void Step(std::vector<RouterMessage> messages = {});
  /// Steps until the router is idle; fails after `max_steps`.
  void StepUntilIdle(int64_t max_steps = 5000);
  /// Expects that nothing but the tree holds a slot.
  void ExpectNothingHeld() const;

  Router& router() { return *router_; }
  std::map<std::string, Served>& served() { return served_; }

 private:
  std::unique_ptr<Router> router_;
  std::map<std::string, Served> served_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_ROUTER_ROUTER_HARNESS_H_
