#include "text/chat/chat_template.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/text/test_util.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::filesystem::path GoldenDir() {
  return std::filesystem::path(SHORTLIST_SOURCE_DIR) / "tests/reference/golden/chat";
}

/// 5 March 2026, 07:08:09, as in make_chat_golden.py.
std::tm FixedNow() {
  std::tm now = {};
  now.tm_year = 126;
  now.tm_mon = 2;
  now.tm_mday = 5;
  now.tm_hour = 7;
  now.tm_min = 8;
  now.tm_sec = 9;
  now.tm_isdst = -1;
  std::mktime(&now);
  return now;
}

ChatTemplate FromSource(const std::string& source) {
  return ChatTemplate::Create({{"default", source}}, {{"bos_token", "<s>"}, {"eos_token", "</s>"}})
      .value();
}

Chat ChatOf(const std::string& messages) { return {.messages = ordered_json::parse(messages)}; }

absl::StatusOr<std::string> RenderText(const std::string& source, const Chat& chat) {
  auto chat_template = ChatTemplate::Create({{"default", source}}, {});
  if (!chat_template.ok()) return chat_template.status();
  auto rendered = chat_template->Render(chat);
  if (!rendered.ok()) return rendered.status();
  return rendered->text;
}

const char* const kHello = R"([{"role": "user", "content": "hello"}])";

/// Returns the text around the first differing byte of two texts.
std::string FirstDifference(const std::string& expected, const std::string& got) {
  size_t at = 0;
  while (at < expected.size() && at < got.size() && expected[at] == got[at]) ++at;
  const size_t begin = at < 60 ? 0 : at - 60;
  const auto part = [&](const std::string& text) {
    return ordered_json(text.substr(begin, 120))
        .dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  };
  return "byte " + std::to_string(at) + "\n expected " + part(expected) + "\n got      " +
         part(got);
}

/// Renders the cases of a family and counts those that differ from the reference.
void CheckFamily(const ordered_json& family, const std::string& source) {
  const auto chat_template = ChatTemplate::Create(
      {{"default", source}}, family["special_tokens"].get<std::map<std::string, std::string>>());
  ASSERT_TRUE(chat_template.ok()) << family["name"] << ": " << chat_template.status();
  size_t num_wrong = 0, num_rendered = 0;
  for (const auto& expected : family["cases"]) {
    const Chat chat{.messages = expected["messages"],
                    .tools = expected["tools"],
                    .add_generation_prompt = expected["add_generation_prompt"].get<bool>(),
                    .variables = expected["variables"],
                    .now = FixedNow()};
    const auto rendered = chat_template->Render(chat);
    const bool renders = expected.contains("text");
    num_rendered += renders;
    if (renders == rendered.ok() && (!renders || rendered->text == expected["text"])) continue;
    if (++num_wrong > 2) continue;
    ADD_FAILURE() << family["name"] << "\n messages " << expected["messages"] << "\n variables "
                  << expected["variables"] << "\n "
                  << (!renders        ? "expected " + expected["error"].dump()
                      : rendered.ok() ? FirstDifference(expected["text"], rendered->text)
                                      : rendered.status().ToString());
  }
  EXPECT_EQ(num_wrong, 0u) << family["name"];
  std::cout << family["name"] << ": " << family["cases"].size() << " cases, " << num_rendered
            << " rendered, " << num_wrong << " differ\n";
}

TEST(ChatTemplateTest, RendersLikeTransformers) {
  size_t num_families = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GoldenDir())) {
    if (entry.path().extension() != ".jinja") continue;
    auto golden = entry.path();
    CheckFamily(ordered_json::parse(ReadAll(golden.replace_extension(".json").string())),
                ReadAll(entry.path().string()));
    ++num_families;
  }
  EXPECT_GT(num_families, 5u);
}

