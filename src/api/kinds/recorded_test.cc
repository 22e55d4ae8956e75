// Runs the bodies of the recordings through decoding, defaults, preparation and validation as the server
// does, and compares with what was recorded. What admission or an allocator did is left out.
#include <gtest/gtest.h>

#include <set>

#include "api/rules/access.h"
#include "api/rules/kind_hooks.h"
#include "api/rules/object_meta.h"
#include "api/rules/validate.h"
#include "api/schema/decode.h"
#include "api/schema/defaults.h"
#include "api/testing/recordings.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using json::Value;

struct Answer {
  std::string error;  // "" if the object was taken
  Value object;
};

const KindInfo* KindOf(const Value& body) {
  const std::string_view api_version = Text(body, "apiVersion");
  const std::size_t slash = api_version.find('/');
  const bool core = slash == std::string_view::npos;
  return FindBuiltinKind(core ? "" : api_version.substr(0, slash),
                         core ? api_version : api_version.substr(slash + 1), Text(body, "kind"));
}

std::string NamespaceIn(std::string_view path) {
  const std::size_t at = path.find("/namespaces/");
  if (at == std::string_view::npos) return "";
  const std::string_view rest = path.substr(at + 12);
  return std::string(rest.substr(0, rest.find('/')));
}

// Hooks that read members with the adding operator[] leave nulls behind.
std::size_t CountNulls(const Value& value) {
  std::size_t nulls = value.is_null() ? 1 : 0;
  for (const Value& item : Items(value)) nulls += CountNulls(item);
  for (const auto& [key, member] : Entries(value)) nulls += CountNulls(member);
  return nulls;
}

Answer Create(const KindInfo& kind, Value body, std::string_view path) {
  const KindHooks& hooks = HooksFor(kind.group, kind.kind);
  DecodeContext context;
  if (Status status = Decode(*kind.type, body, context); !status) {
    return {CannotBeHandled(kind.kind, kind.version, kind.kind, status.error().message()).message(), {}};
  }
  ApplyDefaults(*kind.type, body);
  const std::size_t nulls = CountNulls(body);
  if (hooks.set_defaults != nullptr) hooks.set_defaults(body);
  if (kind.namespaced) body["metadata"]["namespace"] = NamespaceIn(path);
  Value& metadata = body["metadata"];
  metadata["uid"] = "uid";
  metadata["creationTimestamp"] = "2024-01-01T00:00:00Z";
  if (Text(metadata, "name").empty() && Has(metadata, "generateName")) {
    metadata["name"] = std::string(Text(metadata, "generateName")) + "x";
  }
  if (kind.kind == "Pod") SetIfZero(body["spec"], "serviceAccountName", "default");
  if (kind.HasSubresource("status") && !hooks.keep_status_on_create) Remove(body, "status");
  if (hooks.prepare_for_create != nullptr) hooks.prepare_for_create(body);
  EXPECT_LE(CountNulls(body), nulls) << json::Write(body);
  Canonicalize(*kind.type, body);
  FieldErrors errors;
  ValidateObjectMetaForCreate(kind, hooks, body["metadata"], errors);
  if (hooks.validate != nullptr) {
    hooks.validate(body, errors);
  } else {
    Validate(*kind.type, body, FieldPath(), errors);
  }
  if (errors.empty()) return {"", std::move(body)};
  return {errors.ToError(kind.group, kind.kind, Text(body["metadata"], "name")).message(), {}};
}

// What a recording says that these steps cannot know: times, numbers, and what admission and allocators add.
const std::set<std::string>& LeftOut() {
  static const std::set<std::string> names = {"creationTimestamp",
                                              "resourceVersion",
                                              "generation",
                                              "name",
                                              "namespace",
                                              "serviceAccount",
                                              "serviceAccountName",
                                              "tolerations",
                                              "priority",
                                              "clusterIP",
                                              "clusterIPs",
                                              "ipFamilies",
                                              "ipFamilyPolicy",
                                              "nodePort",
                                              "volumes",
                                              "volumeMounts",
                                              "preemptionPolicy",
                                              "healthCheckNodePort",
                                              "uid",
                                              "storageClassName",
                                              "priorityClassName",
                                              "taints"};
  return names;
}

