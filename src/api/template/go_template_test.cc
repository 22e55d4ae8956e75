#include "api/template/go_template.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace flyball::api {
namespace {

// What the template prints of the JSON text, or why it does not.
std::string Rendered(std::string_view text, std::string_view data) {
  auto parsed = GoTemplate::Parse(text);
  if (!parsed) return "parse: " + parsed.error().message();
  auto out = parsed->Render(*json::Parse(data));
  return out ? *out : "error: " + out.error().message();
}

constexpr std::string_view kTemplatePod = R"({"metadata":{"name":"web","labels":{"b":"2","a":"1"}},
  "spec":{"replicas":3,"big":12345678,"list":[{"n":"x"},{"n":"y"}],"none":null}})";

TEST(GoTemplateTest, PrintsFieldsAsGoDoes) {
  EXPECT_EQ(Rendered("{{.metadata.name}}!", kTemplatePod), "web!");
  EXPECT_EQ(Rendered("{{.spec.replicas}} {{.spec.big}}", kTemplatePod), "3 1.2345678e+07");
  EXPECT_EQ(Rendered("{{.metadata.labels}}", kTemplatePod), "map[a:1 b:2]");
  EXPECT_EQ(Rendered("{{.spec.missing}}|{{.spec.missing.deeper}}", kTemplatePod), "<no value>|<no value>");
}

TEST(GoTemplateTest, RangesOverListsAndMaps) {
  EXPECT_EQ(Rendered("{{range .spec.list}}{{.n}},{{end}}", kTemplatePod), "x,y,");
  EXPECT_EQ(Rendered("{{range $k, $v := .metadata.labels}}{{$k}}={{$v}} {{end}}", kTemplatePod), "a=1 b=2 ");
  EXPECT_EQ(Rendered("{{range $i, $e := .spec.list}}{{if $i}}-{{end}}{{$e.n}}{{end}}", kTemplatePod), "x-y");
  EXPECT_EQ(Rendered("{{range .spec.none}}x{{else}}empty{{end}}", kTemplatePod), "empty");
  EXPECT_EQ(Rendered("{{range .spec.list}}{{.n}}{{break}}{{end}}", kTemplatePod), "x");
}

TEST(GoTemplateTest, ChoosesWithIfElseAndWith) {
  EXPECT_EQ(
      Rendered("{{if .spec.none}}a{{else if eq .metadata.name \"web\"}}b{{else}}c{{end}}", kTemplatePod),
      "b");
  EXPECT_EQ(Rendered("{{with .metadata}}{{.name}} {{$.spec.replicas}}{{end}}", kTemplatePod), "web 3");
  EXPECT_EQ(Rendered("{{if and .spec.list (not .spec.none)}}yes{{end}}", kTemplatePod), "yes");
}

TEST(GoTemplateTest, CallsFunctionsInPipelines) {
  EXPECT_EQ(Rendered("{{len .spec.list}} {{index .metadata.labels \"a\"}} {{(index .spec.list 1).n}}",
                     kTemplatePod),
            "2 1 y");
  EXPECT_EQ(Rendered("{{.metadata.name | printf \"%s-%5s|%q\" \"a\" \"b\"}}", kTemplatePod),
            "a-    b|\"web\"");
  EXPECT_EQ(Rendered("{{base64decode .d}}", R"({"d":"aGk="})"), "hi");
  EXPECT_EQ(Rendered("{{exists . \"spec\" \"replicas\"}} {{exists . \"spec\" \"x\"}}", kTemplatePod),
            "true false");
  EXPECT_EQ(Rendered("{{print 1 2 \"x\" 3}}", kTemplatePod), "1 2x3");
}

TEST(GoTemplateTest, VariablesAreAssignedAndScoped) {
  EXPECT_EQ(Rendered("{{$x := 1}}{{range .spec.list}}{{$x = 2}}{{end}}{{$x}}", kTemplatePod), "2");
  EXPECT_EQ(Rendered("{{if $y := .metadata.name}}{{$y}}{{end}}", kTemplatePod), "web");
}

TEST(GoTemplateTest, TrimsSpaceAndSkipsComments) {
  EXPECT_EQ(Rendered("a  {{- /* nothing */ -}}  b {{- .metadata.name }}", kTemplatePod), "abweb");
}

TEST(GoTemplateTest, DefinedTemplatesAreCalled) {
  EXPECT_EQ(Rendered("{{define \"t\"}}<{{.}}>{{end}}{{template \"t\" .metadata.name}}", kTemplatePod),
            "<web>");
}

TEST(GoTemplateTest, SaysWhatIsWrong) {
  EXPECT_EQ(Rendered("{{.a", kTemplatePod), "parse: template: output:1: unclosed action");
  EXPECT_EQ(Rendered("{{nosuch .a}}", kTemplatePod),
            "parse: template: output:1: function \"nosuch\" not defined");
  EXPECT_EQ(Rendered("{{if .a}}x", kTemplatePod), "parse: template: output:1: unexpected EOF");
  EXPECT_EQ(Rendered("{{end}}", kTemplatePod), "parse: template: output:1: unexpected {{end}}");
  const std::string nil = Rendered("{{.spec.none.x}}", kTemplatePod);
  EXPECT_NE(nil.find("at <.spec.none.x>: nil pointer evaluating interface {}.x"), std::string::npos) << nil;
  const std::string compared = Rendered("{{eq .spec.replicas \"3\"}}", kTemplatePod);
  EXPECT_NE(compared.find("error calling eq: incompatible types for comparison"), std::string::npos)
      << compared;
}

TEST(GoTemplateTest, ATemplateThatCallsItselfEnds) {
  const std::string text =
      Rendered("{{define \"t\"}}{{template \"t\" .}}{{end}}{{template \"t\" .}}", kTemplatePod);
  EXPECT_NE(text.find("exceeded maximum template depth"), std::string::npos) << text;
}

}  // namespace
}  // namespace flyball::api
