#ifndef SHORTLIST_CLI_SERVICE_DESCRIPTION_H_
#define SHORTLIST_CLI_SERVICE_DESCRIPTION_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/flags/flags.h"
#include "cli/served_encoders.h"
#include "cli/session.h"
#include "runtime/engine.h"
#include "serve/generator.h"
#include "serve/service.h"
#include "text/chat/prompt_encoder.h"

namespace shortlist {

// What `shortlist serve` tells of what it serves: to clients, in /metrics, in its log.

/// For clients.
absl::StatusOr<Service> DescribeService(const ServeFlags& flags, Session& session, Engine& engine);
/// Of a server without a generating model; the first encoder stands for it.
absl::StatusOr<Service> DescribeService(const ServeFlags& flags, const ServedEncoders& encoders);

/// For the log, one line when it starts.
std::string Summary(const ServeFlags& flags, Session& session, Engine& engine,
                    const PromptEncoder& encoder);
std::string Summary(const ServedEncoders& encoders);

/// For metrics and routers in front. On the router's thread.
EngineLoad LoadOf(const Engine& engine, const ServedEncoders& encoders);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_SERVICE_DESCRIPTION_H_
