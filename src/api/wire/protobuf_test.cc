#include "api/wire/protobuf.h"

#include <gtest/gtest.h>

#include "api/rules/kind_hooks.h"
#include "api/testing/recordings.h"
#include "api/values/base64.h"
#include "base/values/protobuf_wire.h"
#include "json/json.h"

namespace flyball::api {
namespace {

const TypeInfo& MessageType(const json::Value& object) {
  const std::string api_version(object["apiVersion"].as_string());
  const std::size_t slash = api_version.find('/');
  const std::string group = slash == std::string::npos ? "" : api_version.substr(0, slash);
  const std::string version = slash == std::string::npos ? api_version : api_version.substr(slash + 1);
  const KindInfo* kind = FindBuiltinKind(group, version, object["kind"].as_string());
  EXPECT_NE(kind, nullptr) << api_version << " " << object["kind"].as_string();
  return *kind->type;
}

std::string Bytes(const json::Value& base64) {
  std::string bytes;
  std::size_t bad = 0;
  EXPECT_TRUE(DecodeBase64(base64.as_string(), bytes, bad));
  return bytes;
}

TEST(ProtobufTest, EveryRecordedObjectDecodesToItsJson) {
  const json::Value vectors = ReadRecording("protobuf");
  EXPECT_GT(vectors.size(), 80u);
  for (const json::Value& vector : vectors.as_array()) {
    const json::Value& want = vector["json"];
    Result<json::Value> got = DecodeProtobuf(Bytes(vector["protobuf"]), MessageType(want));
    ASSERT_TRUE(got) << vector["name"].as_string() << ": " << got.error().message();
    // Protobuf does not say what the claims of a StatefulSet are; its defaults do.
    if (want["kind"] == json::Value("StatefulSet")) HooksFor("apps", "StatefulSet").set_defaults(*got);
    EXPECT_EQ(*got, want) << vector["name"].as_string() << "\n got " << json::Write(*got) << "\nwant "
                          << json::Write(want);
  }
}

TEST(ProtobufTest, EveryRecordedObjectSurvivesEncodingAndDecoding) {
  const json::Value vectors = ReadRecording("protobuf");
  int identical = 0;
  for (const json::Value& vector : vectors.as_array()) {
    const TypeInfo& type = MessageType(vector["json"]);
    const std::string recorded = Bytes(vector["protobuf"]);
    const Result<json::Value> object = DecodeProtobuf(recorded, type);
    ASSERT_TRUE(object);
    const std::string encoded = EncodeProtobuf(*object, type);
    identical += encoded == recorded;
    const Result<json::Value> again = DecodeProtobuf(encoded, type);
    ASSERT_TRUE(again) << vector["name"].as_string() << ": " << again.error().message();
    EXPECT_EQ(*again, *object) << vector["name"].as_string();
  }
  RecordProperty("byte_identical", identical);
}

TEST(ProtobufTest, CutBodiesAreErrors) {
  const json::Value vectors = ReadRecording("protobuf");
  const json::Value& vector = vectors.as_array()[5];
  const TypeInfo& type = MessageType(vector["json"]);
  const std::string body = Bytes(vector["protobuf"]);
  int errors = 0;
  for (std::size_t n = 0; n < body.size(); ++n) errors += !DecodeProtobuf(body.substr(0, n), type);
  EXPECT_GT(errors, static_cast<int>(body.size()) - 20);
}

TEST(ProtobufTest, TheMagicIsRequired) {
  const Result<json::Value> got = DecodeProtobuf("{}", ObjectMetaType());
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message(),
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
}

TEST(ProtobufTest, DeepNestingIsAnError) {
  const TypeInfo& type =
      *FindType("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps");
  std::string message;
  for (int i = 0; i < 600; ++i) {
    std::string outer;
    WireWriter(outer).Bytes(28, message);  // not
    message = outer;
  }
  EXPECT_FALSE(DecodeProtobufMessage(message, type));
}

TEST(ProtobufTest, SchemasOrSomethingElse) {
  const TypeInfo& type =
      *FindType("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps");
  for (const char* text :
       {R"({"additionalProperties":false})", R"({"additionalProperties":true})",
        R"({"additionalProperties":{"type":"string"}})", R"({"items":{"type":"object"}})",
        R"({"items":[{"type":"object"},{"type":"string"}]})", R"({"default":{"a":[1,2.5,null]}})",
        R"({"enum":["a",1,null]})", R"({"dependencies":{"a":["b"],"c":{"type":"string"}}})",
        R"({"maximum":1.5,"minimum":0})"}) {
    const json::Value value = *json::Parse(text);
    const Result<json::Value> got = DecodeProtobufMessage(EncodeProtobufMessage(value, type), type);
    ASSERT_TRUE(got) << text << ": " << got.error().message();
    EXPECT_EQ(json::Write(*got), text);
  }
}

// Go's type Verbs is a message of its own; without it Go clients say "unexpected EOF".
TEST(ProtobufTest, VerbsOfDiscoveryAreAMessage) {
  const TypeInfo& type = *FindType("io.k8s.apimachinery.pkg.apis.meta.v1.APIResource");
  const json::Value value = *json::Parse(R"({"name":"pods","verbs":["get","list"]})");
  const std::string message = EncodeProtobufMessage(value, type);
  std::string verbs;
  WireWriter(verbs).Bytes(1, "get");
  WireWriter(verbs).Bytes(1, "list");
  std::string field;
  WireWriter(field).Bytes(4, verbs);
  EXPECT_NE(message.find(field), std::string::npos);
  const Result<json::Value> got = DecodeProtobufMessage(message, type);
  ASSERT_TRUE(got);
  EXPECT_EQ((*got)["verbs"], value["verbs"]);
}

TEST(ProtobufTest, CoreDiscoveryHasAnAnswer) {
  const auto answer =
      EncodeProtobufAnswer(*json::Parse(R"({"kind":"APIResourceList","groupVersion":"v1","resources":[]})"));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->starts_with(std::string("k8s\0", 4)));
  EXPECT_NE(answer->find("APIResourceList"), std::string::npos);
}

TEST(ProtobufTest, MapsOfLists) {
  const TypeInfo& type = *FindType("io.k8s.api.authentication.v1.UserInfo");
  const json::Value value = *json::Parse(R"({"username":"u","extra":{"a":["1","2"],"b":["3"]}})");
  const Result<json::Value> got = DecodeProtobufMessage(EncodeProtobufMessage(value, type), type);
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, value);
}

// Go makes an empty value for an entry that has none.
TEST(ProtobufTest, EntriesWithoutValueAreEmpty) {
  const TypeInfo& type = *FindBuiltinKind("", "v1", "Secret")->type;
  std::string message;
  WireWriter(message).Bytes(2, "");
  const Result<json::Value> secret = DecodeProtobufMessage(message, type);
  ASSERT_TRUE(secret);
  EXPECT_EQ(json::Write((*secret)["data"]), R"({"":""})");
}

TEST(ProtobufTest, UnknownFieldsAreSkipped) {
  std::string message;
  WireWriter writer(message);
  writer.Varint(100, 7);
  writer.Bytes(1, "name");
  writer.Fixed64(101, 7);
  const Result<json::Value> got = DecodeProtobufMessage(message, ObjectMetaType());
  ASSERT_TRUE(got);
  EXPECT_EQ(json::Write(*got), R"({"name":"name"})");
}

}  // namespace
}  // namespace flyball::api
