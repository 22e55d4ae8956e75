#include "api/schema/decode.h"

#include <gtest/gtest.h>

#include "api/schema/decode_repeated.h"
#include "api/schema/defaults.h"
#include "api/testing/recordings.h"
#include "json/json.h"
#include "json/parse_repeated.h"

namespace flyball::api {
namespace {

const TypeInfo& KindType(std::string_view group, std::string_view kind) {
  const KindInfo* info = FindBuiltinKind(group, "v1", kind);
  EXPECT_NE(info, nullptr) << kind;
  return *info->type;
}

struct Decoded {
  std::string text;  // the object or the error
  std::vector<std::string> strict;
};

Decoded DecodeText(const TypeInfo& type, std::string_view text) {
  json::Value value = *json::Parse(text);
  DecodeContext context;
  const Status status = Decode(type, value, context);
  return {status ? json::Write(value) : status.error().message(), context.strict_errors};
}

std::string DecodeKind(std::string_view group, std::string_view kind, std::string_view text) {
  return DecodeText(KindType(group, kind), text).text;
}

TEST(DecodeTest, MembersComeInTableOrderAndMapsSorted) {
  EXPECT_EQ(DecodeKind("", "ConfigMap",
                       R"({"data":{"b":"2","a":"1"},"metadata":{"labels":{"z":"","a":""},"name":"x"},
            "kind":"ConfigMap","apiVersion":"v1"})"),
            R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","labels":{"a":"","z":""}},)"
            R"("data":{"a":"1","b":"2"}})");
}

TEST(DecodeTest, NullsAndZeroValuesGo) {
  EXPECT_EQ(
      DecodeKind("", "ConfigMap",
                 R"({"metadata":{"name":"x","generation":0,"labels":{},"finalizers":[],"uid":""},"data":null,
                        "immutable":false})"),
      R"({"metadata":{"name":"x"},"immutable":false})");
}

TEST(DecodeTest, StructsThatAreNoPointersAreWritten) {
  EXPECT_EQ(DecodeKind("", "Service", R"({"spec":{"ports":[{"port":80}]}})"),
            R"({"metadata":{},"spec":{"ports":[{"port":80,"targetPort":0}]},"status":{"loadBalancer":{}}})");
}

TEST(DecodeTest, RequiredListsAreNull) {
  EXPECT_EQ(DecodeKind("rbac.authorization.k8s.io", "Role", "{}"), R"({"metadata":{},"rules":null})");
  EXPECT_EQ(DecodeKind("rbac.authorization.k8s.io", "Role", R"({"rules":[]})"),
            R"({"metadata":{},"rules":[]})");
}

TEST(DecodeTest, NullElementsAreZeroValues) {
  EXPECT_EQ(DecodeKind("", "ConfigMap", R"({"data":{"a":null},"metadata":{"finalizers":[null]}})"),
            R"({"metadata":{"finalizers":[""]},"data":{"a":""}})");
}

