#include "cli/flags/foreign_flags.h"

#include <utility>

#include "CLI/CLI.hpp"

namespace shortlist {

void AnswerForeignFlags(CLI::App& command) {
  static constexpr const char* kNothing = "has no meaning for this server: leave it out";
  static constexpr const char* kPacked = "GPTQ and AWQ are seen from the checkpoint: leave it out";
  static constexpr std::pair<const char*, const char*> kFlags[] = {
      {"--attn-backend", kNothing},
      {"--attention-backend", kNothing},
      {"--num-gpus", kNothing},
      {"--gpus", kNothing},
      {"--cpu-offloading", kNothing},
      {"--tp", kNothing},
      {"--tp-size", kNothing},
      {"--tensor-parallel-size", kNothing},
      {"--dp", kNothing},
      {"--dp-size", kNothing},
      {"--n-gpu-layers", kNothing},
      {"--enforce-eager", kNothing},
      {"--kv-cache-dtype", kNothing},
      {"--block-size", kNothing},
      {"--swap-space", kNothing},
      {"--enable-prefix-caching", "prefixes are always cached: leave it out"},
      {"--enable-metrics", "/metrics is always there: leave it out"},
      {"--max-num-seqs", "did you mean --max-running-requests N?"},
      {"--max-num-batched-tokens", "did you mean --max-prefill-tokens N?"},
      {"--cors-allow-origins", "did you mean --allowed-origin ORIGIN?"},
      {"--ctx-size", "did you mean --context-length N?"},
      {"--load-4bit", "did you mean --quantize int4?"},
      {"--speculative-algorithm", "the draft's directory says it: --draft DIR"},
      {"--speculative-config", "did you mean --draft DIR and --num-draft-tokens N?"},
      {"--speculative-num-steps", "did you mean --num-draft-tokens N?"},
      {"--speculative-eagle-topk", "drafts are chains: leave it out"},
      {"--ssl-keyfile", "a proxy in front does TLS (examples/nginx.conf)"},
      {"--ssl-certfile", "a proxy in front does TLS (examples/nginx.conf)"},
      {"--mem-fraction-static", kNothing},
      {"--gpu-memory-utilization", kNothing},
      {"--max-gpu-memory", kNothing},
      {"--trust-remote-code", kNothing},
      {"--load-8bit", "did you mean --quantize int8?"},
      {"--quantization",
       "did you mean --quantize int8|int4? GPTQ and AWQ are seen from the checkpoint"},
      {"--awq-ckpt", kPacked},
      {"--awq-wbits", kPacked},
      {"--awq-groupsize", kPacked},
      {"--gptq-ckpt", kPacked},
      {"--gptq-wbits", kPacked},
      {"--gptq-groupsize", kPacked},
      {"--chat-template",
       "did you mean --conv-template NAME? The checkpoint's own template is read from its "
       "directory"},
      {"--log-level", "every request is logged, in one line: leave it out; --log-file says where"},
      {"--no-register", "without --controller nothing is registered: leave it out"},
      {"--runner", "did you mean --embed-model DIR, or --is-embedding?"},
      {"--task", "did you mean --embed-model DIR, or --is-embedding?"},
      {"--model-id", "did you mean --model DIR?"},
      {"--pooling", "the model's directory says it: leave it out"},
      {"--embed-in-truncate", "FastChat's embeddings are always cut to the context: leave it out"},
      {"--stream-interval", "requests say it themselves (\"stream_interval\"): leave it out"},
      {"--worker-id", "did you mean --log-file FILE?"},
      {"--revision", "did you mean --model org/name@revision?"},
      {"--seed", "requests bring their own (\"seed\"): leave it out"},
      {"--random-seed", "requests bring their own (\"seed\"): leave it out"},
      {"--multimodal", "only text is served: leave it out"},
      {"--tokenizer", "the tokenizer is the one in the directory of --model: leave it out"},
      {"--speculative-draft-model-path", "did you mean --draft DIR?"},
      {"--speculative-model", "did you mean --draft DIR?"},
      {"--speculative-num-draft-tokens", "did you mean --num-draft-tokens N?"}};
  for (const auto& [flag, answer] : kFlags) {
    const auto refuse = [flag = flag, answer = answer](const CLI::results_t&) -> bool {
      throw CLI::ValidationError(flag, answer);
    };
    command.add_option(flag, refuse)->expected(0, 1)->group("");
  }
}

}  // namespace shortlist
