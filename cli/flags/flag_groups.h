#ifndef SHORTLIST_CLI_FLAGS_FLAG_GROUPS_H_
#define SHORTLIST_CLI_FLAGS_FLAG_GROUPS_H_

#include <cstdint>
#include <string>

#include "CLI/CLI.hpp"
#include "cli/flags/flags.h"

namespace shortlist {

// Flags shared by several subcommands. As in flag_kinds.h, parsing fills the arguments, which must
// outlive `command`.

inline constexpr int64_t kMaxRequests = 1 << 20;

/// Models, vocabulary, sketch, drafts and dtypes of a command that runs a model. Returns the flag
/// for the model, whose names are `model_names`.
CLI::Option* AddModelFlags(CLI::App& command, RunFlags& flags,
                           const std::string& model_names = "--model,--model-path");
/// Sampling flags; parsing records which of them are given.
void AddGrammarFlags(CLI::App& command, RunFlags& flags);
void AddSamplingFlags(CLI::App& command, RunFlags& flags);
void AddVerifyFlag(CLI::App& command, RunFlags& flags);
void AddDeviceFlag(CLI::App& command, RunFlags& flags);
void AddConvTemplateFlag(CLI::App& command, std::string& name);
void AddSchedulerFlags(CLI::App& command, SchedulerOptions& options);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_FLAGS_FLAG_GROUPS_H_
