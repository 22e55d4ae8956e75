// The schema's defaults, rules and structs, held against what the real Kubernetes answered.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "api/rules/validate.h"
#include "api/schema/decode.h"
#include "api/schema/defaults.h"
#include "api/schema/schema.h"
#include "api/schema/zero_value.h"
#include "api/testing/recordings.h"
#include "api/types/apps.h"
#include "api/types/autoscaling.h"
#include "api/types/batch.h"
#include "api/types/certificates.h"
#include "api/types/coordination.h"
#include "api/types/core.h"
#include "api/types/discovery.h"
#include "api/types/networking.h"
#include "api/types/policy.h"
#include "api/types/rbac.h"
#include "api/types/scheduling.h"
#include "api/types/storage.h"

namespace flyball::api {
namespace {

constexpr const char* kCases[] = {"1-kinds", "2-defaults", "3-invalid", "6-subresources", "9-values"};

const TypeInfo* TypeOf(const json::Value& object) {
  const std::string_view version = object["apiVersion"].string_or("");
  const std::size_t slash = version.find('/');
  const bool core = slash == std::string_view::npos;
  return FindKindType(core ? "" : version.substr(0, slash), core ? version : version.substr(slash + 1),
                      object["kind"].string_or(""));
}

// Calls `check` for every step that asks a built-in kind's type something.
void ForEachStep(const std::function<void(const json::Value& step)>& check) {
  for (const char* file : kCases) {
    const json::Value cases = ReadRecording(std::string("cases/") + file);
    for (const json::Value& one : cases.as_array()) {
      for (const json::Value& step : one["steps"].as_array()) check(step);
    }
  }
}

std::string Where(const json::Value& step) {
  return std::string(step["method"].string_or("")) + " " + std::string(step["path"].string_or("")) + " " +
         json::Write(step["body"]);
}

TEST(SchemaRecordings, WhatWasAcceptedBreaksNoRule) {
  ForEachStep([](const json::Value& step) {
    const json::Value& body = step["expect"]["body"];
    const TypeInfo* type = TypeOf(body);
    if (type == nullptr || step["expect"]["code"].int_or(0) >= 300) return;
    FieldErrors errors;
    Validate(*type, body, FieldPath(), errors);
    for (const Cause& cause : errors.causes()) {
      const bool placeholder = cause.message.find('<') != std::string::npos;
      EXPECT_TRUE(placeholder) << Where(step) << cause.field << cause.message;
    }
  });
}

TEST(SchemaRecordings, WhatTheRulesRefuseWasRefusedInTheSameWords) {
  int refused = 0;
  ForEachStep([&](const json::Value& step) {
    const TypeInfo* type = TypeOf(step["body"]);
    if (type == nullptr || step["method"].string_or("") != "POST") return;
    json::Value object = step["body"];
    DecodeContext context;
    if (!Decode(*type, object, context)) return;
    ApplyDefaults(*type, object);
    FieldErrors errors;
    Validate(*type, object, FieldPath(), errors);
    std::set<std::string> recorded;
    for (const json::Value& cause : step["expect"]["body"]["details"]["causes"].is_array()
                                        ? step["expect"]["body"]["details"]["causes"].as_array()
                                        : json::Array()) {
      recorded.insert(std::string(cause["field"].string_or("")) + ": " +
                      std::string(cause["message"].string_or("")));
    }
    if (recorded.empty() && step["expect"]["code"].int_or(0) >= 400) return;  // refused before validation
    for (const Cause& cause : errors.causes()) {
      EXPECT_TRUE(recorded.contains(cause.field + ": " + cause.message))
          << Where(step) << cause.field << cause.message;
      ++refused;
    }
  });
  EXPECT_GT(refused, 15);
}

// True if everything in `part`, but zeros that something else may yet set, is in `whole` too; texts in angle
// brackets stand for anything.
bool IsWithin(const json::Value& part, const json::Value& whole, std::string& path) {
  if (IsZero(part) || (whole.is_string() && whole.as_string().starts_with("<"))) return true;
  if (part.is_object() && whole.is_object()) {
    for (const auto& [key, value] : part.as_object()) {
      const std::size_t length = path.size();
      path.append(".").append(key);
      const json::Value* other = whole.Find(key);
      if (!IsWithin(value, other == nullptr ? json::Value() : *other, path)) return false;
      path.resize(length);
    }
    return true;
  }
  if (part.is_array() && whole.is_array() && part.size() <= whole.size()) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (!IsWithin(part.as_array()[i], whole.as_array()[i], path)) return false;
    }
    return true;
  }
  return part == whole ||
         (part.is_string() && whole.is_string() && whole.as_string().find('<') != std::string::npos);
}

TEST(SchemaRecordings, DefaultsAreTheServers) {
  ForEachStep([](const json::Value& step) {
    const TypeInfo* type = TypeOf(step["body"]);
    const json::Value& answer = step["expect"]["body"];
    if (type == nullptr || TypeOf(answer) != type || step["expect"]["code"].int_or(0) != 201) return;
    json::Value object = step["body"];
    DecodeContext context;
    ASSERT_TRUE(Decode(*type, object, context)) << Where(step);
    ApplyDefaults(*type, object);
    object.as_object().Erase("metadata");
    object.as_object().Erase("status");
    object.as_object().Erase("stringData");
    // Below zero becomes one for a Pod; that is the kind's.
    if (step["body"]["spec"]["terminationGracePeriodSeconds"].int_or(0) < 0) return;
    std::string path;
    EXPECT_TRUE(IsWithin(object, answer, path)) << Where(step) << "\n"
                                                << path << "\n"
                                                << json::Write(object) << "\n"
                                                << json::Write(answer);
  });
}

// Reads the object into the C++ struct of its kind and writes it again.
template <typename T>
bool RoundTrip(const json::Value& object, json::Value& written) {
  if (object["kind"].string_or("") != KindTraits<T>::kind) return false;
  T typed;
  const Status status = FromJson(object, &typed);
  EXPECT_TRUE(status) << status.error().message() << json::Write(object);
  written = ToJson(typed);
  EXPECT_EQ(T(typed), typed);
  return true;
}

template <typename... T>
bool AnyRoundTrip(const json::Value& object, json::Value& written) {
  return (RoundTrip<T>(object, written) || ...);
}

TEST(SchemaRecordings, StructsWriteWhatTheyRead) {
  const json::Value vectors = ReadRecording("protobuf");
  int typed = 0;
  for (const json::Value& vector : vectors.as_array()) {
    const json::Value& object = vector["json"];
    const std::string_view version = object["apiVersion"].string_or("");
    if (version == "autoscaling/v1" || version == "events.k8s.io/v1") continue;  // the structs are of others
    json::Value written;
    const bool known =
        AnyRoundTrip<ConfigMap, Secret, Namespace, Node, Pod, Service, ServiceAccount, Event, Endpoints,
                     PersistentVolume, PersistentVolumeClaim, ReplicationController, ResourceQuota,
                     LimitRange, PodTemplate, Lease, EndpointSlice, Deployment, ReplicaSet, StatefulSet,
                     DaemonSet, ControllerRevision, Job, CronJob, Role, ClusterRole, RoleBinding,
                     ClusterRoleBinding, PodDisruptionBudget, HorizontalPodAutoscaler, PriorityClass,
                     StorageClass, Ingress, NetworkPolicy, CertificateSigningRequest>(object, written);
    if (!known) continue;
    ++typed;
    EXPECT_EQ(written, object) << json::Write(written) << "\n" << json::Write(object);
  }
  EXPECT_GT(typed, 60);
}

}  // namespace
}  // namespace flyball::api
