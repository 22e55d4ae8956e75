// The form of an answer: JSON, protobuf, for people.
#include "api/wire/protobuf.h"
#include "base/values/protobuf_wire.h"
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

constexpr const char* kProtobuf = "application/vnd.kubernetes.protobuf";

class AnswerFormsTest : public ServerFixture {
 protected:
  AnswerFormsTest() { Do("POST", maps_, R"({"metadata":{"name":"a","labels":{"x":"y"}},"data":{"k":"v"}})"); }

  std::shared_ptr<Reply> Get(const std::string& target, const std::string& accept,
                             const std::string& agent = "") {
    net::Request request;
    request.method = "GET";
    request.target = target;
    request.headers.Set("accept", accept);
    if (!agent.empty()) request.headers.Set("user-agent", agent);
    return Send(*admin_, std::move(request));
  }
  static const api::TypeInfo& Type(const char* name) { return *api::FindType(name); }

  const std::string maps_ = "/api/v1/namespaces/default/configmaps";
};

TEST_F(AnswerFormsTest, AnObjectInProtobufIsTheSameObject) {
  const auto reply = Get(maps_ + "/a", kProtobuf);
  ASSERT_EQ(reply->status, 200);
  EXPECT_EQ(reply->headers.Get("content-type"), kProtobuf);
  const auto object = api::DecodeProtobuf(reply->body, Type("io.k8s.api.core.v1.ConfigMap"));
  ASSERT_TRUE(object);
  EXPECT_EQ(*object, Do("GET", maps_ + "/a")->value());
}

TEST_F(AnswerFormsTest, TheClientsOrderDecidesBetweenProtobufAndJson) {
  EXPECT_EQ(Get(maps_ + "/a", std::string(kProtobuf) + ",application/json")->headers.Get("content-type"),
            kProtobuf);
  EXPECT_EQ(Get(maps_ + "/a", std::string("application/json,") + kProtobuf)->headers.Get("content-type"),
            "application/json");
  EXPECT_EQ(
      Get(maps_ + "/a", std::string("application/json;q=0.5,") + kProtobuf)->headers.Get("content-type"),
      kProtobuf);
  EXPECT_EQ(Get(maps_ + "/a", "text/html")->status, 406);
}

TEST_F(AnswerFormsTest, TablesAndMetadataComeInTheVersionThatIsAskedFor) {
  const std::string table = "application/json;as=Table;g=meta.k8s.io;v=";
  const std::string metadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=";
  for (const std::string version : {"v1", "v1beta1"}) {
    const json::Value rows = Get(maps_, table + version)->value();
    EXPECT_EQ(rows["apiVersion"].string_or(""), "meta.k8s.io/" + version);
    EXPECT_EQ(rows["rows"].as_array()[0]["object"]["apiVersion"].string_or(""), "meta.k8s.io/" + version);
    const json::Value list = Get(maps_, metadata + version)->value();
    EXPECT_EQ(list["apiVersion"].string_or(""), "meta.k8s.io/" + version);
    EXPECT_EQ(list["items"].as_array()[0]["apiVersion"].string_or(""), "meta.k8s.io/" + version);
  }
  EXPECT_EQ(Get(maps_, table + "v2")->status, 406);
}

TEST_F(AnswerFormsTest, MetadataOfAListAndOfAnObjectAreAskedForByTheirNames) {
  const std::string one = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
  const std::string list = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
  EXPECT_EQ(Get(maps_, one)->value()["message"].string_or(""),
            "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)");
  EXPECT_EQ(
      Get(maps_ + "/a", list)->value()["message"].string_or(""),
      "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)");
  EXPECT_TRUE(Get(maps_ + "?labelSelector=no%3Dne", list)->value()["items"].is_null());
}

TEST_F(AnswerFormsTest, ErrorsAreYamlWhereThatIsWanted) {
  const auto reply = Get(maps_ + "/none", "application/yaml");
  EXPECT_EQ(reply->status, 404);
  EXPECT_EQ(reply->headers.Get("content-type"), "application/yaml");
}

TEST_F(AnswerFormsTest, HeadIsNoMethodOfTheApi) {
  net::Request request;
  request.method = "HEAD";
  request.target = maps_;
  EXPECT_EQ(Send(*admin_, request)->status, 405);
}

