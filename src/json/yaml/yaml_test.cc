#include "json/yaml/yaml.h"

#include <gtest/gtest.h>

#include "json/json.h"
#include "json/yaml/yaml_core.h"

namespace flyball::json {
namespace {

// The document as JSON, or the error.
std::string Read(std::string_view yaml) {
  auto value = ParseYaml(yaml);
  return value ? Write(*value) : value.error().message();
}

std::string YamlErrorOf(std::string_view yaml) {
  const std::string_view prefix = "error converting YAML to JSON: ";
  const std::string text = Read(yaml);
  return text.starts_with(prefix) ? text.substr(prefix.size()) : "no error: " + text;
}

// What kubectl -o yaml prints for a value of this JSON.
std::string Yaml(std::string_view json) {
  return WriteYaml(*Parse(json));
}

TEST(ParseYamlTest, BlockAndFlow) {
  EXPECT_EQ(
      Read("apiVersion: v1\nmetadata:\n  name: x\n  labels: {a: b, 'c': \"d\"}\nlist:\n- 1\n- - two\n  - x: "
           "w\n    z:\n"),
      R"({"apiVersion":"v1","metadata":{"name":"x","labels":{"a":"b","c":"d"}},"list":[1,["two",{"x":"w","z":null}]]})");
  EXPECT_EQ(Read("a: |\n  text\n   more\n\n  end\nb: >-\n  folded\n  text\nc: |+\n  keep\n\n"),
            R"({"a":"text\n more\n\nend\n","b":"folded text","c":"keep\n\n"})");
  EXPECT_EQ(Read("a: b # comment\n# more\nc: d#e\n"), R"({"a":"b","c":"d#e"})");
  EXPECT_EQ(Read("a: b\r\nc: d\r\n"), R"({"a":"b","c":"d"})");
  EXPECT_EQ(Read("\xef\xbb\xbf"
                 "a: b\n"),
            R"({"a":"b"})");
  EXPECT_EQ(Read("a: \"é\\N\\_\\L\\x85\"\n"), "{\"a\":\"é\u0085\u00a0\\u2028\u0085\"}");
  EXPECT_EQ(Read("a: \"\\U0001F600\\x41\\t\"\n"), "{\"a\":\"😀A\\t\"}");
  EXPECT_EQ(Read(""), "null");
  EXPECT_EQ(Read("# nothing\n"), "null");
  EXPECT_EQ(Read("[a, 1]"), R"(["a",1])");
}

TEST(ParseYamlTest, JsonIsYaml) {
  EXPECT_EQ(Read("{\n\t\"a\": [1,\t\"\\ud83d\\ude00\"]\n}\n"), "{\"a\":[1,\"😀\"]}");
  EXPECT_EQ(Read("{a: b, \"c\": [1, 2,],}"), R"({"a":"b","c":[1,2]})");
}

TEST(ParseYamlTest, ScalarsOfYaml11) {
  const std::pair<const char*, const char*> cases[] = {
      {"yes", "true"},
      {"Off", "false"},
      {"y", "true"},
      {"N", "false"},
      {"on", "true"},
      {"tRue", "\"tRue\""},
      {"~", "null"},
      {"Null", "null"},
      {"nULL", "\"nULL\""},
      {"0777", "511"},
      {"0o777", "511"},
      {"0x1F", "31"},
      {"0b101", "5"},
      {"1_000", "1000"},
      {"+12", "12"},
      {"-0", "0"},
      {"08", "8"},
      {"1e3", "1000"},
      {".5", "0.5"},
      {"5.", "5"},
      {"1e400", "\"1e400\""},
      {"1e-400", "0"},
      {"2001-01-01", "\"2001-01-01\""},
      {"12:30", "\"12:30\""},
      {"1.2.3", "\"1.2.3\""},
      {"100m", "\"100m\""},
      {"0x", "\"0x\""},
      {"9223372036854775807", "9223372036854775807"},
      {"18446744073709551615", "18446744073709552000"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"'1'", "\"1\""},
      {"\"yes\"", "\"yes\""},
      {"!!str 12", "\"12\""},
      {"!!int \"12\"", "12"},
      {"!!float 3", "3"},
      {"!!binary aGVsbG8=", "\"hello\""},
      {"!foo bar", "\"bar\""},
      {"! 12", "\"12\""},
      {"!!str", "\"\""},
      {"!!null ''", "null"},
  };
  for (const auto& [scalar, json] : cases)
    EXPECT_EQ(Read(std::string("v: ") + scalar + "\n"), std::string("{\"v\":") + json + "}");
}

TEST(ParseYamlTest, CoreSchemaHasTwoBooleans) {
  EXPECT_EQ(Write(*ParseYamlCore("[yes, Off, y, N, on, true, False, TRUE, ~, 0777, !!bool yes, \"true\"]")),
            R"(["yes","Off","y","N","on",true,false,true,null,511,true,"true"])");
}

TEST(ParseYamlTest, KeysBecomeStrings) {
  EXPECT_EQ(Read("1: a\n1.10: b\nyes: c\n0x10: d\n2001-01-01: e\n? f\n: g\n"),
            R"({"1":"a","1.1":"b","true":"c","16":"d","2001-01-01":"e","f":"g"})");
  EXPECT_EQ(YamlErrorOf("~: x\n"), "unsupported map key of type: null");
  EXPECT_EQ(YamlErrorOf("? [a]\n: b\n"), "unsupported map key of type: collection");
}

TEST(ParseYamlTest, AnchorsAndMergeKeys) {
  EXPECT_EQ(Read("a: &x {p: [1]}\nb: *x\n"), R"({"a":{"p":[1]},"b":{"p":[1]}})");
  EXPECT_EQ(Read("a: &x {p: 1}\nb: {<<: *x, q: 2, p: 3}\n"), R"({"a":{"p":1},"b":{"p":3,"q":2}})");
  EXPECT_EQ(Read("a: &x {p: 1}\nb: &y {p: 2, r: 3}\nc:\n  <<: [*x, *y]\n"),
            R"({"a":{"p":1},"b":{"p":2,"r":3},"c":{"p":1,"r":3}})");
  EXPECT_EQ(Read("\"<<\": a\n"), R"({"<<":"a"})");
  EXPECT_EQ(Read("a: &x 1\nb: &x 2\nc: *x\n"), R"({"a":1,"b":2,"c":2})");
  EXPECT_EQ(YamlErrorOf("a: *nope\n"), "yaml: unknown anchor 'nope' referenced");
  EXPECT_EQ(YamlErrorOf("a: &a [*a]\n"), "yaml: anchor 'a' value contains itself");
  EXPECT_EQ(YamlErrorOf("<<: 1\n"), "yaml: map merge requires map or sequence of maps as the value");
}

TEST(ParseYamlTest, ExpansionOfAliasesIsBounded) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 1; k < 10; ++k) bomb += "," + before;
    bomb += "]\n";
  }
  EXPECT_EQ(YamlErrorOf(bomb), "yaml: document contains excessive aliasing");
  // Depth is limited too: each line is 400 levels deeper than the previous one.
  std::string shaft = "a0: &a0 x\n";
  for (int i = 1; i < 40; ++i) {
    shaft += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " " + std::string(400, '[') + "*a" +
             std::to_string(i - 1) + std::string(400, ']') + "\n";
  }
  EXPECT_EQ(YamlErrorOf(shaft), "yaml: exceeded max depth of 10000");
}

