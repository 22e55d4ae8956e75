#include "api/select/selector.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "json/json.h"

namespace flyball::api {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

LabelSelector Labels(std::string_view text) {
  auto s = LabelSelector::Parse(text);
  EXPECT_TRUE(s) << text << ": " << (s ? "" : s.error().message());
  return s ? *s : LabelSelector::Nothing();
}

std::string LabelError(std::string_view text) {
  auto s = LabelSelector::Parse(text);
  if (s) return "parsed";
  EXPECT_TRUE(s.error().Is(Reason::kBadRequest));
  return s.error().message();
}

json::Value SelectorJson(std::string_view text) {
  auto v = json::Parse(text);
  EXPECT_TRUE(v) << text;
  return v ? *v : json::Value();
}

bool Matches(std::string_view selector, Pairs labels) {
  std::sort(labels.begin(), labels.end());
  json::Value object{json::Object{}};
  for (const auto& [k, v] : labels) object[k] = v;
  const auto s = Labels(selector);
  const bool result = s.Matches(LabelPairs(labels));
  EXPECT_EQ(result, s.Matches(object)) << selector;
  return result;
}

TEST(LabelSelector, EmptyTextSelectsEverything) {
  EXPECT_TRUE(Matches("", {}));
  EXPECT_TRUE(Matches("  ", {{"a", "b"}}));
  EXPECT_TRUE(Labels("").empty());
}

TEST(LabelSelector, Operators) {
  const Pairs labels = {{"app", "web"}, {"tier", "front"}, {"n", "7"}};
  for (const char* yes : {"app=web", "app==web", "app!=db", "missing!=x", "app in (db,web)", "app notin (db)",
                          "missing notin (a)", "app", "!missing", "n>6", "n<8", "app=web,tier=front,n",
                          " app = web , tier in ( front ) "})
    EXPECT_TRUE(Matches(yes, labels)) << yes;
  for (const char* no : {"app=db", "app!=web", "app in (db)", "app notin (web)", "missing", "!app", "n>7",
                         "n<7", "app>3", "missing<3", "app=web,tier=back"})
    EXPECT_FALSE(Matches(no, labels)) << no;
}

TEST(LabelSelector, EmptyValues) {
  EXPECT_TRUE(Matches("a=", {{"a", ""}}));
  EXPECT_TRUE(Matches("a=,b", {{"a", ""}, {"b", "x"}}));
  EXPECT_TRUE(Matches("a in ()", {{"a", ""}}));
  EXPECT_TRUE(Matches("a in (,b)", {{"a", ""}}));
  EXPECT_TRUE(Matches("a in (b,)", {{"a", ""}}));
  EXPECT_TRUE(Matches("a in (b,,c)", {{"a", ""}}));
}

TEST(LabelSelector, KeywordsAreWordsWhereAKeyOrValueStands) {
  EXPECT_TRUE(Matches("in=notin", {{"in", "notin"}}));
  EXPECT_TRUE(Matches("in in (in)", {{"in", "in"}}));
}

TEST(LabelSelector, ErrorTexts) {
  EXPECT_EQ(LabelError("a b"),
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt");
  EXPECT_EQ(LabelError("par in"), "unable to parse requirement: found '' expected: '('");
  EXPECT_EQ(LabelError("="), "found '=', expected: !, identifier, or 'end of string'");
  EXPECT_EQ(LabelError("par===x"), "unable to parse requirement: found '=', expected: identifier");
  EXPECT_EQ(LabelError("a,"), "found '', expected: identifier after ','");
  EXPECT_EQ(LabelError("a=b c"), "found 'c', expected: ',' or 'end of string'");
  EXPECT_EQ(LabelError("!"), "unable to parse requirement: found '', expected: identifier");
  EXPECT_EQ(LabelError("a in (b"), "unable to parse requirement: found '', expected: ',' or ')'");
  EXPECT_EQ(LabelError("a in (=)"),
            "unable to parse requirement: found '=', expected: ',', ')' or identifier");
  EXPECT_EQ(
      LabelError("a>x"),
      "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value "
      "must be an integer");
  EXPECT_EQ(LabelError("a/b/c=d"),
            "unable to parse requirement: <nil>: Invalid value: \"a/b/c\": a valid label key must consist of "
            "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
            "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. "
            "'example.com/MyName')");
  EXPECT_EQ(
      LabelError("a=b/c"),
      "unable to parse requirement: values[0][a]: Invalid value: \"b/c\": a valid label must be an empty "
      "string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
      "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
      "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
}

TEST(LabelSelector, TextParsesBack) {
  for (const char* text : {"a=b", "a==b", "a!=b", "a in (b,c)", "a notin (b,c)", "!a", "a", "a>3", "a<3",
                           "a=,b in (,c)", "example.com/a=b,z"})
    EXPECT_EQ(Labels(text).ToString(), text);
  EXPECT_EQ(Labels("z=1,a in (c,b,c)").ToString(), "a in (b,c),z=1");
}

TEST(LabelSelector, RequiredValue) {
  EXPECT_EQ(Labels("a=b,c!=d").RequiredValue("a"), "b");
  EXPECT_EQ(Labels("a in (b)").RequiredValue("a"), "b");
  EXPECT_FALSE(Labels("a=b,c!=d").RequiredValue("c"));
}

TEST(LabelSelector, FromObject) {
  auto s = LabelSelector::FromObject(SelectorJson(R"({"matchLabels":{"b":"1","a":"2"},"matchExpressions":[
      {"key":"c","operator":"In","values":["x","y"]},{"key":"d","operator":"DoesNotExist"}]})"));
  ASSERT_TRUE(s);
  EXPECT_EQ(s->ToString(), "a=2,b=1,c in (x,y),!d");
  EXPECT_TRUE(s->Matches(SelectorJson(R"({"a":"2","b":"1","c":"y"})")));
  EXPECT_FALSE(s->Matches(SelectorJson(R"({"a":"2","b":"1","c":"y","d":""})")));

  EXPECT_FALSE(LabelSelector::FromObject(json::Value())->Matches(SelectorJson("{}")));
  EXPECT_TRUE(LabelSelector::FromObject(SelectorJson("{}"))->Matches(SelectorJson("{}")));
  auto bad =
      LabelSelector::FromObject(SelectorJson(R"({"matchExpressions":[{"key":"a","operator":"Near"}]})"));
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message(), "\"Near\" is not a valid label selector operator");
}

TEST(LabelSelector, FromMap) {
  EXPECT_TRUE(
      LabelSelector::FromMap(SelectorJson(R"({"a":"b"})")).Matches(SelectorJson(R"({"a":"b","c":"d"})")));
  EXPECT_FALSE(LabelSelector::FromMap(SelectorJson(R"({"a":"b"})")).Matches(SelectorJson(R"({"c":"d"})")));
}

constexpr std::string_view kPodFields[] = {"spec.nodeName", "status.phase", "spec.hostNetwork",
                                           "status.podIPs"};
const KindInfo kSelectedPod = {.group = "",
                               .version = "v1",
                               .kind = "Pod",
                               .plural = "pods",
                               .namespaced = true,
                               .selectable_fields = kPodFields};
const KindInfo kConfigMap = {.group = "", .version = "v1", .kind = "ConfigMap", .namespaced = true};
const KindInfo kCustom = {
    .group = "example.com", .version = "v1", .kind = "Gizmo", .namespaced = true, .custom = true};

std::string FieldError(std::string_view text, const KindInfo& kind) {
  auto s = FieldSelector::Parse(text, kind);
  return s ? "parsed" : s.error().message();
}

bool FieldMatches(std::string_view text, const json::Value& object) {
  auto s = FieldSelector::Parse(text, kSelectedPod);
  EXPECT_TRUE(s) << text;
  const bool result = s && s->Matches(kSelectedPod, object);
  EXPECT_EQ(result, s && s->Matches(SelectableValues(kSelectedPod, object)));
  return result;
}

TEST(FieldSelector, Matches) {
  const auto pod = SelectorJson(R"({"metadata":{"name":"a,b","namespace":"n"},"spec":{"nodeName":"x"}})");
  for (const char* yes : {"", "metadata.name=a\\,b", "metadata.namespace==n",
                          "spec.nodeName=x,status.phase=", "spec.nodeName!=y", "spec.hostNetwork=false",
                          "status.podIPs=", ",metadata.namespace=n,"})
    EXPECT_TRUE(FieldMatches(yes, pod)) << yes;
  for (const char* no :
       {"metadata.name=a", "spec.nodeName!=x", "status.phase=Running", "spec.hostNetwork=true"})
    EXPECT_FALSE(FieldMatches(no, pod)) << no;
}

TEST(FieldSelector, ErrorTexts) {
  EXPECT_EQ(FieldError("metadata.name", kSelectedPod),
            "invalid selector: 'metadata.name'; can't understand 'metadata.name'");
  EXPECT_EQ(FieldError("data.i=3", kConfigMap),
            "\"data.i\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"");
  EXPECT_EQ(FieldError("spec.foo=3", kSelectedPod), "field label not supported: spec.foo");
  EXPECT_EQ(FieldError("spec.size=3", kCustom), "field label not supported: spec.size");
  EXPECT_EQ(FieldError("metadata.name=a\\x", kSelectedPod),
            "invalid field selector: invalid escape sequence: \\x");
  EXPECT_EQ(FieldError("metadata.name=a\\", kSelectedPod),
            "invalid field selector: invalid escape sequence: \\");
  EXPECT_EQ(FieldError("metadata.name===a", kSelectedPod),
            "invalid field selector: unescaped character in value: 61");
}

TEST(FieldSelector, TextAndRequiredValue) {
  auto s = FieldSelector::Parse("spec.nodeName!=y,metadata.name=a\\=b", kSelectedPod);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->ToString(), "metadata.name=a\\=b,spec.nodeName!=y");
  EXPECT_EQ(s->RequiredValue("metadata.name"), "a=b");
  EXPECT_FALSE(s->RequiredValue("spec.nodeName"));
}

const KindInfo& BuiltinKind(std::string_view kind) {
  const auto kinds = BuiltinKinds();
  return *std::find_if(kinds.begin(), kinds.end(),
                       [kind](const KindInfo& info) { return info.kind == kind; });
}

std::string FieldErrorOf(std::string_view kind, std::string_view text) {
  const auto selector = FieldSelector::Parse(text, BuiltinKind(kind));
  return selector ? "parsed" : selector.error().message();
}

TEST(FieldSelector, KindsThatNameTheirFieldsKnowNoOthers) {
  EXPECT_EQ(FieldErrorOf("Node", "metadata.namespace=a"), "field label not supported: metadata.namespace");
  EXPECT_EQ(FieldErrorOf("Namespace", "metadata.namespace=a"),
            "field label not supported: metadata.namespace");
  EXPECT_EQ(FieldErrorOf("PersistentVolume", "metadata.namespace=a"), "parsed");
  EXPECT_EQ(FieldErrorOf("Job", "x=a"), "field label \"x\" not supported for batchv1.Job");
  EXPECT_EQ(FieldErrorOf("ResourceSlice", "spec.driver=a"), "parsed");
  EXPECT_EQ(FieldErrorOf("ResourceSlice", "x=a"),
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: x");
}

TEST(FieldSelector, APodsOldNameOfItsNodeIsUnderstood) {
  const auto selector = FieldSelector::Parse("spec.host=n", BuiltinKind("Pod"));
  ASSERT_TRUE(selector);
  EXPECT_EQ(selector->RequiredValue("spec.nodeName"), "n");
}

TEST(FieldSelector, EventsAndJobsReadWhatUpstreamReads) {
  static constexpr std::string_view fields[] = {"source", "reportingComponent"};
  const KindInfo event = {.group = "", .version = "v1", .kind = "Event", .selectable_fields = fields};
  EXPECT_EQ(
      SelectableValues(event, SelectorJson(R"({"source":{"component":"c"},"reportingComponent":"r"})"))[2],
      "c");
  EXPECT_EQ(SelectableValues(event, SelectorJson(R"({"reportingComponent":"r"})"))[2], "r");
  static constexpr std::string_view job_fields[] = {"status.successful"};
  const KindInfo job = {.group = "batch", .version = "v1", .kind = "Job", .selectable_fields = job_fields};
  EXPECT_EQ(SelectableValues(job, SelectorJson(R"({"status":{"succeeded":2}})"))[2], "2");
  EXPECT_EQ(SelectableValues(job, SelectorJson("{}"))[2], "0");
}

}  // namespace
}  // namespace flyball::api