TEST_F(AnswerFormsTest, AReviewHasNoTable) {
  net::Request request;
  request.method = "POST";
  request.target = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  request.headers.Set("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
  request.body = R"({"spec":{"nonResourceAttributes":{"path":"/","verb":"get"}}})";
  EXPECT_EQ(Send(*admin_, request)->status, 406);
  request.headers.Set("accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
  EXPECT_EQ(Send(*admin_, request)->status, 201);
}

TEST_F(AnswerFormsTest, AListInProtobufHasItsItemsAndVersion) {
  const auto reply = Get(maps_, kProtobuf);
  const auto envelope = api::ReadProtobufEnvelope(reply->body);
  ASSERT_TRUE(envelope);
  EXPECT_EQ(envelope->kind, "ConfigMapList");
  int items = 0;
  WireReader reader(envelope->raw);
  while (reader.NextField()) {
    const auto part = reader.Bytes();
    if (reader.number() == 1) {
      const auto metadata =
          api::DecodeProtobufMessage(part, Type("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"));
      EXPECT_FALSE((*metadata)["resourceVersion"].string_or("").empty());
    } else {
      const auto item = api::DecodeProtobufMessage(part, Type("io.k8s.api.core.v1.ConfigMap"));
      EXPECT_EQ((*item)["metadata"]["name"].string_or(""), "a");
      ++items;
    }
  }
  EXPECT_EQ(items, 1);
}

TEST_F(AnswerFormsTest, MetadataAloneIsTheMetadataOfTheObject) {
  constexpr const char* kMetadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
  constexpr const char* kMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
  Do("POST", maps_,
     R"({"metadata":{"name":"b","annotations":{"odd":"}\\\"{ \\"}},"data":{"metadata":"{}"}})");
  const auto whole = Do("GET", maps_ + "/b")->value();
  const auto alone = Get(maps_ + "/b", kMetadataOnly)->value();
  EXPECT_EQ(alone["kind"].string_or(""), "PartialObjectMetadata");
  EXPECT_EQ(alone["metadata"], whole["metadata"]);
  EXPECT_EQ(alone["data"], json::Value());
  const auto list = Get(maps_ + "?fieldSelector=metadata.name%3Db", kMetadataList)->value();
  ASSERT_EQ(list["items"].size(), 1u);
  EXPECT_EQ(list["items"].as_array()[0], alone);
}

TEST_F(AnswerFormsTest, AWriteThatFailsLaterWarnsToo) {
  const char* pod = R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i",
                        "env":[{"name":"A","value":"1"},{"name":"A","value":"2"}]}]}})";
  Do("POST", "/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
  const std::string pods = "/api/v1/namespaces/default/pods";
  const auto made = Do("POST", pods, pod), again = Do("POST", pods, pod);
  EXPECT_EQ(made->status, 201);
  EXPECT_EQ(again->status, 409);
  EXPECT_FALSE(made->headers.Get("warning").empty());
  EXPECT_EQ(again->headers.Get("warning"), made->headers.Get("warning"));
}

TEST_F(AnswerFormsTest, AWatchInProtobufIsFramed) {
  const auto reply = Get(maps_ + "?watch=true", kProtobuf);
  sim_.RunReady();
  EXPECT_EQ(reply->headers.Get("content-type"), std::string(kProtobuf) + ";stream=watch");
  ASSERT_GT(reply->body.size(), 4u);
  std::size_t length = 0;
  for (int i = 0; i < 4; ++i)
    length = length << 8 | static_cast<unsigned char>(reply->body[static_cast<std::size_t>(i)]);
  ASSERT_EQ(reply->body.size(), length + 4);
  WireReader event(std::string_view(reply->body).substr(4));
  ASSERT_TRUE(event.NextField());
  EXPECT_EQ(event.Bytes(), "ADDED");
  ASSERT_TRUE(event.NextField());
  WireReader raw(event.Bytes());
  ASSERT_TRUE(raw.NextField());
  const auto object = api::DecodeProtobuf(raw.Bytes(), Type("io.k8s.api.core.v1.ConfigMap"));
  ASSERT_TRUE(object);
  EXPECT_EQ((*object)["metadata"]["name"].string_or(""), "a");
}

TEST_F(AnswerFormsTest, ErrorsAreProtobufToo) {
  const auto reply = Get(maps_ + "/none", kProtobuf);
  EXPECT_EQ(reply->status, 404);
  const auto status = api::DecodeProtobuf(reply->body, Type("io.k8s.apimachinery.pkg.apis.meta.v1.Status"));
  ASSERT_TRUE(status);
  EXPECT_EQ((*status)["reason"].string_or(""), "NotFound");
}

TEST_F(AnswerFormsTest, CustomObjectsHaveNoProtobuf) {
  Do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", R"({
    "metadata":{"name":"nets.example.com"},
    "spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"nets","kind":"Net"},
            "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})");
  sim_.RunReady();
  const std::string nets = "/apis/example.com/v1/namespaces/default/nets";
  EXPECT_EQ(Get(nets, kProtobuf)->status, 406);
  const auto fallback = Get(nets, std::string(kProtobuf) + ",application/json");
  EXPECT_EQ(fallback->status, 200);
  EXPECT_EQ(fallback->headers.Get("content-type"), "application/json");
}

TEST_F(AnswerFormsTest, PeopleGetIndentedJson) {
  EXPECT_NE(Get(maps_ + "/a", "", "curl/8.0")->body.find("\n  \"kind\": \"ConfigMap\""), std::string::npos);
  EXPECT_EQ(Get(maps_ + "/a?pretty=false", "", "curl/8.0")->body.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace flyball::server
