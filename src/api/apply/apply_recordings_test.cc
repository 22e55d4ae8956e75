// Replays the recorded patches and applies of a real API server against the functions alone. Each step starts
// from what the server had answered before it, so nothing here has to default or validate.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/apply/apply.h"
#include "api/apply/scale_managed_fields.h"
#include "api/custom/custom_schema.h"
#include "api/merge/strategic_merge.h"
#include "api/testing/recordings.h"
#include "json/patch.h"

namespace flyball::api {
namespace {

using json::Value;

const FieldSet kMainResets({{"status"}});
const FieldSet kStatusResets({{"spec"}, {"metadata", "labels"}});

// True if everything in `part` is in `whole`; the rest of `whole` may have come from defaulting.
bool IsPartOf(const Value& part, const Value& whole) {
  if (part.is_null()) return whole.is_null();
  if (part.is_array()) {
    return whole.is_array() && std::equal(part.as_array().begin(), part.as_array().end(),
                                          whole.as_array().begin(), whole.as_array().end(), IsPartOf);
  }
  if (!part.is_object()) return part == whole || whole == Value("<time>");
  return std::all_of(part.as_object().begin(), part.as_object().end(), [&](const auto& member) {
    const Value* other = whole.Find(member.first);
    return member.second.is_null() ? other == nullptr : other != nullptr && IsPartOf(member.second, *other);
  });
}

// The owners as the recordings have them: in the order of their text, without times of their own.
std::string OwnersOf(const Value& object) {
  std::vector<std::string> entries;
  const Value& owners = object["metadata"]["managedFields"];
  if (!owners.is_array()) return "";
  for (Value entry : owners.as_array()) {
    if (entry.Find("time")) entry["time"] = "<time>";
    entry.as_object().SortKeys();
    entries.push_back(json::Write(entry) + "\n");
  }
  std::sort(entries.begin(), entries.end());
  std::string out;
  for (const std::string& entry : entries) out += entry;
  return out;
}

struct Request {
  std::string path, subresource, manager, content_type;
  bool force = false, dry_run = false;

  explicit Request(const Value& step) {
    std::string url(step["path"].string_or(""));
    const std::size_t question = url.find('?');
    const std::string query = question == std::string::npos ? "" : "&" + url.substr(question + 1) + "&";
    path = url.substr(0, question);
    for (const char* name : {"status", "scale"}) {
      if (path.ends_with("/" + std::string(name))) {
        subresource = name;
        path.resize(path.size() - subresource.size() - 1);
      }
    }
    if (const std::size_t at = query.find("&fieldManager="); at != std::string::npos) {
      manager = query.substr(at + 14, query.find('&', at + 14) - at - 14);
    }
    force = query.find("&force=true&") != std::string::npos;
    dry_run = query.find("&dryRun=All&") != std::string::npos;
    content_type = step["headers"]["Content-Type"].string_or("");
  }
};

const TypeInfo* TypeOfObject(const Value& object) {
  const std::string_view version = object["apiVersion"].string_or("");
  const std::size_t slash = version.find('/');
  const bool core = slash == std::string_view::npos;
  return FindKindType(core ? "" : version.substr(0, slash), core ? version : version.substr(slash + 1),
                      object["kind"].string_or(""));
}

class ApplyReplay {
 public:
  void Step(const Value& step) {
    const Request request(step);
    const Value& answer = step["expect"]["body"];
    SCOPED_TRACE(json::Write(step["path"]) + " " + json::Write(step["body"]));
    if (request.subresource == "scale") {
      CheckScale(request, step["body"]);
    } else if (request.content_type == "application/apply-patch+yaml") {
      CheckApply(request, step["body"], answer);
    } else if (step["method"] == Value("PUT") || request.content_type == "application/merge-patch+json") {
      CheckUpdate(request, step, answer);
    } else if (step["method"] == Value("GET")) {
      EXPECT_EQ(OwnersOf(objects_[request.path]), OwnersOf(answer));
    }
    if (!request.dry_run && answer["kind"] != Value("Status") && request.subresource != "scale") {
      objects_[request.path] = answer;
    }
  }

  int checked() const { return checked_; }

 private:
  FieldWriter Writer(const Request& request, const Value& object) const {
    return {.manager = request.manager,
            .subresource = request.subresource,
            .api_version = object["apiVersion"].string_or(""),
            .now = TimePoint{},
            .reset = object["kind"] != Value("Deployment") ? nullptr
                     : request.subresource.empty()         ? &kMainResets
                                                           : &kStatusResets};
  }

  const Value* Live(const Request& request) const {
    const auto found = objects_.find(request.path);
    return found == objects_.end() ? nullptr : &found->second;
  }

