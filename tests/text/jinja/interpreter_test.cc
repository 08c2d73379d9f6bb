#include "text/jinja/interpreter.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "text/jinja/parser.h"

namespace shortlist::jinja {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<std::string> RenderSource(const std::string& source, Text content = Text()) {
  auto block = ParseTemplate(source);
  if (!block.ok()) return block.status();
  auto text = Render(*block, {{"c", Value(std::move(content))}}, std::tm{});
  if (!text.ok()) return text.status();
  return text->bytes();
}

std::string Error(const std::string& source, Text content = Text()) {
  return RenderSource(source, std::move(content)).status().ToString();
}

std::string Repeated(const std::string& part, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += part;
  return all;
}

TEST(TemplateInterpreterTest, BoundsSteps) {
  EXPECT_THAT(Error("{% set r = range(999) %}{% for a in range(99999) %}{% for b in r %}{{ b }}"
                    "{% endfor %}{% endfor %}"),
              HasSubstr("INVALID_ARGUMENT: line 1: more than 10000000 steps"));
}

TEST(TemplateInterpreterTest, ErrorsShortenLongInput) {
  const std::string name(10'000, 'x');
  for (const std::string& source :
       {"{{ " + name + ".a }}", "{{ raise_exception('" + name + "') }}", "{% " + name + " %}",
        "{{ 'a' | " + name + " }}", "{{ '" + name + "' + 1 + '" + name + "' }}",
        "{% set ns = namespace() %}{{ ns." + name + ".b }}"}) {
    EXPECT_LT(Error(source).size(), 300u) << source.substr(0, 30);
  }
}

TEST(TemplateInterpreterTest, BoundsRecursion) {
  EXPECT_THAT(Error("\n{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
              HasSubstr("line 2: evaluation nested deeper than 500 levels"));
  EXPECT_THAT(Error("{% macro a(x) %}{{ b(x) }}{% endmacro %}{% macro b(x) %}{% if x %}{{ a(x) }}"
                    "{% endif %}{% endmacro %}{{ a(1) }}"),
              HasSubstr("nested deeper"));
}

TEST(TemplateInterpreterTest, BoundsTexts) {
  const std::string loop = "{% set ns = namespace(s='x') %}{% for i in range(99) %}";
  EXPECT_THAT(Error(loop + "{% set ns.s = ns.s ~ ns.s %}{% endfor %}"),
              HasSubstr("a text longer than 33554432 bytes"));
  EXPECT_THAT(Error("{{ 'x' * 99999999999 }}"), HasSubstr("repeated 99999999999 times"));
  EXPECT_THAT(Error("{{ (['x' * 1000000] * 100) | join }}"), HasSubstr("a text longer than"));
  EXPECT_THAT(Error("{{ ('x' * 1000000).replace('x', 'y' * 1000000) }}"),
              HasSubstr("a text longer than"));
  EXPECT_THAT(Error("{% for i in range(99) %}{{ 'x' * 1000000 }}{% endfor %}"),
              HasSubstr("a text longer than"));
  EXPECT_THAT(Error("{{ ['x' * 1000000] * 100 }}"), HasSubstr("a text longer than"));
  EXPECT_THAT(Error("{{ (['x' * 1000000] * 100) | tojson }}"), HasSubstr("a text longer than"));
  EXPECT_THAT(Error("{{ ('x' * 1000000) | indent('y' * 40000000) }}"), HasSubstr("INVALID_ARG"));
}

TEST(TemplateInterpreterTest, BoundsWorkOnLongTexts) {
  const Text content = Text::FromContent(std::string(4'000'000, 'a'));
  EXPECT_THAT(
      Error("{% for i in range(999) %}{% if c.find('b') > 0 %}{% endif %}{% endfor %}", content),
      HasSubstr("more than 268435456 bytes of text worked on"));
  EXPECT_THAT(Error("{% for i in range(999) %}{% if 'b' in c %}{% endif %}{% endfor %}", content),
              HasSubstr("worked on"));
  EXPECT_THAT(Error("{% for i in range(999) %}{{ c[i] }}{% endfor %}", content),
              HasSubstr("worked on"));
  EXPECT_THAT(Error("{{ c | list | length }}", content), HasSubstr("above the bound of 1000000"));
  EXPECT_THAT(Error("{% for i in range(99) %}{{ [c, c] | join | length }}{% endfor %}", content),
              HasSubstr("worked on"));
  EXPECT_THAT(Error("{{ c.rsplit(c) }}", content), HasSubstr("above the bound of 256"));
  EXPECT_EQ(RenderSource("{{ c.find('a' * 2000000 ~ 'b') }}", content).value(), "-1");
  EXPECT_THAT(Error("{{ c.split('a') }}", content), HasSubstr("more than 1000000 pieces"));
}

TEST(TemplateInterpreterTest, BoundsValues) {
  const std::string loop = "{% set ns = namespace(l=[]) %}{% for i in range(9999) %}";
  EXPECT_THAT(Error(loop + "{% set ns.l = [ns.l] %}{% endfor %}"),
              HasSubstr("nested deeper than 100 levels"));
  EXPECT_THAT(Error(loop + "{% set ns.l = [ns.l, ns.l, 1] %}{% endfor %}"),
              HasSubstr("a value of more than 268435456 bytes"));
  EXPECT_THAT(Error(loop + "{% set ns.l = [ns.l.count] %}{% endfor %}"), HasSubstr("deeper than"));
  for (const std::string source :
       {"{{ ['x' * 1000000] * 1000 }}", "{{ [['x' * 1000000] * 100] * 100 }}",
        "{{ range(99999) | map('replace', '1', 'x' * 1000000) | list | length }}"}) {
    EXPECT_THAT(Error(source), HasSubstr("a value of more than 268435456 bytes")) << source;
  }
  EXPECT_THAT(Error("{{ range(100001) | length }}"), HasSubstr("more than 100000 elements"));
  std::string sets;
  for (int i = 0; i < 300; ++i) sets += "{% set v" + std::to_string(i) + " = 1 %}";
  EXPECT_THAT(Error(sets), HasSubstr("more than 256 variables"));
}

TEST(TemplateInterpreterTest, ReleasesCyclicNamespaces) {
  EXPECT_EQ(
      RenderSource("{% set ns = namespace(a=1) %}{% set ns.me = ns %}{% set ns.in_list = [ns] %}"
                   "{% set other = namespace(ns=ns) %}{% set ns.other = other %}"
                   "{{ ns.me.other.ns.a }}")
          .value(),
      "1");
}

TEST(TemplateInterpreterTest, BoundsSourceNesting) {
  const std::vector<std::string> sources = {
      "{{ " + Repeated("(", 9999) + "1" + Repeated(")", 9999) + " }}",
      "{{ " + Repeated("[", 9999) + Repeated("]", 9999) + " }}",
      "{{ " + Repeated("{1: ", 9999) + "1" + Repeated("}", 9999) + " }}",
      "{{ " + Repeated("not ", 9999) + "1 }}",
      "{{ " + Repeated("-", 9999) + "1 }}",
      "{{ 1" + Repeated(" + 1", 9999) + " }}",
      "{{ 1" + Repeated(" and 1", 9999) + " }}",
      "{{ x" + Repeated(".x", 9999) + " }}",
      "{{ x" + Repeated("[0]", 9999) + " }}",
      "{{ x" + Repeated("()", 9999) + " }}",
      "{{ x" + Repeated(" | trim", 9999) + " }}",
      "{{ 1" + Repeated(" if 1 else 1", 9999) + " }}",
      Repeated("{% if 1 %}", 9999) + Repeated("{% endif %}", 9999),
      "{% for " + Repeated("(", 9999) + "x" + Repeated(")", 9999) + " in y %}{% endfor %}"};
  for (const std::string& source : sources) {
    EXPECT_THAT(Error(source), HasSubstr("nested deeper than 200 levels")) << source.substr(0, 60);
  }
  EXPECT_EQ(RenderSource("{{ " + Repeated("(", 90) + "1" + Repeated(")", 90) + " }}").value(), "1");
  EXPECT_EQ(RenderSource("{{ 0" + Repeated(" ~ 1", 5000) + " }}").value().size(), 5001u);
  EXPECT_EQ(RenderSource("{% if 0 %}" + Repeated("{% elif 0 %}", 5000) + "{% else %}1{% endif %}")
                .value(),
            "1");
}

TEST(TemplateInterpreterTest, BlocksSandboxEscapes) {
  for (const std::string source :
       {"{{ c.__class__.__mro__ }}", "{{ ''.format.__globals__.x }}", "{{ c.upper.__self__.x }}",
        "{{ range.__init__.x }}", "{{ namespace().__class__.x }}", "{{ [].append(1) }}",
        "{{ {}.update({'a': 1}) }}", "{{ [1].pop() }}", "{{ '{0.__class__}'.format(c) }}",
        "{{ '{:>999999999}'.format(1) }}", "{{ self.x }}", "{{ cycler(1) }}", "{{ open('x') }}",
        "{{ strftime_now('%999999999d') }}", "{{ strftime_now('%') }}", "{{ strftime_now('%-') }}",
        "{% include 'x' %}", "{% import 'x' as y %}", "{% extends 'x' %}"}) {
    EXPECT_FALSE(RenderSource(source).ok()) << source << RenderSource(source).value_or("");
  }
}

TEST(TemplateInterpreterTest, ErrorsNameLineAndReason) {
  EXPECT_EQ(Error("a\n\n{{ x.y }}"), "INVALID_ARGUMENT: line 3: 'x' is undefined");
  EXPECT_EQ(Error("{{ {}.a.b }}"), "INVALID_ARGUMENT: line 1: a dict has no 'a' here");
  EXPECT_EQ(Error("{{ [].append(1) }}"),
            "INVALID_ARGUMENT: line 1: 'append' would change a list, which no template may");
  EXPECT_EQ(Error("{{ 1 + 'a' }}"), "INVALID_ARGUMENT: line 1: 'int' + 'str' is not possible");
  EXPECT_EQ(Error("{{ raise_exception('Roles!') }}"), "INVALID_ARGUMENT: line 1: Roles!");
  EXPECT_EQ(Error("{{ 1 | nothing }}"),
            "INVALID_ARGUMENT: line 1: filter 'nothing' is not supported");
  EXPECT_EQ(Error("{% for x in y recursive %}"),
            "INVALID_ARGUMENT: line 1: a recursive for is not supported");
  EXPECT_EQ(Error("{% for x in y %}{% macro m() %}"),
            "INVALID_ARGUMENT: line 1: a macro must stand at the top level");
}

std::string ParseError(const std::string& source) {
  return std::string(ParseTemplate(source).status().message());
}

TEST(TemplateInterpreterTest, UnknownNamesAreFoundWithoutRendering) {
  EXPECT_EQ(ParseError("a\n{% if false %}{{ 1 | nothing }}{% endif %}"),
            "line 2: filter 'nothing' is not supported");
  EXPECT_EQ(ParseError("{% for x in [] %}\n{{ x is odder }}{% endfor %}"),
            "line 2: test 'odder' is not supported");
  EXPECT_EQ(ParseError("{% if false %}{{ lookup(1) }}{% endif %}"),
            "line 1: function 'lookup' is not supported");
  EXPECT_EQ(ParseError("{% filter shout %}a{% endfilter %}"),
            "line 1: filter 'shout' is not supported");
  EXPECT_EQ(ParseError("{% set x | shout %}a{% endset %}"),
            "line 1: filter 'shout' is not supported");
  EXPECT_EQ(ParseError("{% macro m(a=b|shout) %}{% endmacro %}"),
            "line 1: filter 'shout' is not supported");
  EXPECT_EQ(ParseError("{{ f(*[1 | shout]) }}{{ f(**{'a': 1 | shout}) }}{% set f = 1 %}"),
            "line 1: filter 'shout' is not supported");
  EXPECT_EQ(ParseError("{{ [] | map('shout') }}"), "line 1: filter 'shout' is not supported");
  EXPECT_EQ(ParseError("{{ [] | select('odder') }}"), "line 1: test 'odder' is not supported");
  EXPECT_EQ(ParseError("{{ [] | rejectattr('a', 'odder') }}"),
            "line 1: test 'odder' is not supported");
  EXPECT_LT(ParseError("{{ 1 | " + std::string(10'000, 'x') + " }}").size(), 100u);
  // Names that the template binds itself, or tests first.
  for (const char* source :
       {"{{ m() }}{% macro m() %}{% endmacro %}", "{% set f = c.upper %}{{ f() }}",
        "{% macro m(f) %}{{ f() }}{% endmacro %}", "{% for a, f in [] %}{{ f() }}{% endfor %}",
        "{% if lookup is defined %}{{ lookup(1) }}{% endif %}",
        "{{ [] | map(attribute='shout') | list }}", "{{ [] | selectattr('odder') | list }}",
        "{{ range(1) | map(c) | list is none }}"}) {
    EXPECT_EQ(ParseError(source), "") << source;
  }
}

TEST(TemplateInterpreterTest, UnpacksArguments) {
  const std::string macro = "{% macro m(a, b=2, c=3) %}{{ a }}{{ b }}{{ c }};{% endmacro %}";
  EXPECT_EQ(RenderSource(macro + "{{ m(*[1]) }}{{ m(0, *(7, 8)) }}{{ m(*'xy', c=9) }}"
                                 "{{ m(**{'a': 4, 'c': 5}) }}{{ m(*[1], b=0, **{'c': 6}) }}"
                                 "{{ m(1, *[], **{}) }}{{ m(1, *missing) }}")
                .value(),
            "123;078;xy9;425;106;123;123;");
  EXPECT_EQ(RenderSource("{{ range(*[1, 4]) | list }}{{ 'aXb'.replace(*['X', '-']) }}"
                         "{{ 'a' | replace(*['a', 'b']) }}{{ namespace(**{'k': 5}).k }}")
                .value(),
            "[1, 2, 3]a-bb5");
  EXPECT_THAT(Error(macro + "{{ m(*5) }}"), HasSubstr("line 1"));
  EXPECT_THAT(Error(macro + "{{ m(**[1]) }}"), HasSubstr("a list after ** where a dict is"));
  EXPECT_THAT(Error(macro + "{{ m(**{1: 2}) }}"), HasSubstr("a key of type int after **"));
  EXPECT_THAT(Error(macro + "{{ m(a=1, **{'a': 2}) }}"), HasSubstr("argument 'a' given twice"));
  EXPECT_THAT(Error(macro + "{{ m(1, **{'a': 2}) }}"), HasSubstr("takes no further argument 'a'"));
  EXPECT_THAT(Error(macro + "{{ m(*[1, 2, 3, 4]) }}"), HasSubstr("takes at most 3 arguments"));
  EXPECT_THAT(Error("{{ range(*[1], *[2]) }}"), HasSubstr("a second *"));
  EXPECT_THAT(Error("{{ range(*[1], 2) }}"), HasSubstr("a positional argument after"));
  EXPECT_THAT(Error("{{ range(**{}, *[2]) }}"), HasSubstr("an argument after **"));
  EXPECT_THAT(Error("{{ range(**{}, stop=2) }}"), HasSubstr("an argument after **"));
}

TEST(TemplateInterpreterTest, RejectsNumbersOutOfRange) {
  EXPECT_THAT(Error("{{ 99999999999999999999 }}"), HasSubstr("above 9223372036854775807"));
  for (const std::string source :
       {"{{ 9223372036854775807 + 1 }}", "{{ -9223372036854775807 - 2 }}", "{{ 2 ** 64 }}",
        "{{ 9223372036854775807 * 2 }}", "{{ (-9223372036854775807 - 1) // -1 }}",
        "{{ -(-9223372036854775807 - 1) }}", "{{ '99999999999999999999' | int }}",
        "{{ '-9223372036854775809' | int(7) }}", "{{ '9_223_372_036_854_775_808' | int }}",
        "{{ '1e19' | int }}", "{{ 1e300 | int }}", "{{ (1e308 * 10) | int }}"}) {
    EXPECT_THAT(Error(source), HasSubstr("an integer beyond 64 bits")) << source;
  }
  EXPECT_EQ(RenderSource("{{ (-9223372036854775807 - 1) % -1 }}").value(), "0");
  EXPECT_EQ(
      RenderSource("{{ [1, 2, 3][-9223372036854775807:9223372036854775807:9223372036854775807] }}")
          .value(),
      "[1]");
}

TEST(TemplateInterpreterTest, NumbersWithoutTheirDigitsAreRejected) {
  const auto parse = [](const char* number) {
    return FromJson(nlohmann::ordered_json::parse(number)).status();
  };
  EXPECT_TRUE(parse("9223372036854775807").ok());
  EXPECT_TRUE(parse("-9223372036854775808").ok());
  EXPECT_TRUE(parse("9007199254740993.5").ok());
  EXPECT_THAT(std::string(parse("18446744073709551615").message()),
              HasSubstr("18446744073709551615"));
  for (const char* const number : {"18446744073709551616", "-9223372036854775809", "1e20"}) {
    EXPECT_THAT(std::string(parse(number).message()), HasSubstr("whose digits would be lost"));
  }
}

TEST(TemplateInterpreterTest, RejectsPowersOutsideFloat) {
  for (const std::string source : {"{{ 0 ** -1 }}", "{{ 0.0 ** -1 }}", "{{ false ** -0.5 }}"}) {
    EXPECT_THAT(Error(source), HasSubstr("division by zero")) << source;
  }
  EXPECT_THAT(Error("{{ (-8) ** 0.5 }}"), HasSubstr("a complex number"));
  EXPECT_THAT(Error("{{ 012 }}"), HasSubstr("the number 012 begins with 0"));
  EXPECT_THAT(Error("{{ 12ab }}"), HasSubstr("the number 12 is followed by a letter"));
  EXPECT_THAT(Error("{{ 10.0 ** 400 }}"), HasSubstr("beyond the range of a float"));
  EXPECT_EQ(RenderSource("{{ (1e308 * 10) ** 2 }} {{ 0 ** 0 }} {{ 10 ** -400 }}").value(),
            "inf 1 0.0");
}

// Jinja 3.1 in Python 3.11.
TEST(TemplateInterpreterTest, CornersFollowPython) {
  EXPECT_EQ(RenderSource("{{ 4.0 % -2 }} {{ -4.0 % 2 }} {{ 5.5 % -2 }}").value(), "-0.0 0.0 -0.5");
  EXPECT_EQ(RenderSource("{{ x is callable }} {{ 1 is callable }} {{ [].a is callable }}").value(),
            "True False True");
  EXPECT_EQ(RenderSource("{{ (1, 2) in {} }} {{ 'a' in {'a': 1} }}").value(), "False True");
  EXPECT_THAT(Error("{{ [1] in {} }}"), HasSubstr("in: a list cannot be a key of a dict"));
  EXPECT_THAT(Error("{{ {} not in {} }}"), HasSubstr("in: a dict cannot be a key of a dict"));
  EXPECT_THAT(Error("{{ range(none) }}"), HasSubstr("range: an argument of type None"));
  EXPECT_THAT(Error("{{ 'a'.encode }}"), HasSubstr("method 'encode' of a str is not supported"));
  EXPECT_THAT(Error("{{ 'a'.istitle() }}"), HasSubstr("method 'istitle' of a str"));
  EXPECT_EQ(RenderSource("{{ 'a'.encoding is defined }}").value(), "False");
}

TEST(TemplateInterpreterTest, RejectsInvalidUnicode) {
  EXPECT_THAT(Error(R"({{ "\ud800" }})"), HasSubstr("no Unicode character"));
  EXPECT_THAT(Error(R"({{ "\U00110000" }})"), HasSubstr("no Unicode character"));
  EXPECT_THAT(Error(R"({{ "\u12" }})"), HasSubstr("truncated escape"));
  EXPECT_THAT(Error(R"({{ "\N{DASH}" }})"), HasSubstr("not supported"));
}

}  // namespace
}  // namespace shortlist::jinja
