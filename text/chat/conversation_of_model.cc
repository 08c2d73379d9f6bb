#include "text/chat/conversation_of_model.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "base/check.h"

namespace shortlist {
namespace {

/// Names that contain `word` and `also` have this template; null: it is not in Conversations().
struct Rule {
  std::string_view word;
  std::string_view also;
  const char* conversation;
};

// The first rule that applies is used, in the order in which FastChat registers its adapters.
// llama-3 and gemma are of later releases. hermes-2 differs from chatml only in its system message.
constexpr Rule kRules[] = {
    {"stable-vicuna", "", nullptr},
    {"vicuna", "v0", "one_shot"},
    {"vicuna", "", "vicuna_v1.1"},
    {"airoboros", "", nullptr},
    {"longchat", "", "vicuna_v1.1"},
    {"koala", "", "koala_v1"},
    {"alpaca", "", "alpaca"},
    {"dolly-v2", "", "dolly_v2"},
    {"openchat", "3.5", "openchat_3.5"},
    {"starling-lm", "", "openchat_3.5"},
    {"wizardlm", "13b", "vicuna_v1.1"},
    {"wizardlm", "30b", "vicuna_v1.1"},
    {"wizardlm", "70b", "vicuna_v1.1"},
    {"wizardlm", "", "one_shot"},
    {"camel", "", "vicuna_v1.1"},
    {"tulu", "", "tulu"},
    {"falcon", "chat", "falcon-chat"},
    {"llama-2", "", "llama-2"},
    {"openorca", "", nullptr},
    {"dolphin", "mistral", nullptr},
    {"hermes-2", "", "chatml"},
    {"nous-hermes", "", "alpaca"},
    {"mistral", "", "mistral"},
    {"mixtral", "", "mistral"},
    {"wizardcoder", "", "alpaca"},
    {"qwen", "", "qwen-7b-chat"},
    {"codellama", "", "llama-2"},
    {"zephyr", "", "zephyr"},
    {"notus", "", "zephyr"},
    {"tinyllama", "", "TinyLlama"},
    {"xwin-lm", "", "vicuna_v1.1"},
    {"orca-2", "", "orca-2"},
    {"yi-", "chat", "Yi-34b-chat"},
    {"deepseek-llm", "chat", "deepseek-chat"},
    {"solar-", "instruct", "solar"},
    {"llama-3", "", "llama-3"},
    {"gemma", "", "gemma"},
};

const Rule* FindRule(std::string_view name) {
  const auto* const rule = std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& r) {
    return name.find(r.word) != std::string_view::npos &&
           name.find(r.also) != std::string_view::npos;
  });
  return rule == std::end(kRules) ? nullptr : rule;
}

}  // namespace

const Conversation* FindConversationOfModel(std::string_view model) {
  const std::string lower = absl::AsciiStrToLower(std::string(model));
  std::string_view path = std::string_view(lower).substr(0, lower.find('@'));
  while (path.ends_with('/')) path.remove_suffix(1);
  const Rule* rule = FindRule(path.substr(path.rfind('/') + 1));
  if (rule == nullptr) rule = FindRule(path);
  if (rule == nullptr || rule->conversation == nullptr) return nullptr;
  const auto found = FindConversation(rule->conversation);
  SHORTLIST_CHECK(found.ok());
  return *found;
}

const Conversation& FallbackConversation(std::string_view model) {
  const Conversation* const of_model = FindConversationOfModel(model);
  return of_model != nullptr ? *of_model : **FindConversation("zero_shot");
}

}  // namespace shortlist