TEST(ChatTemplateTest, ContinuesFinalMessageLikeTransformers) {
  const auto golden = ordered_json::parse(ReadAll((GoldenDir() / "continued.json").string()));
  const auto special_tokens = golden["special_tokens"].get<std::map<std::string, std::string>>();
  size_t num_rendered = 0, num_refused = 0;
  for (const auto& expected : golden["cases"]) {
    const std::string family = expected["family"];
    const auto chat_template = ChatTemplate::Create(
        {{"default", ReadAll((GoldenDir() / (family + ".jinja")).string())}}, special_tokens);
    ASSERT_TRUE(chat_template.ok()) << family << ": " << chat_template.status();
    const auto rendered = chat_template->Render({.messages = expected["messages"],
                                                 .add_generation_prompt = false,
                                                 .continue_final_message = true,
                                                 .now = FixedNow()});
    const bool renders = expected.contains("text");
    ++(renders ? num_rendered : num_refused);
    ASSERT_EQ(rendered.ok(), renders) << family << " " << expected << " " << rendered.status();
    if (!renders) continue;
    EXPECT_EQ(rendered->text, expected["text"]) << family;
    if (!rendered->content.empty()) {
      EXPECT_LE(rendered->content.back().end, rendered->text.size());
    }
  }
  EXPECT_GT(num_rendered, 40u);
  EXPECT_GT(num_refused, 0u);
}

TEST(ChatTemplateTest, FinalMessageWithoutTextIsNotContinued) {
  for (const char* messages :
       {R"([{"role": "assistant"}])", R"([{"role": "assistant", "content": 1}])",
        R"([{"role": "assistant", "content": []}])",
        R"([{"role": "assistant", "content": [{"type": "image"}]}])", "[1]", "[]", "1"}) {
    Chat chat = ChatOf(messages);
    chat.continue_final_message = true;
    const auto rendered = FromSource("{{ messages }}").Render(chat);
    EXPECT_EQ(rendered.status().code(), absl::StatusCode::kInvalidArgument) << messages;
  }
  Chat chat = {.messages = ordered_json::array({{{"role", "assistant"}, {"content", "\xff"}}})};
  chat.continue_final_message = true;
  EXPECT_FALSE(FromSource("{{ messages }}").Render(chat).ok());
}

TEST(ChatTemplateTest, ReadsLanguageLikeJinja) {
  const auto golden = ordered_json::parse(ReadAll((GoldenDir() / "language.json").string()));
  for (const auto& expected : golden["cases"]) {
    const auto source = expected["template"].get<std::string>();
    Chat chat = ChatOf(kHello);
    chat.variables = golden["values"];
    chat.now = FixedNow();
    const auto rendered = RenderText(source, chat);
    if (expected.contains("text")) {
      EXPECT_TRUE(rendered.ok()) << source << " gives " << rendered.status() << "\n expected "
                                 << expected["text"];
      EXPECT_EQ(rendered.value_or(""), expected["text"].get<std::string>()) << source;
    } else {
      EXPECT_FALSE(rendered.ok()) << source << " gives " << rendered.value_or("") << "\n expected "
                                  << expected["error"];
    }
  }
}

/// Sources that Jinja renders and this interpreter rejects by name.
constexpr const char* kRefused[] = {"joiner is defined",  "cycler is defined", "lipsum is defined",
                                    "self is defined",    "\"%c\" % 65",       "\"%r\" % \"a\"",
                                    "\"{:c}\".format(65)"};

TEST(ChatTemplateTest, FormatsAndMacrosMatchJinja) {
  const auto golden = ordered_json::parse(ReadAll((GoldenDir() / "more_language.json").string()));
  Chat chat = ChatOf(kHello);
  chat.variables = golden["values"];
  for (const ordered_json& expected : golden["cases"]) {
    const auto source = expected["template"].get<std::string>();
    const bool is_refused = std::any_of(
        std::begin(kRefused), std::end(kRefused),
        [&](const char* refused) { return source == std::string("{{ ") + refused + " }}"; });
    const auto rendered = RenderText(source, chat);
    const bool renders = expected["text"].is_string() && !is_refused;
    EXPECT_EQ(rendered.ok(), renders)
        << source << " gives " << rendered.status() << rendered.value_or("") << "\n expected "
        << expected["text"];
    if (!rendered.ok() || !renders) continue;
    EXPECT_EQ(*rendered, expected["text"].get<std::string>()) << source;
  }
}

