#include "cli/kubectl/template/go_template.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace flyball::cli {
namespace {

// What the template prints of the JSON text, or why it does not.
std::string Rendered(std::string_view text, std::string_view data) {
  auto parsed = GoTemplate::Parse(text);
  if (!parsed) return "parse: " + parsed.error().message();
  auto out = parsed->Render(*json::Parse(data));
  return out ? *out : "error: " + out.error().message();
}

constexpr std::string_view kPod = R"({"metadata":{"name":"web","labels":{"b":"2","a":"1"}},
  "spec":{"replicas":3,"big":12345678,"list":[{"n":"x"},{"n":"y"}],"none":null}})";

TEST(GoTemplateTest, PrintsFieldsAsGoDoes) {
  EXPECT_EQ(Rendered("{{.metadata.name}}!", kPod), "web!");
  EXPECT_EQ(Rendered("{{.spec.replicas}} {{.spec.big}}", kPod), "3 1.2345678e+07");
  EXPECT_EQ(Rendered("{{.metadata.labels}}", kPod), "map[a:1 b:2]");
  EXPECT_EQ(Rendered("{{.spec.missing}}|{{.spec.missing.deeper}}", kPod), "<no value>|<no value>");
}

TEST(GoTemplateTest, RangesOverListsAndMaps) {
  EXPECT_EQ(Rendered("{{range .spec.list}}{{.n}},{{end}}", kPod), "x,y,");
  EXPECT_EQ(Rendered("{{range $k, $v := .metadata.labels}}{{$k}}={{$v}} {{end}}", kPod), "a=1 b=2 ");
  EXPECT_EQ(Rendered("{{range $i, $e := .spec.list}}{{if $i}}-{{end}}{{$e.n}}{{end}}", kPod), "x-y");
  EXPECT_EQ(Rendered("{{range .spec.none}}x{{else}}empty{{end}}", kPod), "empty");
  EXPECT_EQ(Rendered("{{range .spec.list}}{{.n}}{{break}}{{end}}", kPod), "x");
}

TEST(GoTemplateTest, ChoosesWithIfElseAndWith) {
  EXPECT_EQ(Rendered("{{if .spec.none}}a{{else if eq .metadata.name \"web\"}}b{{else}}c{{end}}", kPod), "b");
  EXPECT_EQ(Rendered("{{with .metadata}}{{.name}} {{$.spec.replicas}}{{end}}", kPod), "web 3");
  EXPECT_EQ(Rendered("{{if and .spec.list (not .spec.none)}}yes{{end}}", kPod), "yes");
}

TEST(GoTemplateTest, CallsFunctionsInPipelines) {
  EXPECT_EQ(Rendered("{{len .spec.list}} {{index .metadata.labels \"a\"}} {{(index .spec.list 1).n}}", kPod),
            "2 1 y");
  EXPECT_EQ(Rendered("{{.metadata.name | printf \"%s-%5s|%q\" \"a\" \"b\"}}", kPod), "a-    b|\"web\"");
  EXPECT_EQ(Rendered("{{base64decode .d}}", R"({"d":"aGk="})"), "hi");
  EXPECT_EQ(Rendered("{{exists . \"spec\" \"replicas\"}} {{exists . \"spec\" \"x\"}}", kPod), "true false");
  EXPECT_EQ(Rendered("{{print 1 2 \"x\" 3}}", kPod), "1 2x3");
}

TEST(GoTemplateTest, VariablesAreAssignedAndScoped) {
  EXPECT_EQ(Rendered("{{$x := 1}}{{range .spec.list}}{{$x = 2}}{{end}}{{$x}}", kPod), "2");
  EXPECT_EQ(Rendered("{{if $y := .metadata.name}}{{$y}}{{end}}", kPod), "web");
}

TEST(GoTemplateTest, TrimsSpaceAndSkipsComments) {
  EXPECT_EQ(Rendered("a  {{- /* nothing */ -}}  b {{- .metadata.name }}", kPod), "abweb");
}

TEST(GoTemplateTest, DefinedTemplatesAreCalled) {
  EXPECT_EQ(Rendered("{{define \"t\"}}<{{.}}>{{end}}{{template \"t\" .metadata.name}}", kPod), "<web>");
}

TEST(GoTemplateTest, SaysWhatIsWrong) {
  EXPECT_EQ(Rendered("{{.a", kPod), "parse: template: output:1: unclosed action");
  EXPECT_EQ(Rendered("{{nosuch .a}}", kPod), "parse: template: output:1: function \"nosuch\" not defined");
  EXPECT_EQ(Rendered("{{if .a}}x", kPod), "parse: template: output:1: unexpected EOF");
  EXPECT_EQ(Rendered("{{end}}", kPod), "parse: template: output:1: unexpected {{end}}");
  const std::string nil = Rendered("{{.spec.none.x}}", kPod);
  EXPECT_NE(nil.find("at <.spec.none.x>: nil pointer evaluating interface {}.x"), std::string::npos) << nil;
  const std::string compared = Rendered("{{eq .spec.replicas \"3\"}}", kPod);
  EXPECT_NE(compared.find("error calling eq: incompatible types for comparison"), std::string::npos)
      << compared;
}

TEST(GoTemplateTest, ATemplateThatCallsItselfEnds) {
  const std::string text = Rendered("{{define \"t\"}}{{template \"t\" .}}{{end}}{{template \"t\" .}}", kPod);
  EXPECT_NE(text.find("exceeded maximum template depth"), std::string::npos) << text;
}

}  // namespace
}  // namespace flyball::cli
