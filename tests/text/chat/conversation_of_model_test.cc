#include "text/chat/conversation_of_model.h"

#include <string>

#include "gtest/gtest.h"

namespace shortlist {
namespace {

std::string NameFor(std::string_view model) {
  const Conversation* const found = FindConversationOfModel(model);
  return found == nullptr ? "none" : found->name;
}

TEST(ConversationOfModelTest, ChoosesLikeFastChat) {
  const std::pair<const char*, const char*> cases[] = {
      {"lmsys/vicuna-7b-v1.5", "vicuna_v1.1"},
      {"lmsys/vicuna-7b-delta-v0", "one_shot"},
      {"CarperAI/stable-vicuna-13b-delta", "none"},
      {"lmsys/longchat-7b-v1.5-32k", "vicuna_v1.1"},
      {"meta-llama/Llama-2-7b-chat-hf", "llama-2"},
      {"codellama/CodeLlama-7b-Instruct-hf", "llama-2"},
      {"meta-llama/Meta-Llama-3-8B-Instruct", "llama-3"},
      {"mistralai/Mistral-7B-Instruct-v0.3", "mistral"},
      {"mistralai/Mixtral-8x7B-Instruct-v0.1@main", "mistral"},
      {"Open-Orca/Mistral-7B-OpenOrca", "none"},
      {"Qwen/Qwen1.5-0.5B", "qwen-7b-chat"},
      {"WizardLM/WizardLM-13B-V1.2", "vicuna_v1.1"},
      {"01-ai/Yi-34B-Chat", "Yi-34b-chat"},
      {"01-ai/Yi-34B", "none"},
      {"deepseek-ai/deepseek-llm-7b-chat", "deepseek-chat"},
      {"upstage/SOLAR-10.7B-Instruct-v1.0", "solar"},
      {"TinyLlama/TinyLlama-1.1B-Chat-v1.0", "TinyLlama"},
      {"microsoft/Orca-2-7b", "orca-2"},
      {"tiiuae/falcon-180B-chat", "falcon-chat"},
      {"models/demo/target", "none"},
      {"", "none"},
      {"/", "none"},
  };
  for (const auto& [model, name] : cases) EXPECT_EQ(NameFor(model), name) << model;
}

TEST(ConversationOfModelTest, LastComponentPrecedesPath) {
  EXPECT_EQ(NameFor("/home/alpaca/models/vicuna-7b-v1.5/"), "vicuna_v1.1");
  EXPECT_EQ(NameFor("/models/vicuna-7b/snapshot"), "vicuna_v1.1");
}

}  // namespace
}  // namespace shortlist