TEST(ChatTemplateTest, GeneratorsMatchJinja) {
  const auto golden = ordered_json::parse(ReadAll((GoldenDir() / "generators.json").string()));
  Chat chat = ChatOf(kHello);
  chat.variables = golden["values"];
  const auto check = [&chat](const std::string& source, const ordered_json& expected) {
    const auto rendered = RenderText(source, chat);
    EXPECT_EQ(rendered.ok(), expected.is_string())
        << source << "\n gives    " << rendered.status() << rendered.value_or("") << "\n expected "
        << expected;
    if (!rendered.ok() || !expected.is_string()) return;
    EXPECT_EQ(*rendered, expected.get<std::string>()) << source;
  };
  const ordered_json& consumers = golden["consumers"];
  for (size_t i = 0; i < golden["generators"].size(); ++i) {
    const std::string begin = "{% set g = " + golden["generators"][i].get<std::string>() + " %}";
    for (size_t k = 0; k < consumers.size(); ++k) {
      check(begin + consumers[k].get<std::string>(), golden["texts"][i][k]);
    }
  }
  for (const ordered_json& loop : golden["loops"]) check(loop["template"], loop["text"]);
}

TEST(ChatTemplateTest, RendersGivenCasesLikeTransformers) {
  const char* path = std::getenv("SHORTLIST_CHAT_CASES");
  if (path == nullptr) GTEST_SKIP() << "SHORTLIST_CHAT_CASES names no file of make_chat_golden.py";
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    const ordered_json family = ordered_json::parse(line);
    CheckFamily(family, family["template"].get<std::string>());
  }
}

std::vector<std::string> ContentOf(const RenderedChat& chat) {
  std::vector<std::string> parts;
  for (const ByteRange& range : chat.content) {
    parts.push_back(chat.text.substr(range.begin, range.end - range.begin));
  }
  return parts;
}

TEST(ChatTemplateTest, DistinguishesContentFromTemplate) {
  const auto rendered =
      FromSource(
          "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content | trim }}"
          "<|im_end|>\n{% endfor %}{{ tools[0] | tojson }}{{ name | upper }}{{ bos_token }}")
          .Render({.messages = ordered_json::parse(
                       R"([{"role": "user", "content": " a <|im_end|> "},
                           {"role": "<|x|>", "content": ""}])"),
                   .tools = ordered_json::parse(R"([{"f": 1}])"),
                   .variables = {{"name", "kim"}}});
  ASSERT_TRUE(rendered.ok()) << rendered.status();
  EXPECT_EQ(rendered->text,
            "<|im_start|>user\na <|im_end|><|im_end|>\n<|im_start|><|x|>\n<|im_end|>\n"
            "{\"f\": 1}KIM<s>");
  EXPECT_THAT(ContentOf(*rendered), ElementsAre("a <|im_end|>", "<|x|>", "\"f\"", "KIM"));
}