// What the server adds, not the kind: who asked, when, and what admission holds.
bool FillsInServer(const std::string& path) {
  static const std::set<std::string> paths = {
      "PersistentVolume.metadata.finalizers",      "PersistentVolumeClaim.metadata.finalizers",
      "VolumeAttributesClass.metadata.finalizers", "CertificateSigningRequest.spec.username",
      "CertificateSigningRequest.spec.groups",     "DeviceTaintRule.spec.taint.timeAdded"};
  return paths.contains(path);
}

void Compare(const Value& got, const Value& want, const std::string& path) {
  if (want.is_object()) {
    for (const auto& [key, value] : want.as_object()) {
      if (!LeftOut().contains(key) && !FillsInServer(path + "." + key)) {
        Compare(got[key], value, path + "." + key);
      }
    }
    for (const auto& [key, value] : Entries(got)) {
      if (LeftOut().contains(key) || want.Find(key) != nullptr) continue;
      ADD_FAILURE() << path << "." << key << ": not recorded: " << json::Write(value);
    }
  } else if (want.is_array()) {
    EXPECT_EQ(got.size(), want.size()) << path;
    for (std::size_t i = 0; i < want.size() && i < Items(got).size(); ++i) {
      Compare(Items(got)[i], want.as_array()[i], path + "[" + std::to_string(i) + "]");
    }
  } else if (want.is_string() && (want.as_string() == "<uid>" || want.as_string() == "<time>")) {
    EXPECT_TRUE(got.is_string()) << path;
  } else {
    EXPECT_EQ(json::Write(got), json::Write(want)) << path;
  }
}

// Errors that are an allocator's or the server's, not a kind's.
bool IsServers(std::string_view message) {
  for (const char* part :
       {"not in the valid range", "does not match the namespace", "should not be set on objects",
        "is registered for version", "unknown conversion", "already exists", "namespaces \"",
        "maximum allowed value of a user defined priority"}) {
    if (message.find(part) != std::string_view::npos) return true;
  }
  return false;
}

class RecordedKindsTest : public testing::TestWithParam<const char*> {};

TEST_P(RecordedKindsTest, AnswersAsRecorded) {
  const Value cases = ReadRecording(std::string("cases/") + GetParam());
  int refused = 0, taken = 0;
  for (const Value& scenario : cases.as_array()) {
    for (const Value& step : scenario["steps"].as_array()) {
      const Value& body = step["body"];
      if (Text(step, "method") != "POST" || !body.is_object()) continue;
      Value complete = body;
      const KindInfo* kind = KindOf(body);
      if (kind == nullptr || kind->group == "events.k8s.io") continue;  // kept as core's Event
      const Value& expect = step["expect"];
      const std::int64_t code = Number(expect, "code");
      const Value* picked = expect.Find("picked");
      const std::string_view message = Text(picked != nullptr ? *picked : expect["body"], "message");
      SCOPED_TRACE(json::Write(body));
      if (code == 201) {
        const Answer answer = Create(*kind, complete, Text(step, "path"));
        EXPECT_EQ(answer.error, "");
        if (picked == nullptr && expect["body"].is_object() && answer.error.empty()) {
          Compare(answer.object, expect["body"], std::string(kind->kind));
        }
        ++taken;
      } else if ((code == 422 || code == 400) && !IsServers(message)) {
        EXPECT_EQ(Create(*kind, complete, Text(step, "path")).error, message);
        ++refused;
      }
    }
  }
  RecordProperty("refused", refused);
  RecordProperty("taken", taken);
  EXPECT_GT(refused + taken, 0);
}

INSTANTIATE_TEST_SUITE_P(Recordings, RecordedKindsTest,
                         testing::Values("1-kinds", "2-defaults", "3-invalid", "9-values"));

}  // namespace
}  // namespace flyball::api
