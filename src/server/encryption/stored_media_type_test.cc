#include "server/encryption/stored_media_type.h"

#include <gtest/gtest.h>

#include "api/wire/protobuf.h"
#include "json/json.h"

namespace flyball::server {
namespace {

constexpr const char* kKey = "/registry/configmaps/default/a";
const Bytes kConfigMap = MakeBytes(
    R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default","uid":"u","creationTimestamp":"2026-01-02T03:04:05Z"},"data":{"k":"v"}})");

TEST(StoredMediaTypeTest, BuiltInKindsAreProtobufAndComeBackEqual) {
  const StoredMediaType protobuf(true);
  const auto stored = protobuf.ToStorage(kKey, kConfigMap);
  ASSERT_TRUE(stored) << stored.error().message();
  EXPECT_TRUE((*stored)->starts_with(std::string_view("k8s\0", 4)));
  EXPECT_TRUE(protobuf.IsTransformed(**stored));
  EXPECT_FALSE(protobuf.IsStale(kKey, **stored));
  EXPECT_TRUE(protobuf.IsStale(kKey, *kConfigMap));
  // Whatever is written, both are read.
  for (const bool writes_protobuf : {true, false}) {
    const auto read = StoredMediaType(writes_protobuf).FromStorage(kKey, *stored);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(**read, *kConfigMap);
  }
}

TEST(StoredMediaTypeTest, JsonStaysAsItIs) {
  const StoredMediaType json(false);
  EXPECT_EQ(*json.ToStorage(kKey, kConfigMap), kConfigMap);
  EXPECT_EQ(*json.FromStorage(kKey, kConfigMap), kConfigMap);
  // As Go's encoder leaves it.
  EXPECT_EQ(**json.FromStorage(kKey, MakeBytes(*kConfigMap + "\n")), *kConfigMap);
}

TEST(StoredMediaTypeTest, DefinitionsInTheVersionUpstreamStoresAreRead) {
  const StoredMediaType media(true);
  const auto read = [&](const std::string& spec) {
    const auto stored = MakeBytes(
        R"({"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1","metadata":{"name":"toys.example.com"},"spec":)" +
        spec + "}\n");
    const auto plain = media.FromStorage(
        "/registry/apiextensions.k8s.io/customresourcedefinitions/toys.example.com", stored);
    EXPECT_TRUE(plain) << plain.error().message();
    return *json::Parse(**plain);
  };
  const std::string names =
      R"("group":"example.com","names":{"plural":"toys","kind":"Toy"},"scope":"Namespaced",)";
  const json::Value common =
      read("{" + names +
           R"("version":"v1","preserveUnknownFields":false,"validation":{"openAPIV3Schema":{"type":"object"}},
         "subresources":{"status":{}},"additionalPrinterColumns":[{"name":"A","type":"string","JSONPath":".a"}],
         "selectableFields":[{"jsonPath":".b"}],
         "versions":[{"name":"v1","served":true,"storage":true},{"name":"v2","served":true,"storage":false}],
         "conversion":{"strategy":"Webhook","webhookClientConfig":{"url":"https://x"},"conversionReviewVersions":["v1"]}})");
  EXPECT_EQ(common["apiVersion"].string_or(""), "apiextensions.k8s.io/v1");
  const json::Value& spec = common["spec"];
  for (const char* gone : {"version", "validation", "subresources", "additionalPrinterColumns",
                           "selectableFields", "preserveUnknownFields"})
    EXPECT_FALSE(spec.Find(gone)) << gone;
  for (const auto& version : spec["versions"].as_array()) {
    EXPECT_EQ(version["schema"]["openAPIV3Schema"]["type"].string_or(""), "object");
    EXPECT_TRUE(version["subresources"]["status"].is_object());
    EXPECT_EQ(version["additionalPrinterColumns"].as_array()[0]["jsonPath"].string_or(""), ".a");
    EXPECT_EQ(version["selectableFields"].as_array()[0]["jsonPath"].string_or(""), ".b");
  }
  EXPECT_EQ(spec["conversion"]["webhook"]["clientConfig"]["url"].string_or(""), "https://x");
  EXPECT_EQ(spec["conversion"]["webhook"]["conversionReviewVersions"].as_array()[0].string_or(""), "v1");
  // Before there were lists of versions.
  const json::Value single = read("{" + names + R"("version":"v1"})");
  EXPECT_EQ(single["spec"]["versions"].as_array()[0]["name"].string_or(""), "v1");
  EXPECT_TRUE(single["spec"]["versions"].as_array()[0]["storage"].bool_or(false));
  EXPECT_TRUE(single["spec"]["preserveUnknownFields"].bool_or(false));
}

TEST(StoredMediaTypeTest, CustomObjectsAndDefinitionsAreJson) {
  const StoredMediaType protobuf(true);
  const Bytes toy = MakeBytes(R"({"apiVersion":"example.com/v1","kind":"Toy","metadata":{"name":"a"}})");
  EXPECT_EQ(*protobuf.ToStorage("/registry/example.com/toys/default/a", toy), toy);
  EXPECT_EQ(*protobuf.ToStorage("/registry/apiextensions.k8s.io/customresourcedefinitions/a", kConfigMap),
            kConfigMap);
}

// kube-apiserver stores a claim before anybody has given it a phase.
TEST(StoredMediaTypeTest, DefaultsAreSetOnRead) {
  const Bytes claim = MakeBytes(
      R"({"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{"name":"a","namespace":"default","uid":"u"},)"
      R"("spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}},"status":{}})");
  const StoredMediaType protobuf(true);
  const std::string key = "/registry/persistentvolumeclaims/default/a";
  const auto read = protobuf.FromStorage(key, *protobuf.ToStorage(key, claim));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_NE((*read)->find(R"("volumeMode":"Filesystem")"), std::string::npos) << **read;
  EXPECT_NE((*read)->find(R"("status":{"phase":"Pending"})"), std::string::npos) << **read;
  const auto from_json = protobuf.FromStorage(key, MakeBytes(*claim + "\n"));
  EXPECT_EQ(**from_json, **read);
}

TEST(StoredMediaTypeTest, AKindThatIsNotKnownIsAnError) {
  const std::string unknown = api::ProtobufEnvelopeOf("v9", "Nothing", "");
  const auto read = StoredMediaType(true).FromStorage(kKey, MakeBytes(unknown));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find("no kind \"Nothing\" is registered for version \"v9\""),
            std::string::npos);
  EXPECT_FALSE(StoredMediaType(true).FromStorage(kKey, MakeBytes(std::string("k8s\0\xff", 5))));
}

}  // namespace
}  // namespace flyball::server
