#include "server/encryption/stored_media_type.h"

#include <gtest/gtest.h>

#include "api/wire/protobuf.h"

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
