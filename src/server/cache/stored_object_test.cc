#include "server/cache/stored_object.h"

#include <gtest/gtest.h>

#include "api/select/selector.h"
#include "json/json.h"
#include "server/cache/object_filter.h"

namespace flyball::server {
namespace {

ObjectPtr Store(const std::string& text, const api::KindInfo& kind) {
  return *StoredObject::Build(MakeBytes(text), 7, kind);
}

// Whatever is packed how, it reads as api::SelectableValues and the labels say.
void ExpectReadsBack(const std::string& text, const api::KindInfo& kind) {
  const auto object = Store(text, kind);
  const auto value = *json::Parse(text);
  const auto fields = api::SelectableValues(kind, value);
  for (std::size_t i = 0; i < fields.size(); ++i) EXPECT_EQ(object->field(i), fields[i]) << i;
  const auto labels = object->labels();
  EXPECT_EQ(labels.size(), value["metadata"]["labels"].size());
  EXPECT_TRUE(std::is_sorted(labels.begin(), labels.end()));
  for (const auto& [key, label] : labels) EXPECT_EQ(value["metadata"]["labels"][key].string_or("?"), label);
}

TEST(StoredObjectTest, FieldsAndLabelsOfEverySizeReadBack) {
  const auto& event = *api::FindBuiltinKind("", "v1", "Event");
  ExpectReadsBack(R"({"metadata":{"name":"a-rather-long-name.17ab","namespace":"kube-system","uid":"u",
      "labels":{"b":"\u00e9 \"quoted and longer\"","a":"","example.com/a-long-label-key":"a-long-label-value"}},
      "involvedObject":{"kind":"Pod","namespace":"kube-system","name":"a-rather-long-name","uid":"1234-5678-9012-3456"},
      "reason":"Scheduled","type":"Normal","source":{"component":"default-scheduler"}})",
                  event);
  ExpectReadsBack(R"({"metadata":{"name":"x"}})", event);
  ExpectReadsBack(R"({"metadata":{"name":"x","labels":{}}})", *api::FindBuiltinKind("", "v1", "ConfigMap"));
  std::string many = R"({"metadata":{"name":"x","labels":{)";
  for (int i = 0; i < 2000; ++i)
    many +=
        (i ? ",\"k" : "\"k") + std::to_string(i) + R"(":"value-of-some-length)" + std::to_string(i) + "\"";
  ExpectReadsBack(many + "}}}", *api::FindBuiltinKind("", "v1", "ConfigMap"));
}

TEST(StoredObjectTest, IsParsedOnceForAll) {
  const auto object = Store(R"({"metadata":{"name":"n","uid":"u"},"data":{"k":"v"}})",
                            *api::FindBuiltinKind("", "v1", "ConfigMap"));
  const json::Value& parsed = object->Parsed();
  EXPECT_EQ(parsed, object->ToValue());
  EXPECT_EQ(&object->Parsed(), &parsed);
  EXPECT_EQ(object->FormOf("v1"), nullptr);  // no converted form
}

TEST(StoredObjectTest, LargeObjectsReadBackToo) {
  const std::string large(70000, 'x');
  const auto object = Store(
      R"({"metadata":{"name":"n","namespace":"space","labels":{"a":"b"}},"data":{"k":")" + large + "\"}}",
      *api::FindBuiltinKind("", "v1", "ConfigMap"));
  EXPECT_EQ(object->name(), "n");
  EXPECT_EQ(object->namespace_name(), "space");
  EXPECT_EQ(object->label(0), (std::pair<std::string_view, std::string_view>("a", "b")));
}

// All that is asked of an object.
std::vector<std::string> Answers(const StoredObject& object) {
  std::string whole, item, metadata;
  object.AppendJson(whole);
  object.AppendJson(item, StoredObject::Form::kListItem);
  object.AppendMetadata(metadata, 9);
  std::vector<std::string> answers = {
      object.name(), object.namespace_name(),      object.uid(), *object.bytes(), whole, item,
      metadata,      json::Write(object.ToValue())};
  for (std::size_t i = 0; i < 14; ++i) answers.emplace_back(object.field(i));
  for (const auto& [key, label] : object.labels()) answers.push_back(key + "=" + label);
  answers.push_back(std::to_string(object.size()) + (object.IsOf("v1") ? " v1" : "") +
                    (object.IsOf("v1beta1") ? " v1beta1" : ""));
  return answers;
}

TEST(StoredObjectTest, APackedObjectAnswersAsBefore) {
  const auto& kind = *api::FindBuiltinKind("", "v1", "Event");
  const std::string start =
      R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"pod-1.18f3","namespace":"space",)";
  const std::string end =
      R"("involvedObject":{"kind":"Pod","name":"pod-1","namespace":"space","uid":"u-2"},"reason":"Pulled"})";
  for (const std::string& middle :
       {std::string(R"("uid":"1234","labels":{"a":"pod-1","b":""}},)"), std::string(R"("labels":{}},)"),
        R"("annotations":{"k":")" + std::string(70000, 'x') + "\"}},"}) {
    const auto object = *StoredObject::Build(MakeBytes(start + middle + end), 7, kind);
    const auto before = Answers(*object);
    EXPECT_FALSE(object->packed());
    object->Pack();
    EXPECT_TRUE(object->packed());
    EXPECT_EQ(Answers(*object), before);
  }
}

TEST(StoredObjectTest, FiltersAsTheSelectorsDo) {
  const auto& pod = *api::FindBuiltinKind("", "v1", "Pod");
  const std::string text = R"({"metadata":{"name":"p","labels":{"app":"web","tier":"front","z":"9"}},
      "spec":{"nodeName":"node-1"},"status":{"phase":"Running"}})";
  const auto object = Store(text, pod);
  const auto value = *json::Parse(text);
  for (const char* selector : {"", "app=web", "app!=web", "app in (web,db),tier", "!app", "!none", "z>3",
                               "z<3", "a,app", "tier notin (back),z", "zz", "app=web,tier=back"}) {
    ObjectFilter filter;
    filter.labels = *api::LabelSelector::Parse(selector);
    EXPECT_EQ(filter.Accepts(*object), filter.labels.Matches(value["metadata"]["labels"])) << selector;
  }
  ObjectFilter nothing;
  nothing.labels = api::LabelSelector::Nothing();
  EXPECT_FALSE(nothing.Accepts(*object));
  for (const char* selector :
       {"spec.nodeName=node-1", "spec.nodeName!=node-1", "status.phase=Running,metadata.name=p",
        "metadata.name!=q", "spec.nodeName="}) {
    ObjectFilter filter;
    filter.fields = *api::FieldSelector::Parse(selector, pod);
    EXPECT_EQ(filter.Accepts(*object), filter.fields.Matches(pod, value)) << selector;
  }
}

}  // namespace
}  // namespace flyball::server
