#include "server/cache/text_packer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace flyball::server {
namespace {

std::string RecordedEvent(int i) {
  const std::string pod = "web-7d4b9c6f5d-" + std::to_string(10000 + i);
  return R"({"apiVersion":"v1","kind":"Event","metadata":{"name":")" + pod +
         R"(.18f3a5b6c7d8e9f0","namespace":"default","uid":"21e17b9d-2c64-4388-9000-ecf0521e0aee",)"
         R"("creationTimestamp":"2026-11-18T10:56:39Z","managedFields":[{"manager":"kubelet",)"
         R"("operation":"Update","apiVersion":"v1","time":"2026-11-18T10:56:39Z","fieldsType":"FieldsV1",)"
         R"("fieldsV1":{"f:count":{},"f:firstTimestamp":{},"f:involvedObject":{},"f:lastTimestamp":{},)"
         R"("f:message":{},"f:reason":{},"f:reportingComponent":{},"f:reportingInstance":{},)"
         R"("f:source":{"f:component":{},"f:host":{}},"f:type":{}}}]},"involvedObject":{"kind":"Pod",)"
         R"("namespace":"default","name":")" +
         pod +
         R"(","uid":"12345678-1111-2222-3333-444444444444","apiVersion":"v1","resourceVersion":"12345",)"
         R"("fieldPath":"spec.containers{web}"},"reason":"Pulled","message":"Container image )"
         R"(\"registry.example.com/team/web:v1.2.3\" already present on machine","source":{"component":)"
         R"("kubelet","host":"node-17"},"firstTimestamp":"2026-11-18T10:56:39Z","lastTimestamp":)"
         R"("2026-11-18T10:56:39Z","count":1,"type":"Normal","eventTime":null,"reportingComponent":)"
         R"("kubelet","reportingInstance":"node-17"})";
}

TEST(TextPackerTest, AnEventIsKeptInFarLessThanItsSize) {
  const std::string text = RecordedEvent(1);
  const std::string packed = EventPacker().Pack(text);
  EXPECT_LT(packed.size(), text.size() * 2 / 5) << packed.size() << " of " << text.size();
  EXPECT_EQ(EventPacker().Unpack(packed, text.size()), text);
}

TEST(TextPackerTest, TheBeginningOfATextIsUnpackedAlone) {
  const std::string text = RecordedEvent(2), packed = EventPacker().Pack(text);
  for (const std::size_t size : {0, 1, 20, 64, 500})
    EXPECT_EQ(EventPacker().Unpack(packed, size), text.substr(0, size));
}

TEST(TextPackerTest, TextsOfEverySizeAndContentReadBack) {
  std::mt19937 random(1);  // NOLINT(bugprone-random-generator-seed): the same texts every time
  for (const std::size_t size : {0, 1, 11, 12, 13, 1000, 70'000, 3'000'000}) {
    std::string noise(size, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    for (const std::string& text : {noise, std::string(size, 'x')}) {
      const std::string packed = EventPacker().Pack(text);
      EXPECT_EQ(EventPacker().Unpack(packed, size), text) << size;
    }
  }
}

}  // namespace
}  // namespace flyball::server