  void CheckApply(const Request& request, const Value& body, const Value& answer) {
    // What the server itself refuses: no manager, no such name, no such content, not valid after the merge.
    const bool named = request.path.ends_with("/" + std::string(body["metadata"]["name"].string_or("")));
    if (request.manager.empty() || !body.is_object() || !named || answer["code"] == Value(422)) return;
    ++checked_;
    auto applied = Apply(*TypeOfObject(body), body["kind"].as_string(), Live(request), body,
                         Writer(request, body), request.force);
    if (answer["kind"] == Value("Status")) return CheckError(applied, answer);
    ASSERT_TRUE(applied) << applied.error().ToString();
    CheckObject(applied->object, answer);
  }

  void CheckError(const Result<Applied>& applied, const Value& answer) {
    ASSERT_FALSE(applied);
    EXPECT_EQ(applied.error().code(), answer["code"].as_int());
    EXPECT_EQ(applied.error().message(), answer["message"].as_string());
    EXPECT_EQ(ReasonName(applied.error().reason()), answer["reason"].string_or(""));
    ASSERT_EQ(applied.error().details().causes.size(), answer["details"]["causes"].size());
    for (std::size_t i = 0; i < answer["details"]["causes"].size(); ++i) {
      const Value& cause = answer["details"]["causes"].as_array()[i];
      EXPECT_EQ(applied.error().details().causes[i], (Cause{std::string(cause["reason"].string_or("")),
                                                            std::string(cause["message"].string_or("")),
                                                            std::string(cause["field"].string_or(""))}));
    }
  }

  void CheckUpdate(const Request& request, const Value& step, const Value& answer) {
    const Value* live = Live(request);
    ASSERT_NE(live, nullptr);
    ++checked_;
    Value object = step["method"] == Value("PUT") ? step["body"] : json::ApplyMergePatch(*live, step["body"]);
    UpdateManagedFields(*TypeOfObject(*live), live, object, Writer(request, *live));
    CheckObject(object, answer);
  }

  static void CheckObject(Value object, const Value& answer) {
    EXPECT_EQ(OwnersOf(object), OwnersOf(answer));
    object["metadata"].as_object().Erase("managedFields");
    object["metadata"].as_object().Erase("generation");  // the server's count
    EXPECT_TRUE(IsPartOf(object, answer)) << json::Write(object) << "\n" << json::Write(answer);
  }

  void CheckScale(const Request& request, const Value& patch) {
    const PathElement replicas[] = {PathElement::Field("spec"), PathElement::Field("replicas")};
    Value& parent = objects_[request.path];
    Value scale(json::Object{{"apiVersion", "autoscaling/v1"}, {"kind", "Scale"}});
    scale["spec"]["replicas"] = parent["spec"]["replicas"];
    auto owners = ScaleManagedFields(parent["metadata"]["managedFields"], replicas);
    ASSERT_TRUE(owners);
    scale["metadata"]["managedFields"] = *owners;
    Value scaled = json::ApplyMergePatch(scale, patch);
    UpdateManagedFields(*TypeOfObject(scale), &scale, scaled, Writer(request, scale));
    auto merged =
        MergeScaleManagedFields(parent["metadata"]["managedFields"], scaled["metadata"]["managedFields"],
                                parent["apiVersion"].as_string(), replicas);
    ASSERT_TRUE(merged);
    ++checked_;
    parent["metadata"]["managedFields"] = *merged;  // the recorded GET that follows checks it
  }