TEST(DecodeTest, WrongTypesAreNamedAsGoNamesThem) {
  EXPECT_EQ(DecodeKind("", "ConfigMap", R"({"data":{"a":1}})"),
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string");
  EXPECT_EQ(DecodeKind("", "ConfigMap", R"({"data":"str"})"),
            "json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string");
  EXPECT_EQ(
      DecodeKind("", "Pod", R"({"spec":{"containers":"x"}})"),
      "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container");
  EXPECT_EQ(
      DecodeKind("", "Pod", R"({"spec":{"containers":[{"name":"a","stdin":"x"}]}})"),
      "json: cannot unmarshal string into Go struct field Container.spec.containers.stdin of type bool");
  EXPECT_EQ(DecodeKind("", "Pod", R"({"spec":[]})"),
            "json: cannot unmarshal array into Go struct field Pod.spec of type v1.PodSpec");
  EXPECT_EQ(
      DecodeKind("", "Pod", R"({"spec":{"volumes":[{"emptyDir":5}]}})"),
      "json: cannot unmarshal number into Go struct field Volume.spec.volumes.VolumeSource.emptyDir of type "
      "v1.EmptyDirVolumeSource");
  EXPECT_EQ(DecodeKind("", "Pod", R"({"spec":{"restartPolicy":5}})"),
            "json: cannot unmarshal number into Go struct field PodSpec.spec.restartPolicy of type "
            "v1.RestartPolicy");
  EXPECT_EQ(
      DecodeKind("", "PersistentVolumeClaim", R"({"spec":{"accessModes":[5]}})"),
      "json: cannot unmarshal number into Go struct field PersistentVolumeClaimSpec.spec.accessModes of type "
      "v1.PersistentVolumeAccessMode");
  EXPECT_EQ(
      DecodeKind("", "Pod", R"({"spec":{"priority":2147483648}})"),
      "json: cannot unmarshal number 2147483648 into Go struct field PodSpec.spec.priority of type int32");
  EXPECT_EQ(DecodeKind("", "Pod", R"({"spec":{"restartPolicy":1}})"),
            "json: cannot unmarshal number into Go struct field PodSpec.spec.restartPolicy of type "
            "v1.RestartPolicy");
}

TEST(DecodeTest, TheFirstWrongTypeIsReportedButBadQuantitiesWin) {
  EXPECT_EQ(
      DecodeKind("", "ResourceQuota", R"({"metadata":{"name":1,"namespace":2},"spec":{"hard":{"cpu":"x"}}})"),
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  EXPECT_EQ(DecodeKind("", "ResourceQuota", R"({"metadata":{"name":1,"namespace":2}})"),
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string");
}

TEST(DecodeTest, UnknownFieldsAreReportedWithTheirPathAndDropped) {
  const Decoded decoded =
      DecodeText(KindType("", "Service"), R"({"bogus":1,"spec":{"ports":[{"port":1,"zap":2}]}})");
  EXPECT_EQ(decoded.strict,
            (std::vector<std::string>{"unknown field \"bogus\"", "unknown field \"spec.ports[0].zap\""}));
  EXPECT_EQ(decoded.text.find("bogus"), std::string::npos);
  EXPECT_EQ(decoded.text.find("zap"), std::string::npos);
}

TEST(DecodeTest, CaseMatters) {
  EXPECT_EQ(DecodeText(KindType("", "ConfigMap"), R"({"Data":{}})").strict,
            std::vector<std::string>{"unknown field \"Data\""});
}

Decoded DecodeRepeatedText(const TypeInfo& type, std::string_view text) {
  json::Value value = *json::ParseRepeated(text);
  DecodeContext context;
  const Status status = DecodeRepeated(type, value, context);
  return {status ? json::Write(value) : status.error().message(), context.strict_errors};
}

TEST(DecodeTest, RepeatedAndUnknownFieldsAreReportedAsTheyAreWritten) {
  const Decoded decoded = DecodeRepeatedText(
      KindType("", "Service"),
      R"({"zz":1,"spec":{"u":{"a":1,"a":2},"type":"NodePort","ports":[{"port":1,"v":1,"port":2}],)"
      R"("type":"ClusterIP","u":1,"selector":{"a":"b","a":"c"}}})");
  EXPECT_EQ(decoded.strict, (std::vector<std::string>{
                                "unknown field \"zz\"", "unknown field \"spec.u\"",
                                "unknown field \"spec.ports[0].v\"", "duplicate field \"spec.ports[0].port\"",
                                "duplicate field \"spec.type\"", "duplicate field \"spec.selector.a\""}));
  EXPECT_EQ(decoded.text,
            R"({"metadata":{},"spec":{"ports":[{"port":2,"targetPort":0}],"selector":{"a":"c"},)"
            R"("type":"ClusterIP"},"status":{"loadBalancer":{}}})");
}

TEST(DecodeTest, RepeatedFieldsJoinAsInGo) {
  const TypeInfo& map = KindType("", "ConfigMap");
  EXPECT_EQ(DecodeRepeatedText(map, R"({"metadata":{"name":"a"},"metadata":{"labels":{"a":"b"}},)"
                                    R"("data":{"a":"b"},"data":{"c":"d"}})")
                .text,
            R"({"metadata":{"name":"a","labels":{"a":"b"}},"data":{"a":"b","c":"d"}})");
  EXPECT_EQ(
      DecodeRepeatedText(map, R"({"immutable":true,"immutable":null,"metadata":{"name":"a","name":null}})")
          .text,
      R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(DecodeRepeatedText(KindType("", "Service"),
                               R"({"spec":{"ports":[{"port":1},{"port":2}],"ports":[{"name":"x"}]}})")
                .text,
            R"({"metadata":{},"spec":{"ports":[{"name":"x","port":1,"targetPort":0}]},)"
            R"("status":{"loadBalancer":{}}})");
}

TEST(DecodeTest, AWrongValueThatIsRepeatedRightlyIsStillWrong) {
  EXPECT_EQ(DecodeRepeatedText(KindType("", "ConfigMap"), R"({"immutable":"yes","immutable":true})").text,
            "json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool");
}

TEST(DecodeTest, NothingIsReportedInTypesThatDecodeThemselves) {
  const Decoded decoded = DecodeRepeatedText(KindType("apps", "ControllerRevision"),
                                             R"({"data":{"a":1,"a":2},"revision":1,"revision":2})");
  EXPECT_EQ(decoded.strict, std::vector<std::string>{"duplicate field \"revision\""});
  EXPECT_NE(decoded.text.find(R"("data":{"a":2},"revision":2)"), std::string::npos) << decoded.text;
}

TEST(DecodeTest, StrictErrorsInOneLine) {
  DecodeContext context;
  context.strict_errors = {"unknown field \"a\""};
  context.AddDuplicates({"metadata.name"});
  EXPECT_EQ(StrictErrorText(context),
            "strict decoding error: unknown field \"a\", duplicate field \"metadata.name\"");
  EXPECT_EQ(CannotBeHandled("ConfigMap", "v1", "ConfigMap", "x").message(),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: x");
}

TEST(DecodeTest, BadBase64IsCountedAsGoCounts) {
  EXPECT_EQ(DecodeKind("", "Secret", R"({"data":{"k":"not base64!"}})"),
            "illegal base64 data at input byte 3");
  EXPECT_EQ(DecodeKind("", "Secret", R"({"data":{"k":"dg="}})"), "illegal base64 data at input byte 3");
  EXPECT_EQ(DecodeKind("", "Secret", R"({"data":{"k":"dg"}})"), "illegal base64 data at input byte 0");
  EXPECT_EQ(DecodeKind("", "Secret", R"({"data":{"k":"dg==\n"}})"), R"({"metadata":{},"data":{"k":"dg=="}})");
}

TEST(DecodeTest, SchemasInsideSchemasAreDecodedToo) {
  const TypeInfo& type =
      *FindType("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps");
  const Decoded decoded = DecodeText(
      type,
      R"({"additionalProperties":{"type":"string","bogus":1},"items":{"type":"object","properties":{"a":{}}},
               "default":{"b":1,"a":null}})");
  EXPECT_EQ(decoded.text, R"({"default":{"b":1,"a":null},"items":{"type":"object","properties":{"a":{}}},)"
                          R"("additionalProperties":{"type":"string"}})");
  EXPECT_TRUE(decoded.strict.empty());  // upstream decodes such parts leniently
}

TEST(DecodeTest, DeepNestingIsAnErrorNotACrash) {
  std::string text;
  for (int i = 0; i < 4000; ++i) text += R"({"not":)";
  text += "{}" + std::string(4000, '}');
  const TypeInfo& type =
      *FindType("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps");
  EXPECT_EQ(DecodeText(type, text).text, "exceeded max depth");
}

TEST(DecodeTest, CanonicalizeIsIdempotent) {
  json::Value value =
      *json::Parse(R"({"spec":{"hard":{"memory":"1024Mi","cpu":1.5}},"metadata":{"name":"q"}})");
  const TypeInfo& type = KindType("", "ResourceQuota");
  Canonicalize(type, value);
  const std::string once = json::Write(value);
  EXPECT_EQ(once, R"({"metadata":{"name":"q"},"spec":{"hard":{"cpu":"1500m","memory":"1Gi"}},"status":{}})");
  Canonicalize(type, value);
  EXPECT_EQ(json::Write(value), once);
}

// Every body of the recorded values, decoded: either the recorded error, or what was recorded to come back.
TEST(DecodeTest, RecordedValuesComeOutAsRecorded) {
  const json::Value cases = ReadRecording("cases/9-values");
  int checked = 0;
  for (const json::Value& scenario : cases.as_array()) {
    for (const json::Value& step : scenario["steps"].as_array()) {
      const json::Value& expect = step["expect"];
      const json::Value* picked = expect.Find("picked");
      if (picked == nullptr) continue;
      json::Value body = step["body"];
      const std::string api_version(body["apiVersion"].as_string());
      const std::size_t slash = api_version.find('/');
      const std::string kind(body["kind"].as_string());
      const TypeInfo& type = KindType(slash == std::string::npos ? "" : api_version.substr(0, slash), kind);
      DecodeContext context;
      const Status status = Decode(type, body, context);
      if (expect["code"].as_int() == 400) {
        ASSERT_FALSE(status) << json::Write(step["body"]);
        EXPECT_EQ(CannotBeHandled(kind, "v1", kind, status.error().message()).message(),
                  (*picked)["message"].as_string());
      } else if (expect["code"].as_int() == 201) {
        ASSERT_TRUE(status) << status.error().message();
        for (const auto& [path, want] : picked->as_object()) {
          if (path == "code" || path == "message") continue;
          const json::Value* got = &body;
          for (std::size_t at = 0; at <= path.size() && got != nullptr;) {
            const std::size_t dot = std::min(path.find('.', at), path.size());
            got = got->Find(path.substr(at, dot - at));
            at = dot + 1;
          }
          const json::Value absent("<absent>");
          EXPECT_EQ(json::Write(got != nullptr ? *got : absent), json::Write(want))
              << json::Write(step["body"]);
        }
      }
      ++checked;
    }
  }
  EXPECT_GT(checked, 140);
}

TEST(DefaultsTest, FieldsNotSetGetTheirDefaults) {
  json::Value value = *json::Parse(R"({"spec":{"containers":[{"name":"a","ports":[{"containerPort":1}],
    "livenessProbe":{"exec":{}}}]}})");
  ApplyDefaults(KindType("", "Pod"), value);
  const json::Value& container = value["spec"]["containers"].as_array()[0];
  EXPECT_EQ(container["ports"].as_array()[0]["protocol"], json::Value("TCP"));
  EXPECT_EQ(container["livenessProbe"]["periodSeconds"], json::Value(10));
  EXPECT_EQ(container["terminationMessagePath"], json::Value("/dev/termination-log"));
}

TEST(DefaultsTest, ZeroCountsAsUnsetUnlessItIsAPointer) {
  json::Value value = *json::Parse(R"({"spec":{"replicas":0}})");
  ApplyDefaults(KindType("apps", "Deployment"), value);
  EXPECT_EQ(value["spec"]["replicas"], json::Value(0));
}

}  // namespace
}  // namespace flyball::api
