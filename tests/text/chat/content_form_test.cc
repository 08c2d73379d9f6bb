#include "text/chat/content_form.h"

#include <gtest/gtest.h>

#include <string>

#include "nlohmann/json.hpp"
#include "text/chat/chat_template.h"

namespace shortlist {
namespace {

using nlohmann::ordered_json;

ChatTemplate TemplateOf(const std::string& source) {
  return ChatTemplate::Create({{"default", source}}, {}).value();
}

/// The prompt of a chat in which `role` says "one " and "two" in two parts.
std::string PromptOfParts(const ChatTemplate& chat_template) {
  const ordered_json content = ContentOfParts(chat_template.content_form("user"), {"one ", "two"});
  return chat_template
      .Render({.messages = ordered_json::array({{{"role", "user"}, {"content", content}}})})
      .value()
      .text;
}

std::string PromptOfText(const ChatTemplate& chat_template) {
  const ordered_json content = ContentOfText(chat_template.content_form("user"), "one");
  return chat_template
      .Render({.messages = ordered_json::array({{{"role", "user"}, {"content", content}}})})
      .value()
      .text;
}

TEST(ContentFormTest, ConcatenatingTemplateReadsTexts) {
  for (const char* source :
       {"{% for m in messages %}{{ m.role + ':' + m.content }};{% endfor %}",
        "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}",
        "{% for m in messages %}{{ m.role }}:{{ m.content | trim }};{% endfor %}"}) {
    const ChatTemplate chat_template = TemplateOf(source);
    EXPECT_FALSE(chat_template.content_form("user").parts) << source;
    EXPECT_EQ(PromptOfParts(chat_template), "user:one \ntwo;") << source;
    EXPECT_EQ(PromptOfText(chat_template), "user:one;") << source;
  }
}

TEST(ContentFormTest, TemplateWithLoopReadsPartsOnly) {
  const ChatTemplate chat_template = TemplateOf(
      "{% for m in messages %}<{{ m['role'] }}>{% for p in m['content'] %}"
      "{% if p['type'] == 'text' %}{{ p['text'] }}{% endif %}{% endfor %}</s>{% endfor %}");
  EXPECT_FALSE(chat_template.content_form("user").text);
  EXPECT_EQ(PromptOfParts(chat_template), "<user>one two</s>");
  EXPECT_EQ(PromptOfText(chat_template), "<user>one</s>");
}

TEST(ContentFormTest, TemplateWithBothBranchesGetsFormOfRequest) {
  const ChatTemplate chat_template = TemplateOf(
      "{% for m in messages %}{% if m.content is string %}[{{ m.content }}]{% else %}"
      "{% for p in m.content %}({{ p.text | trim }}){% endfor %}{% endif %}{% endfor %}");
  EXPECT_EQ(PromptOfParts(chat_template), "(one)(two)");
  EXPECT_EQ(PromptOfText(chat_template), "[one]");
}

TEST(ContentFormTest, FormMayDifferByRole) {
  const ChatTemplate chat_template = TemplateOf(
      "{% for m in messages %}{% if m.role == 'user' %}{% for p in m.content %}{{ p.text }}"
      "{% endfor %}{% else %}{{ m.role + m.content }}{% endif %}{% endfor %}");
  EXPECT_TRUE(chat_template.content_form("user").parts);
  EXPECT_FALSE(chat_template.content_form("user").text);
  for (const char* role : {"system", "developer", "assistant", "tool"}) {
    EXPECT_FALSE(chat_template.content_form(role).parts) << role;
    EXPECT_TRUE(chat_template.content_form(role).text) << role;
  }
}

TEST(ContentFormTest, TemplateThatNeedsSystemMessageReadsTexts) {
  const ChatTemplate chat_template = TemplateOf(
      "{% if messages[0].role != 'system' %}{{ raise_exception('no system') }}{% endif %}"
      "{% for m in messages %}{{ m.content }}{% endfor %}");
  EXPECT_TRUE(chat_template.content_form("user").text);
  EXPECT_FALSE(chat_template.content_form("user").parts);
}

TEST(ContentFormTest, EmptyTextStaysText) {
  EXPECT_EQ(ContentOfText({.text = false, .parts = true}, ""), "");
}

}  // namespace
}  // namespace shortlist
