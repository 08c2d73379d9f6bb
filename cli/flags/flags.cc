#include "cli/flags/flags.h"

#include "CLI/CLI.hpp"
#include "cli/flags/flag_groups.h"
#include "cli/flags/flag_kinds.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxBatch = 1024;
constexpr int64_t kMaxRepetitions = 1000;

void AddParseSpecialFlag(CLI::App& command, RunFlags& flags) {
  AddChoice<bool>(command, "--parse-special", flags.parse_special, {{"on", true}, {"off", false}},
                  "The spelling of a control token in a prompt is that token")
      ->default_str("on");
}

void AddOutputFlags(CLI::App& command, RunFlags& flags) {
  AddThreadsFlag(command, flags.num_threads);
  AddDeviceFlag(command, flags);
  command.add_flag("--json", flags.json, "JSON instead of text");
}

}  // namespace

void AddRunFlags(CLI::App& command, RunFlags& flags) {
  AddModelFlags(command, flags)->required();
  CLI::Option_group* input = command.add_option_group("Input", "Exactly one of");
  input->add_option("--prompt", flags.prompt, "One prompt")->type_name("TEXT");
  input
      ->add_option("--prompts", flags.prompts_path,
                   R"(Rows {"prompt": ...} or {"turns": [...]}, of which the first counts)")
      ->type_name("FILE.jsonl");
  input->require_option(1);
  AddParseSpecialFlag(command, flags);
  AddSamplingFlags(command, flags);
  AddGrammarFlags(command, flags);
  AddInteger<int64_t>(command, "--batch", flags.batch, 1, kMaxBatch, "Prompts decoded together");
  AddOutputFlags(command, flags);
}

void AddCompareFlags(CLI::App& command, CompareFlags& flags) {
  AddRunFlags(command, flags.run);
  command.add_flag(
      "--sweep", flags.sweep,
      "A half to a thirty-second of the vocabulary from the list; --dynamic-rows count "
      "within");
  command.add_flag("--explain", flags.explain,
                   "Say in three lines why each way to decode won or lost; not with --json");
  AddInteger<int64_t>(command, "--repetitions", flags.num_repetitions, 1, kMaxRepetitions,
                      "Runs of every prompt in every way; the fastest counts");
}

void AddReplayFlags(CLI::App& command, ReplayFlags& flags) {
  AddModelFlags(command, flags.run)->required();
  CLI::Option_group* input = command.add_option_group("Load", "Exactly one of");
  input
      ->add_option("--trace", flags.run.prompts_path,
                   R"(Rows as --prompts takes them, with "arrival_s" and more)")
      ->type_name("FILE.jsonl");
  input
      ->add_option("--generate", flags.generate,
                   "Random tokens: so many requests, a second, groups that share so many tokens, "
                   "tokens of their own")
      ->type_name("requests=64,rate=0,groups=1,shared=0,own=32");
  input->require_option(1);
  AddParseSpecialFlag(command, flags.run);
  AddSamplingFlags(command, flags.run);
  AddSchedulerFlags(command, flags.scheduler);
  command.add_flag("--simulate", flags.simulate,
                   "Run the scheduler alone, in virtual time with a cost model");
  AddOutputFlags(command, flags.run);
}

void AddChatFlags(CLI::App& command, ChatFlags& flags) {
  AddModelFlags(command, flags.run, "--model,--model-path,DIR")->required();
  command.add_option("--system", flags.system, "The system message")->type_name("TEXT");
  AddConvTemplateFlag(command, flags.conv_template);
  command.add_flag("--show-prompt", flags.show_prompt,
                   "Show what the model would read, text and ids, in place of its answers; lines "
                   "are the user's and the assistant's by turns");
  AddInteger<int64_t>(command, "--max-total-tokens", flags.max_total_tokens, 1, kMaxCount,
                      "KV slots: the longest conversation, where the context is no shorter");
  flags.run.sampling.max_new_tokens = kMaxCount;
  AddSamplingFlags(command, flags.run);
  command.get_option("--max-new-tokens")->default_str("what the context has room for");
  AddGrammarFlags(command, flags.run);
  AddThreadsFlag(command, flags.run.num_threads);
  AddDeviceFlag(command, flags.run);
}

}  // namespace shortlist