  std::map<std::string, Value> objects_;
  int checked_ = 0;
};

TEST(ApplyRecordingsTest, EveryRecordedApplyAndUpdate) {
  const json::Value cases = ReadRecording("cases/5-apply");
  ApplyReplay replay;
  for (const Value& scenario : cases.as_array()) {
    for (const Value& step : scenario["steps"].as_array()) replay.Step(step);
  }
  EXPECT_GE(replay.checked(), 34);
}

// The value at "a.b.c"; null if there is none.
Value* At(Value& object, std::string_view path) {
  Value* at = &object;
  while (at != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    at = at->Find(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return at;
}

class PatchReplay {
 public:
  void Step(const Value& step) {
    const Value& expect = step["expect"];
    if (step["method"] == Value("POST")) object_ = expect["body"];
    if (step["headers"]["Content-Type"] != Value("application/strategic-merge-patch+json")) return;
    SCOPED_TRACE(json::Write(step["body"]));
    const std::int64_t code = expect["code"].as_int();
    if (code != 200 && code != 500) return;  // refused by what comes before or after the merge
    auto merged = StrategicMerge(*TypeOfObject(object_), object_, step["body"]);
    if (code == 500) {
      ASSERT_FALSE(merged);
      EXPECT_EQ(merged.error().code(), 500);
      return;
    }
    ASSERT_TRUE(merged) << merged.error().ToString();
    for (const auto& [path, picked] : expect["picked"].as_object()) Check(*merged, path, picked);
    object_ = std::move(*merged);
  }

 private:
  static void Check(Value& merged, const std::string& path, const Value& picked) {
    if (path == "metadata.generation") return;  // the server's count
    Value* value = At(merged, path);
    if (picked == Value("<absent>")) {
      EXPECT_EQ(value, nullptr) << path;
    } else if (value != nullptr) {
      EXPECT_TRUE(IsPartOf(*value, picked)) << json::Write(*value) << "\n" << json::Write(picked);
      *value = picked;
    } else {
      EXPECT_EQ(path, "spec.replicas");  // deleted, and defaulted again
    }
  }

  Value object_;
};

TEST(ApplyRecordingsTest, EveryRecordedStrategicMergePatch) {
  const json::Value cases = ReadRecording("cases/4-patch");
  PatchReplay replay;
  for (const Value& scenario : cases.as_array()) {
    if (scenario["name"] != Value("strategic merge")) continue;
    for (const Value& step : scenario["steps"].as_array()) replay.Step(step);
  }
}

// The recordings show the owners of a custom object only where it is applied: those before are kept by us,
// from the objects that were answered.
class CustomReplay {
 public:
  void Step(const Value& step) {
    const Value& answer = step["expect"]["body"];
    const Request request(step);
    SCOPED_TRACE(json::Write(step["path"]) + " " + json::Write(step["body"]));
    if (answer["kind"] == Value("CustomResourceDefinition") && !schema_) {
      auto schema =
          CustomSchema::Build(answer["spec"]["versions"].as_array()[0]["schema"]["openAPIV3Schema"]);
      ASSERT_TRUE(schema);
      schema_ = *schema;
    }
    if (!request.path.ends_with("/networks/w") || step["expect"]["code"] != Value(200)) return;
    if (request.content_type == "application/apply-patch+yaml") {
      CheckApply(request, step["body"], answer);
    } else if (request.subresource == "scale") {
      if (step["method"] == Value("PATCH")) ScaleTo(step["body"]["spec"]["replicas"]);
    } else if (answer["kind"] == Value("Network")) {
      Write(request, answer);
    }
  }

  int checked() const { return checked_; }

 private:
  FieldWriter Writer(const Request& request) const {
    const FieldSet* reset = request.subresource == "status" ? &status_resets_ : &kMainResets;
    return {.manager = request.manager,
            .subresource = request.subresource,
            .api_version = "golden.example.com/v1",
            .now = TimePoint{},
            .reset = reset};
  }

  void Write(const Request& request, Value object) {
    if (live_) object["metadata"]["managedFields"] = (*live_)["metadata"]["managedFields"];
    UpdateManagedFields(schema_->type(), live_ ? &*live_ : nullptr, object, Writer(request));
    live_ = std::move(object);
  }

  void ScaleTo(const Value& size) {
    const PathElement replicas[] = {PathElement::Field("spec"), PathElement::Field("size")};
    const Value scaled =
        *json::Parse(R"([{"operation":"Update","manager":"unknown","apiVersion":"autoscaling/v1",
        "fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}},"subresource":"scale"}])");
    auto merged = MergeScaleManagedFields((*live_)["metadata"]["managedFields"], scaled,
                                          "golden.example.com/v1", replicas);
    ASSERT_TRUE(merged);
    (*live_)["metadata"]["managedFields"] = *merged;
    (*live_)["spec"]["size"] = size;
  }

  void CheckApply(const Request& request, const Value& body, const Value& answer) {
    ASSERT_TRUE(live_);
    auto applied = Apply(schema_->type(), "Network", &*live_, body, Writer(request), request.force);
    ASSERT_TRUE(applied) << applied.error().ToString();
    EXPECT_EQ(OwnersOf(applied->object), OwnersOf(answer));
    Value object = applied->object;
    object["metadata"].as_object().Erase("managedFields");
    object["metadata"].as_object().Erase("generation");
    object["spec"].as_object().Erase("nul");  // null stays null, which IsPartOf takes for absent
    EXPECT_TRUE(IsPartOf(object, answer)) << json::Write(object) << "\n" << json::Write(answer);
    live_ = answer;
    ++checked_;
  }

  std::shared_ptr<const CustomSchema> schema_;
  const FieldSet status_resets_{{"spec"}, {"metadata"}};
  std::optional<Value> live_;
  int checked_ = 0;
};

TEST(ApplyRecordingsTest, RecordedAppliesOfACustomResource) {
  const json::Value cases = ReadRecording("cases/8-crd");
  CustomReplay replay;
  for (const Value& step : cases.as_array()[0]["steps"].as_array()) replay.Step(step);
  EXPECT_EQ(replay.checked(), 2);
}

}  // namespace
}  // namespace flyball::api
