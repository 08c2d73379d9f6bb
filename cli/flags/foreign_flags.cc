#include "cli/flags/foreign_flags.h"

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_split.h"

namespace shortlist {
namespace {

/// Flags, separated by commas, that share one answer.
struct Answer {
  const char* flags;
  const char* answer;
};

constexpr char kNothing[] = "has no meaning for this server: leave it out";
constexpr char kTls[] = "a proxy in front does TLS (examples/nginx.conf)";
constexpr char kSeed[] = "requests bring their own (\"seed\"): leave it out";
constexpr char kDraft[] = "did you mean --draft DIR?";
constexpr char kDraftTokens[] = "did you mean --num-draft-tokens N?";
constexpr char kCopies[] =
    "copies of earlier text continue every draft; --draft suffix drafts them alone";
constexpr char kPacked[] =
    "GPTQ and AWQ are seen from the checkpoint: leave it out, and name that with --model";
constexpr char kEmbedding[] = "did you mean --embed-model DIR, or --is-embedding?";
constexpr char kReranking[] = "did you mean --rerank-model DIR?";
constexpr char kLogged[] =
    "every request is logged, in one line: leave it out; --log-file says where";
constexpr char kNoAdapters[] = "adapters are not read: merge them into the model first";
constexpr char kNoTools[] = "tools and reasoning are not parsed from outputs: leave it out";
constexpr char kNoMedia[] = "only text is generated from text: leave it out";
constexpr char kDefaults[] =
    "requests bring their own sampling; defaults are those of generation_config.json";

// Devices and memory, which the machine determines here.
constexpr Answer kMachine[] = {
    {"--attn-backend,--attention-backend,--sampling-backend,--grammar-backend,--flash-attn,"
     "--num-gpus,--gpus,--cpu-offloading,--cpu-offload-gb,--max-gpu-memory,--n-gpu-layers,"
     "--gpu-layers,--split-mode,--tensor-split,--main-gpu,--numa,--mlock,--no-mmap,--swap-space,"
     "--tp,--tp-size,--tensor-parallel-size,--pp,--pp-size,--pipeline-parallel-size,--dp,--dp-size,"
     "--data-parallel-size,--ep,--ep-size,--enable-expert-parallel,--nnodes,--node-rank,"
     "--dist-init-addr,--distributed-executor-backend,--nccl-port,--enforce-eager,"
     "--disable-cuda-graph,--cuda-graph-max-bs,--cuda-graph-bs,--enable-torch-compile,"
     "--compilation-config,--kv-cache-dtype,--cache-type-k,--cache-type-v,--block-size,--page-size,"
     "--num-scheduler-steps,--disable-overlap-schedule,--mem-fraction-static,"
     "--schedule-conservativeness,--load-format,--download-dir,--trust-remote-code,"
     "--tokenizer-mode,--skip-tokenizer-init,--disable-custom-all-reduce,--cont-batching,"
     "--no-warmup,--skip-server-warmup,--watchdog-timeout",
     kNothing},
    {"--gpu-memory-utilization,--kv-cache-memory-bytes,--num-gpu-blocks-override",
     "memory is the machine's: did you mean --max-total-tokens N, the KV slots?"},
    {"--threads-http,--threads-batch,--api-server-count,--tokenizer-worker-num",
     "did you mean --threads N, which computes? The server's own threads are fixed"},
    {"--load-8bit", "did you mean --quantize int8?"},
    {"--load-4bit", "did you mean --quantize int4?"},
    {"--quantization,--torchao-config",
     "did you mean --quantize int8|int4? GPTQ and AWQ are seen from the checkpoint"},
    {"--awq,--awq-model,--awq-ckpt,--awq-wbits,--awq-groupsize,--gptq,--gptq-model,--gptq-ckpt,"
     "--gptq-wbits,--gptq-groupsize,--gptq-act-order,--enable-exllama,--enable-xft",
     kPacked},
};

constexpr Answer kScheduling[] = {
    {"--schedule-heuristic", "did you mean --schedule-policy lpm|fcfs|dfs_weight|random?"},
    {"--scheduling-policy", "did you mean --schedule-policy? Requests bring a \"priority\""},
    {"--enable-prefix-caching", "prefixes are always cached: leave it out"},
    {"--no-enable-prefix-caching,--no-cache-prompt", "did you mean --disable-radix-cache?"},
    {"--enable-chunked-prefill,--max-num-partial-prefills",
     "prompts are always cut: leave it out, or say --chunked-prefill-size N"},
    {"--no-enable-chunked-prefill", "did you mean --chunked-prefill-size 0?"},
    {"--max-num-seqs,--parallel,--max-concurrent-requests",
     "did you mean --max-running-requests N?"},
    {"--max-num-batched-tokens,--max-prefill-num-token,--batch-size,--ubatch-size",
     "did you mean --max-prefill-tokens N?"},
    {"--max-batch-prefill-tokens", "did you mean --max-prefill-tokens N, or --max-batch-tokens N?"},
    {"--max-client-batch-size", "no flag bounds batches: leave it out"},
    {"--ctx-size,-c,--max-seq-len-to-capture,--max-input-length",
     "did you mean --context-length N?"},
};

constexpr Answer kSpeculation[] = {
    {"--speculative-algorithm", "the draft says it: --draft DIR|suffix"},
    {"--speculative-config", "did you mean --draft DIR|suffix and --num-draft-tokens N?"},
    {"--speculative-draft-model-path,--speculative-model,--model-draft,--draft-model", kDraft},
    {"--speculative-num-draft-tokens,--num-speculative-tokens,--speculative-num-steps,--draft-max",
     kDraftTokens},
    {"--draft-min", "did you mean --draft-p-min P, which ends a chain that is unlikely?"},
    {"--discover", "did you mean --continuation-rows N? Its other guesses are gone"},
    {"--speculative-eagle-topk", "drafts are chains: leave it out"},
    {"--speculative-token-map", "did you mean --vocab FILE?"},
    {"--speculative-draft-tensor-parallel-size,--gpu-layers-draft", kNothing},
    {"--ngram-prompt-lookup-max,--ngram-prompt-lookup-min,--lookup-cache-static,"
     "--lookup-cache-dynamic",
     kCopies},
    {"--spec-decoding-acceptance-method", "did you mean --verify coupled|rejection?"},
};

constexpr Answer kServing[] = {
    {"--alias", "did you mean --served-model-name NAME?"},
    {"--model-id,-m", "did you mean --model DIR?"},
    {"--hf-repo", "did you mean --model org/name, of the local cache?"},
    {"--revision", "did you mean --model org/name@revision?"},
    {"--tokenizer,--tokenizer-path,--hf-config-path",
     "the tokenizer is the one in the directory of --model: leave it out"},
    {"--chat-template,--jinja,--chat-template-file",
     "did you mean --conv-template NAME? The checkpoint's own template is read from its "
     "directory"},
    {"--generation-config,--override-generation-config,--preferred-sampling-params,--temp,"
     "--temperature,--top-p,--top-k,--min-p,--max-new-tokens,--n-predict",
     kDefaults},
    {"--seed,--random-seed", kSeed},
    {"--dimensions", "requests say it themselves (\"dimensions\"): leave it out"},
    {"--runner,--task,--embedding,--embeddings,--convert", kEmbedding},
    {"--reranking,--rerank", kReranking},
    {"--pooling,--pooler-config,--override-pooler-config",
     "the model's directory says it: leave it out"},
    {"--auto-truncate", "requests say it themselves (\"truncate\"): leave it out"},
    {"--embed-in-truncate", "FastChat's embeddings are always cut to the context: leave it out"},
    {"--stream-interval", "requests say it themselves (\"stream_interval\"): leave it out"},
    {"--multimodal,--limit-mm-per-prompt,--enable-multimodal,--mmproj", kNoMedia},
    {"--enable-lora,--lora,--lora-paths,--lora-modules,--max-loras,--max-lora-rank,--peft",
     kNoAdapters},
    {"--enable-auto-tool-choice,--tool-call-parser,--reasoning-parser,--enable-reasoning,"
     "--reasoning-format,--reasoning-budget,--guided-decoding-backend",
     kNoTools},
    {"--cors-allow-origins,--allowed-origins", "did you mean --allowed-origin ORIGIN?"},
    {"--root-path", "a proxy in front moves paths (examples/nginx.conf)"},
    {"--ssl-keyfile,--ssl-certfile,--ssl-key-file,--ssl-cert-file,--ssl-ca-certs,--ssl", kTls},
    {"--hostname", "did you mean --host HOST?"},
    {"--timeout,--timeout-keep-alive", "limits on slow clients are fixed: leave it out"},
    {"--enable-metrics,--metrics,--disable-log-stats", "/metrics is always there: leave it out"},
    {"--slots,--props", "/server_info and /metrics are always there: leave it out"},
    {"--log-level,--log-requests,--disable-log-requests,--enable-log-requests,--uvicorn-log-level,"
     "--log-level-http,--max-log-len,--verbose",
     kLogged},
    {"--worker-id", "did you mean --log-file FILE?"},
    {"--no-register", "without --controller nothing is registered: leave it out"},
};

}  // namespace

void AnswerForeignFlags(CLI::App& command) {
  const auto add = [&command](const auto& answers) {
    for (const auto& [flags, answer] : answers) {
      for (const std::string& flag : std::vector<std::string>(absl::StrSplit(flags, ','))) {
        const auto refuse = [flag, answer = answer](const CLI::results_t&) -> bool {
          throw CLI::ValidationError(flag, answer);
        };
        command.add_option(flag, refuse)->expected(0, 1)->group("");
      }
    }
  };
  add(kMachine);
  add(kScheduling);
  add(kSpeculation);
  add(kServing);
}

}  // namespace shortlist