TEST(ChatTemplateTest, ContentStaysContentThroughOperations) {
  const Chat chat = ChatOf(R"([{"role": "user", "content": "ab,cd"}])");
  const std::vector<std::pair<std::string, std::vector<std::string>>> expected = {
      {"{{ c[1:3] ~ '-' ~ c[::-1] }}", {"b,", "dc,ba"}},
      {"{{ c.split(',') | join('+') }}", {"ab", "cd"}},
      {"{{ c | replace(',', ';') }}", {"ab", "cd"}},
      {"{{ ('<' + c + '>')[1:3] }}", {"ab"}},
      {"{{ 'x{}y'.format(c) }}", {"ab,cd"}},
      {"{% set b %}[{{ c }}]{% endset %}{{ b | trim('[') }}", {"ab,cd"}},
      {"{% macro m(x) %}({{ x }}){% endmacro %}{{ m(c) | string }}", {"ab,cd"}},
      {"{{ [c] }}", {"'ab,cd'"}},
      {"{{ c | length }}{{ c == 'x' }}", {}},
      {"{% for x in c %}{{ x }}{% endfor %}", {"ab,cd"}},
      {"{{ ('>\n' ~ c) | indent(2) }}", {"ab,cd"}}};
  for (const auto& [source, parts] : expected) {
    const auto rendered = FromSource("{% set c = messages[0].content %}" + source).Render(chat);
    ASSERT_TRUE(rendered.ok()) << source << rendered.status();
    EXPECT_EQ(ContentOf(*rendered), parts) << source;
  }
}

/// Every text but roles becomes U+E000, as often as it has characters.
void MaskTexts(ordered_json& json) {
  if (json.is_string()) {
    std::string masked;
    for (const char c : json.get_ref<const std::string&>()) {
      if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) masked += "\xEE\x80\x80";
    }
    json = masked;
  }
  if (!json.is_structured()) return;
  for (auto& [key, value] : json.items()) {
    if (key != "role" && key != "type" && key != "id") MaskTexts(value);
  }
}

TEST(ChatTemplateTest, AllContentIsMarkedInEveryFamily) {
  for (const auto& entry : std::filesystem::directory_iterator(GoldenDir())) {
    if (entry.path().extension() != ".jinja") continue;
    auto golden = entry.path();
    const ChatTemplate chat_template = FromSource(ReadAll(entry.path().string()));
    const auto family = ordered_json::parse(ReadAll(golden.replace_extension(".json").string()));
    for (const auto& one : family["cases"]) {
      Chat chat{.messages = one["messages"], .tools = one["tools"], .now = FixedNow()};
      MaskTexts(chat.messages);
      MaskTexts(chat.tools);
      const auto rendered = chat_template.Render(chat);
      if (!rendered.ok()) continue;
      std::string from_template;
      size_t at = 0;
      for (const ByteRange& range : rendered->content) {
        ASSERT_LT(range.begin, range.end);
        ASSERT_TRUE(at < range.begin || at == 0) << "ranges touch";
        from_template += rendered->text.substr(at, range.begin - at);
        at = range.end;
      }
      ASSERT_LE(at, rendered->text.size());
      from_template += rendered->text.substr(at);
      EXPECT_THAT(from_template, ::testing::Not(HasSubstr("\xEE\x80\x80"))) << entry.path();
    }
  }
}

TEST(ChatTemplateTest, ReasoningIsReadUnderEachName) {
  for (const std::string name : {"reasoning_content", "thinking", "reasoning"}) {
    const auto text =
        RenderText("{{ messages[0].reasoning_content }},{{ messages[0].thinking }}",
                   ChatOf(R"([{"role": "assistant", "content": null, ")" + name + R"(": "hm"}])"));
    EXPECT_EQ(text.value(), "hm,hm");
  }
}

TEST(ChatTemplateTest, NullMembersCountAsMissing) {
  EXPECT_EQ(RenderText("{{ 'content' in messages[0] }}{{ tools is none }}{{ tools is defined }}",
                       ChatOf(R"([{"role": "user", "content": null}])"))
                .value(),
            "FalseTrueTrue");
}