TEST(ParseYamlTest, DepthIsBounded) {
  EXPECT_TRUE(ParseYaml(std::string(400, '[') + std::string(400, ']')));
  EXPECT_FALSE(ParseYaml(std::string(100000, '[')));
  std::string block;
  for (int i = 0; i < 3000; ++i) block += "- ";
  EXPECT_FALSE(ParseYaml(block + "x\n"));
}

TEST(ParseYamlTest, ReportsDuplicateKeys) {
  std::vector<std::string> duplicates;
  auto value = ParseYaml("a: 1\nspec:\n  list:\n  - x: 1\n  - x: 1\n    x: 2\na: 2\n", &duplicates);
  ASSERT_TRUE(value);
  EXPECT_EQ(Write(*value), R"({"a":2,"spec":{"list":[{"x":1},{"x":2}]}})");
  EXPECT_EQ(duplicates, (std::vector<std::string>{"line 6: key \"x\" already set in map",
                                                  "line 7: key \"a\" already set in map"}));
  duplicates.clear();
  ASSERT_TRUE(ParseYaml("{\"a\":1,\n\"a\":2}", &duplicates));
  EXPECT_EQ(duplicates, (std::vector<std::string>{"line 2: key \"a\" already set in map"}));
}

TEST(ParseYamlTest, SaysWhatIsWrongAsGoYamlDoes) {
  const std::pair<const char*, const char*> cases[] = {
      {"a: b: c", "yaml: mapping values are not allowed in this context"},
      {"x: 1\na: b: c\n", "yaml: line 2: mapping values are not allowed in this context"},
      {"x: 1\na: [1, 2\n", "yaml: line 2: did not find expected ',' or ']'"},
      {"a: {x: 1\n", "yaml: line 1: did not find expected ',' or '}'"},
      {"x: 1\n\ta: 1\n", "yaml: line 2: found a tab character that violates indentation"},
      {"a: 'open\n", "yaml: line 2: found unexpected end of stream"},
      {"a: \"open", "yaml: found unexpected end of stream"},
      {"a: \"open\n  ", "yaml: line 2: found unexpected end of stream"},
      {"a: b\n- c\n", "yaml: line 1: did not find expected key"},
      {"a: \"\\q\"\n", "yaml: found unknown escape character"},
      {"a: @x\n", "yaml: found character that cannot start any token"},
      {"a: .inf\n", "json: unsupported value: +Inf"},
      {"a: !!int abc\n", "yaml: cannot decode !!str `abc` as a !!int"},
      {"a: !!binary '*'\n", "yaml: !!binary value contains invalid base64 data"},
      {"a: \x01\n", "yaml: control characters are not allowed"},
      {"a: \xff\n", "yaml: invalid leading UTF-8 octet"},
  };
  for (const auto& [yaml, message] : cases) EXPECT_EQ(YamlErrorOf(yaml), message) << yaml;
  EXPECT_EQ(ParseYaml("a: b: c").error().reason(), Reason::kBadRequest);
}

