#ifndef SHORTLIST_CLI_FLAGS_FLAG_GROUPS_H_
#define SHORTLIST_CLI_FLAGS_FLAG_GROUPS_H_

#include <cstdint>
#include <string>

#include "CLI/CLI.hpp"
#include "cli/flags/flags.h"

namespace shortlist {

// Flags that several subcommands have. As those of flag_kinds.h: parsing fills what is given here,
// which must outlive `command`.

inline constexpr int64_t kMaxRequests = 1 << 20;

/// What a command runs, and how it speculates: models, vocabulary, sketch, drafts, dtypes. Returns
/// the flag for the model, whose names are `model_names`.
CLI::Option* AddModelFlags(CLI::App& command, RunFlags& flags,
                           const std::string& model_names = "--model,--model-path");
/// How tokens are chosen; notes which of these flags are given.
void AddSamplingFlags(CLI::App& command, RunFlags& flags);
void AddVerifyFlag(CLI::App& command, RunFlags& flags);
void AddDeviceFlag(CLI::App& command, RunFlags& flags);
void AddConvTemplateFlag(CLI::App& command, std::string& name);
void AddSchedulerFlags(CLI::App& command, SchedulerOptions& options);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_FLAGS_FLAG_GROUPS_H_