TEST(ChatTemplateTest, MessageOfCallsHasContentWhereTheTemplateNeedsIt) {
  const std::string calls = R"([{"role": "user", "content": "q"}, {"role": "assistant", "content":
      null, "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}])";
  const std::string loop = "{% for m in messages %}", shown = "{{ m.tool_calls[0].function.name }}";
  // Qwen 3 searches the content.
  EXPECT_EQ(*RenderText(loop +
                            "{% if '</think>' not in m.content %}[{{ m.content }}]{% endif %}"
                            "{% if m.tool_calls %}" +
                            shown + "{% endif %}{% endfor %}",
                        ChatOf(calls)),
            "[q][]f");
  EXPECT_EQ(*RenderText(loop + "{{ 'content' in m }}{% if m.tool_calls %}" + shown +
                            "{% endif %}{% endfor %}",
                        ChatOf(calls)),
            "TrueFalsef");
}

TEST(ChatTemplateTest, KnowsRolesInSource) {
  const ChatTemplate plain = FromSource("{% for m in messages %}{{ m.role }}{% endfor %}");
  EXPECT_FALSE(plain.KnowsRole("developer"));
  const auto one_of_two = ChatTemplate::Create(
      {{"default", "x"}, {"tool_use", "{{ messages[0].role == 'developer' }}"}}, {});
  ASSERT_TRUE(one_of_two.ok()) << one_of_two.status();
  EXPECT_TRUE(one_of_two->KnowsRole("developer"));
}

TEST(ChatTemplateTest, DetectsIgnoredToolRole) {
  const std::string begin = "{% for m in messages %}", end = "{% endfor %}";
  const std::string user = "{% if m.role == 'user' %}{{ m.content }}{% endif %}";
  const std::string alternates =
      "{% if (m.role == 'user') != (loop.index0 % 2 == 0) or m.role == 'x' %}"
      "{{ raise_exception('roles') }}{% endif %}";
  const std::string strict =
      "{% if m.role not in ['user', 'assistant'] %}{{ raise_exception('role') }}{% endif %}";
  EXPECT_FALSE(FromSource(begin + "{{ m.role ~ m.content }}" + end).IgnoresToolRole());
  EXPECT_FALSE(FromSource(begin + "{{ m }}" + end).IgnoresToolRole());
  EXPECT_FALSE(FromSource(begin + strict + user + end).IgnoresToolRole());
  EXPECT_FALSE(FromSource(begin + user + "{{ 'tool' }}" + end).IgnoresToolRole());
  EXPECT_TRUE(FromSource(begin + user + end).IgnoresToolRole());
  EXPECT_TRUE(FromSource(begin + alternates + user + end).IgnoresToolRole());
  const auto of_two = ChatTemplate::Create(
      {{"default", begin + user + end}, {"tool_use", begin + "{{ m.content }}" + end}}, {});
  ASSERT_TRUE(of_two.ok()) << of_two.status();
  EXPECT_FALSE(of_two->IgnoresToolRole());
}

TEST(ChatTemplateTest, RejectsInvalidChat) {
  const auto refusal = [](const Chat& chat) {
    return std::string(RenderText("{{ messages }}", chat).status().message());
  };
  EXPECT_THAT(refusal(ChatOf("[]")), HasSubstr("at least one message"));
  EXPECT_THAT(refusal(ChatOf("{}")), HasSubstr("at least one message"));
  EXPECT_THAT(refusal(ChatOf(R"([{"role": "user"}, 3])")), HasSubstr("messages[1]: not an object"));
  EXPECT_THAT(refusal(ChatOf(R"([{"n": 18446744073709551615}])")),
              HasSubstr("integer 18446744073709551615 above 9223372036854775807"));
  Chat chat = ChatOf(kHello);
  chat.tools = ordered_json::object();
  EXPECT_THAT(refusal(chat), HasSubstr("tools: neither a list nor null"));
  chat = ChatOf(kHello);
  chat.variables = {{"messages", 1}};
  EXPECT_THAT(refusal(chat), HasSubstr("'messages' is taken"));
  chat.variables = 5;
  EXPECT_THAT(refusal(chat), HasSubstr("not an object of at most 64"));
  chat = ChatOf(kHello);
  chat.messages[0]["content"] = "a\xFF";
  EXPECT_THAT(refusal(chat), HasSubstr("messages[0]: text that is not valid UTF-8 at byte 1"));
  chat.messages[0]["content"] = ordered_json::array();
  for (int i = 0; i < 200; ++i) {
    chat.messages[0]["content"] = ordered_json::array({chat.messages[0]["content"]});
  }
  EXPECT_THAT(refusal(chat), HasSubstr("nested deeper than 100 levels"));
}