TEST(ParseYamlTest, WhatFollowsTheDocumentMustBeAnother) {
  EXPECT_EQ(Read("a: b\n---\nc: 'd\n"), R"({"a":"b"})");
  EXPECT_EQ(Read("---\na: b\n...\n"), R"({"a":"b"})");
  EXPECT_FALSE(ParseYaml("[x] y\n"));
  EXPECT_FALSE(ParseYaml("- a\nb: c\n"));
}

TEST(ParseYamlTest, Streams) {
  auto documents = ParseYamlStream("---\na: 1\n---\n# empty\n---\nb: |\n  x\n---\n- c\n...\n");
  ASSERT_TRUE(documents);
  ASSERT_EQ(documents->size(), 3u);
  EXPECT_EQ(Write((*documents)[1]), R"({"b":"x\n"})");
  EXPECT_TRUE(ParseYamlStream("")->empty());
  EXPECT_EQ(ParseYamlStream("{\"a\":1}")->size(), 1u);
  EXPECT_FALSE(ParseYamlStream("a: 1\n---\nb: c: d\n"));
}

TEST(WriteYamlTest, Layout) {
  EXPECT_EQ(
      Yaml(
          R"({"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"name":"c","args":["x",["y"]],"env":[]}],"z":{}}})"),
      "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - args:\n    - x\n    - - \"y\"\n    env: []\n    "
      "name: c\n  z: {}\n");
  EXPECT_EQ(Yaml("[]"), "[]\n");
  EXPECT_EQ(Yaml("\"a\""), "a\n");
  EXPECT_EQ(Yaml("null"), "null\n");
  EXPECT_EQ(Yaml(R"([{"a":[{"b":1}]}])"), "- a:\n  - b: 1\n");
}

