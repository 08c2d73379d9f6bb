#include "bench/load/load_flags.h"

#include <cstdlib>
#include <iostream>

#include "CLI/CLI.hpp"

namespace shortlist {

void AddLoadFlags(CLI::App& app, LoadFlags& flags, const std::string& encoding_format) {
  flags.encoding_format = encoding_format;
  app.add_option("--base-url", flags.base_url, "http://host:port/v1; without a path, /v1 is meant")
      ->required();
  app.add_option("--model", flags.embeddings.model, "As the server names the encoder")
      ->type_name("NAME")
      ->default_str("the server's own");
  app.add_option("--api-key", flags.api_key, "Sent as a bearer token")
      ->type_name("KEY")
      ->default_str("$OPENAI_API_KEY");
  app.add_option("--encoding-format", flags.encoding_format, "Of the vectors")
      ->check(CLI::IsMember({"float", "base64"}))
      ->capture_default_str();
  app.add_option("--ids", flags.ids, "Send token ids in place of words")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  app.add_option("--vocab-size", flags.embeddings.vocab_size, "Ids are below it")
      ->check(CLI::Range(20, 1'000'000))
      ->capture_default_str();
  app.add_option("--timeout", flags.timeout_s, "Seconds that a reply may take")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  app.add_option("--seed", flags.seed, "Of the inputs")->capture_default_str();
  app.add_flag("--json", flags.json, "One line of JSON in place of the table");
}

absl::Status ReadLoadFlags(LoadFlags& flags) {
  const absl::StatusOr<BaseUrl> url = BaseUrl::Parse(flags.base_url);
  if (!url.ok()) {
    return absl::InvalidArgumentError("--base-url: " + std::string(url.status().message()));
  }
  if (const char* key = std::getenv("OPENAI_API_KEY"); key && flags.api_key.empty()) {
    flags.api_key = key;
  }
  if (flags.api_key.find_first_of("\r\n") != flags.api_key.npos) {
    return absl::InvalidArgumentError("--api-key: it has a line break");
  }
  flags.http = {
      .url = *url, .api_key = flags.api_key, .timeout = std::chrono::seconds(flags.timeout_s)};
  flags.embeddings.is_base64 = flags.encoding_format == "base64";
  flags.embeddings.sends_ids = flags.ids == "on";
  return absl::OkStatus();
}

int ParseLoadFlags(CLI::App& app, LoadFlags& flags, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::cerr << app.get_name() << ": " << error.what() << "\n";
    return 2;
  }
  const absl::Status status = ReadLoadFlags(flags);
  if (status.ok()) return -1;
  std::cerr << app.get_name() << ": " << status.message() << "\n";
  return 2;
}

}  // namespace shortlist