using Files = std::map<std::string, std::string>;

/// A model directory of the given files.
class ModelDir {
 public:
  explicit ModelDir(const Files& files) : dir_(FreshDir()) {
    for (const auto& [name, text] : files) {
      std::filesystem::create_directories((dir_ / name).parent_path());
      std::ofstream(dir_ / name, std::ios::binary) << text;
    }
  }
  ~ModelDir() { std::filesystem::remove_all(dir_); }
  ModelDir(const ModelDir&) = delete;
  ModelDir& operator=(const ModelDir&) = delete;

  std::string Render(const Chat& chat) const {
    const auto chat_template = ChatTemplate::Load(ModelSource::OfDirectory(dir_.string()));
    if (!chat_template.ok()) return chat_template.status().ToString();
    const auto rendered = chat_template->Render(chat);
    return rendered.ok() ? rendered->text : rendered.status().ToString();
  }

 private:
  std::filesystem::path dir_;
};

TEST(ChatTemplateTest, LoadsFromEachPlace) {
  const Chat chat = ChatOf(kHello);
  Chat with_tools = chat;
  with_tools.tools = ordered_json::array();
  const std::string config = R"({"chat_template": "config {{ bos_token }}", "bos_token": "<s>"})";
  EXPECT_EQ(ModelDir(Files{{"tokenizer_config.json", config}}).Render(chat), "config <s>");
  const std::string image = R"({"chat_template": "{{ image_token }}", "image_token": "<i>"})";
  EXPECT_EQ(ModelDir(Files{{"tokenizer_config.json", image}}).Render(chat), "<i>");
  const std::string named = R"({"chat_template": [{"name": "default", "template": "one"},
                                                  {"name": "tool_use", "template": "two"}]})";
  EXPECT_EQ(ModelDir(Files{{"tokenizer_config.json", named}}).Render(chat), "one");
  EXPECT_EQ(ModelDir(Files{{"tokenizer_config.json", named}}).Render(with_tools), "two");
  EXPECT_EQ(ModelDir(Files{{"chat_template.json", R"({"chat_template": "json"})"}}).Render(chat),
            "json");
  const ModelDir files(
      {{"tokenizer_config.json", config},
       {"special_tokens_map.json", R"({"eos_token": {"content": "</s>"}, "bos_token": "other"})"},
       {"chat_template.jinja", "file {{ bos_token ~ eos_token }}\n"},
       {"additional_chat_templates/tool_use.jinja", "tools"}});
  EXPECT_EQ(files.Render(chat), "file other</s>");
  EXPECT_EQ(files.Render(with_tools), "tools");
}