TEST(WriteYamlTest, StringsAreQuotedOnlyWhereNeeded) {
  const std::pair<const char*, const char*> cases[] = {
      {"plain text", "plain text"},
      {"", "\"\""},
      {"1", "\"1\""},
      {"1e3", "\"1e3\""},
      {"0x1F", "\"0x1F\""},
      {"true", "\"true\""},
      {"y", "\"y\""},
      {"null", "\"null\""},
      {"~", "\"~\""},
      {"12:30", "\"12:30\""},
      {"1:60", "1:60"},
      {".5", "\".5\""},
      {"2024-01-01T00:00:00Z", "\"2024-01-01T00:00:00Z\""},
      {"2001-02-30", "2001-02-30"},
      {"2001-02-29", "2001-02-29"},
      {"2000-02-29", "\"2000-02-29\""},
      {"a: b", "'a: b'"},
      {"a:b", "a:b"},
      {"*x", "'*x'"},
      {"- a", "'- a'"},
      {"-a", "-a"},
      {"#c", "'#c'"},
      {"a #c", "'a #c'"},
      {"it's", "it's"},
      {"'q", "'''q'"},
      {" x", "' x'"},
      {"x ", "'x '"},
      {"[a", "'[a'"},
      {"a, b", "a, b"},
      {"%p", "'%p'"},
      {"@x", "'@x'"},
      {"---", "'---'"},
      {"a\tb", "\"a\\tb\""},
      {"é", "é"},
      {"😀", "\"\\U0001F600\""},
      {"\x01", "\"\\x01\""},
      {"<<", "<<"},
      {"=", "="},
      {"100m", "100m"},
      {"1_000", "\"1_000\""},
  };
  for (const auto& [text, yaml] : cases) EXPECT_EQ(WriteYaml(Value(text)), std::string(yaml) + "\n");
}

TEST(WriteYamlTest, SeveralLines) {
  EXPECT_EQ(Yaml(R"({"a":"x\ny\n","b":"x\ny","c":"x\n\n","d":" x\ny","e":"x \ny","f":"x\n\n  y\n"})"),
            "a: |\n  x\n  y\nb: |-\n  x\n  y\nc: |+\n  x\n\nd: |2-\n   x\n  y\ne: \"x \\ny\"\nf: |\n  x\n\n  "
            "  y\n");
  const std::string word(30, 'w');
  EXPECT_EQ(WriteYaml(Value(Object{{"long", word + " " + word + " " + word + " " + word}})),
            "long: " + word + " " + word + " " + word + "\n  " + word + "\n");
}

TEST(WriteYamlTest, Keys) {
  EXPECT_EQ(Yaml(R"({"b":1,"a10":1,"a2":1,"B":1,"_":1,"1":1,"":1,"x: y":1})"),
            "\"\": 1\n_: 1\n\"1\": 1\nB: 1\na2: 1\na10: 1\nb: 1\n'x: y': 1\n");
  const std::string key(129, 'k');
  EXPECT_EQ(WriteYaml(Value(Object{{key, Array{1}}})), "? " + key + "\n: - 1\n");
  EXPECT_EQ(Yaml(R"({"a\nb":{"c":1}})"), "? |-\n  a\n  b\n: c: 1\n");
}

TEST(WriteYamlTest, Numbers) {
  EXPECT_EQ(Yaml("[1,-5,1.5,100.0,-0.0,1234567.5,0.00001,1e20,1e21,100000.5]"),
            "- 1\n- -5\n- 1.5\n- 100\n- 0\n- 1.2345675e+06\n- 1e-05\n- 1e+20\n- 1e+21\n- 100000.5\n");
}

TEST(WriteYamlTest, EveryStringIsReadBackTheSame) {
  const char alphabet[] = " ab:#-'\"\n\t\r{}[],!&*?|>%@`1.e_~<=\\";
  std::uint64_t state = 42;
  const auto next = [&state] {
    return (state = state * 6364136223846793005ull + 1442695040888963407ull) >> 33;
  };
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (std::uint64_t n = next() % 12; n-- > 0;) text += alphabet[next() % (sizeof alphabet - 1)];
    if (i % 7 == 0) text += "é\u2028\u0085😀";
    const Value value(Object{{"key", Array{text, Object{{text, "x"}}}}});
    const std::string yaml = WriteYaml(value);
    auto back = ParseYaml(yaml);
    ASSERT_TRUE(back) << back.error().message() << "\n" << yaml;
    ASSERT_EQ(*back, value) << yaml;
  }
}

TEST(WriteYamlTest, DeepTreesNeedNoStack) {
  const Value deep = *Parse(std::string(2000, '[') + std::string(2000, ']'));
  EXPECT_EQ(WriteYaml(deep).size(), 2 * 1999 + 3u);
}

}  // namespace
}  // namespace flyball::json