TEST(ChatTemplateTest, BadNamedTemplateAffectsOnlyItself) {
  const Chat chat = ChatOf(kHello);
  Chat with_tools = chat;
  with_tools.tools = ordered_json::array();
  const auto of_config = [](const std::string& tool_use) {
    return Files{{"tokenizer_config.json",
                  R"({"chat_template": [{"name": "default", "template": "one"},
                                        {"name": "tool_use", "template": )" +
                      tool_use + R"(}, {"name": "rag", "template": "{% nothing %}"}]})"}};
  };
  const auto of_file = [](const std::string& tool_use) {
    return Files{{"chat_template.jinja", "one"},
                 {"additional_chat_templates/tool_use.jinja", tool_use},
                 {"additional_chat_templates/rag.jinja", "{{ 1 | shout }}"}};
  };
  const std::pair<Files, std::string> wrong[] = {
      {of_config(R"("{{ messages | groupby('role') }}")"), "filter 'groupby' is not supported"},
      {of_config(R"("{% if %}")"), "expected an expr"},
      {of_config("7"), "neither a text nor a list"},
      {of_file("\n{% for %}"), "line 2"},
      {of_file("a\xFF"), "UTF-8 at byte 1"},
      {of_file(std::string(ChatTemplate::kMaxBytes + 1, ' ')), "1048577"}};
  for (const auto& [files, what] : wrong) {
    const ModelDir dir(files);
    EXPECT_EQ(dir.Render(chat), "one");
    EXPECT_THAT(dir.Render(with_tools), HasSubstr("INVALID_ARGUMENT"));
    EXPECT_THAT(dir.Render(with_tools), HasSubstr("\"tool_use\""));
    EXPECT_THAT(dir.Render(with_tools), HasSubstr(what));
  }
}

TEST(ChatTemplateTest, AdditionalFilesCombineWithAnySource) {
  const Chat chat = ChatOf(kHello);
  Chat with_tools = chat;
  with_tools.tools = ordered_json::array({ordered_json::object()});
  for (const char* name : {"tokenizer_config.json", "chat_template.json"}) {
    const ModelDir dir(Files{{name, R"({"chat_template": "one"})"},
                             {"additional_chat_templates/tool_use.jinja", "two"}});
    EXPECT_EQ(dir.Render(chat), "one");
    EXPECT_EQ(dir.Render(with_tools), "two");
  }
  const ModelDir named(
      Files{{"tokenizer_config.json", R"({"chat_template": [{"name": "default", "template": "one"},
                                                  {"name": "tool_use", "template": "three"}]})"},
            {"additional_chat_templates/tool_use.jinja", "two"}});
  EXPECT_EQ(named.Render(with_tools), "two");
  const ModelDir alone(Files{{"additional_chat_templates/tool_use.jinja", "two"}});
  EXPECT_THAT(alone.Render(with_tools), HasSubstr("NOT_FOUND"));
}

TEST(ChatTemplateTest, RejectsDamagedFiles) {
  const auto refusal = [](const std::string& name, const std::string& text) {
    return ModelDir(Files{{name, text}}).Render(ChatOf(kHello));
  };
  EXPECT_THAT(refusal("config.json", "{}"), HasSubstr("NOT_FOUND"));
  EXPECT_THAT(refusal("tokenizer_config.json", "{}"), HasSubstr("no chat template in"));
  EXPECT_THAT(refusal("tokenizer_config.json", "{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal("tokenizer_config.json", "[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal("tokenizer_config.json", R"({"chat_template": 7})"), HasSubstr("neither"));
  EXPECT_THAT(refusal("tokenizer_config.json", R"({"chat_template": [{"name": "default"}]})"),
              HasSubstr("neither"));
  EXPECT_THAT(
      refusal("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": ""}]})"),
      HasSubstr("tokenizer_config.json: chat_template: none is named \"default\""));
  EXPECT_THAT(refusal("tokenizer_config.json", R"({"chat_template": "", "bos_token": [1]})"),
              HasSubstr("bos_token is not a text"));
  EXPECT_THAT(refusal("chat_template.jinja", "\n{% if %}"), HasSubstr("line 2: expected an expr"));
  EXPECT_THAT(refusal("chat_template.jinja", "{% if false %}\n{{ 1 | shout }}{% endif %}"),
              HasSubstr("chat template \"default\": line 2: filter 'shout' is not supported"));
  EXPECT_THAT(refusal("chat_template.jinja", "a\xFF"), HasSubstr("UTF-8 at byte 1"));
  EXPECT_THAT(refusal("chat_template.jinja", std::string(ChatTemplate::kMaxBytes + 1, ' ')),
              HasSubstr("1048577"));
}

}  // namespace
}  // namespace shortlist
