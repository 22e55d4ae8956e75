// Custom resources of several versions: conversion webhooks, and strategy None.
#include <gtest/gtest.h>

#include <atomic>

#include "server/custom/conversion_review.h"
#include "server/testing/live_server.h"

namespace flyball::server {
namespace {

constexpr const char* kHostDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr const char* kHostsV1 = "/apis/stable.example.com/v1/namespaces/default/hosts";
constexpr const char* kHostsV2 = "/apis/stable.example.com/v2/namespaces/default/hosts";

// v1 says "hostPort": "a:1"; v2 says "host": "a" and "port": "1".
json::Value ConvertedHost(json::Value object, const std::string& api_version) {
  auto& spec = object["spec"];
  if (api_version.ends_with("/v2")) {
    const std::string both(spec["hostPort"].string_or(":"));
    spec = json::Object{{"host", both.substr(0, both.find(':'))}, {"port", both.substr(both.find(':') + 1)}};
  } else {
    spec = json::Object{{"hostPort", std::string(spec["host"].string_or("")) + ":" +
                                         std::string(spec["port"].string_or(""))}};
  }
  object["apiVersion"] = api_version;
  return object;
}

net::Response ConvertHosts(const net::Request& request) {
  json::Value review = *json::Parse(request.body);
  const std::string wanted(review["request"]["desiredAPIVersion"].string_or(""));
  json::Array objects;
  for (const auto& object : review["request"]["objects"].as_array())
    objects.push_back(ConvertedHost(object, wanted));
  review["response"] = json::Object{{"uid", review["request"]["uid"]},
                                    {"convertedObjects", std::move(objects)},
                                    {"result", json::Object{{"status", "Success"}}}};
  review.as_object().Erase("request");
  return JsonResponse(review);
}

// The answer to a review, changed.
RemoteServer::Answer Changed(std::function<void(json::Value& review)> change) {
  return [change](const net::Request& request) {
    json::Value review = *json::Parse(ConvertHosts(request).body);
    change(review);
    return JsonResponse(review);
  };
}

class ConversionWebhookTest : public LiveServerTest {
 protected:
  std::string Versions(const std::string& storage) const {
    const auto version = [&](const std::string& name, const std::string& properties,
                             const std::string& selectable) {
      return R"({"name":")" + name + R"(","served":true,"storage":)" + (name == storage ? "true" : "false") +
             R"(,"selectableFields":[)" + selectable +
             R"(],"subresources":{"status":{},"scale":{"specReplicasPath":".spec.)" +
             (name == "v1" ? "replicas" : "count") + R"(","statusReplicasPath":".status.replicas"}},)" +
             R"("schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{)" +
             properties + R"(}},"status":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}}})";
    };
    return version("v1", R"("hostPort":{"type":"string"},"replicas":{"type":"integer"})",
                   R"({"jsonPath":".spec.hostPort"})") +
           "," +
           version("v2", R"("host":{"type":"string"},"port":{"type":"string"},"count":{"type":"integer"})",
                   R"({"jsonPath":".spec.host"},{"jsonPath":".spec.port"})");
  }
  std::string Definition(const std::string& conversion, const std::string& storage = "v1") const {
    return R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
      "metadata":{"name":"hosts.stable.example.com"},"spec":{"group":"stable.example.com","scope":"Namespaced",
      "names":{"plural":"hosts","kind":"Host"},"conversion":)" +
           conversion + R"(,"versions":[)" + Versions(storage) + "]}}";
  }
  std::string Webhook() const {
    return R"({"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":)" +
           hook_.ClientConfig("/convert") + "}}";
  }
  void Define(const std::string& definition) {
    const auto made = Do("POST", kHostDefinitions, definition);
    ASSERT_EQ(made.status, 201) << made.message();
    ASSERT_TRUE(Eventually([this] { return Do("GET", kHostsV2).status == 200; }));
  }
  void Redefine(const std::string& conversion, const std::string& storage) {
    auto definition = Do("GET", std::string(kHostDefinitions) + "/hosts.stable.example.com").value;
    definition["spec"] = (*json::Parse(Definition(conversion, storage)))["spec"];
    const auto put =
        Do("PUT", std::string(kHostDefinitions) + "/hosts.stable.example.com", json::Write(definition));
    ASSERT_EQ(put.status, 200) << put.message();
    ASSERT_TRUE(Eventually([&] {
      const auto stored = Do("GET", std::string(kHostDefinitions) + "/hosts.stable.example.com").value;
      return stored["status"]["storedVersions"].as_array().back().string_or("") == storage;
    }));
    ASSERT_TRUE(Eventually([this] { return Do("GET", kHostsV2).status == 200; }));
  }
  static std::string Host(const std::string& name, const std::string& host_port,
                          const std::string& metadata = "") {
    return R"({"apiVersion":"stable.example.com/v1","kind":"Host","metadata":{"name":")" + name + "\"" +
           metadata + R"(},"spec":{"hostPort":")" + host_port + R"("}})";
  }
  static std::string Host2(const std::string& name, const std::string& host, const std::string& port) {
    return R"({"apiVersion":"stable.example.com/v2","kind":"Host","metadata":{"name":")" + name +
           R"("},"spec":{"host":")" + host + R"(","port":")" + port + R"("}})";
  }
  std::string StoredText(const std::string& name) const {
    const auto range = store_->Range("/registry/stable.example.com/hosts/default/" + name, {});
    return range && !range->items.empty() ? *range->items[0].value : "";
  }

  RemoteServer hook_{&ConvertHosts};
};

TEST_F(ConversionWebhookTest, ObjectsAreReadAndWrittenInEveryVersion) {
  Define(Definition(Webhook()));
  ASSERT_EQ(Do("POST", kHostsV1, Host("a", "ha:1")).status, 201);
  const auto read = Do("GET", std::string(kHostsV2) + "/a");
  EXPECT_EQ(read.status, 200) << read.message();
  EXPECT_EQ(json::Write(read.value["spec"]), R"({"host":"ha","port":"1"})");
  EXPECT_EQ(read.value["apiVersion"].string_or(""), "stable.example.com/v2");
  // Created, replaced and patched in the version that is not stored.
  const auto made = Do("POST", kHostsV2, Host2("b", "hb", "2"));
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(json::Write(made.value["spec"]), R"({"host":"hb","port":"2"})");
  EXPECT_NE(StoredText("b").find(R"("apiVersion":"stable.example.com/v1")"), std::string::npos)
      << StoredText("b");
  EXPECT_NE(StoredText("b").find(R"("hostPort":"hb:2")"), std::string::npos) << StoredText("b");
  auto next = made.value;
  next["spec"]["port"] = "3";
  EXPECT_EQ(Do("PUT", std::string(kHostsV2) + "/b", json::Write(next)).value["spec"]["port"].string_or(""),
            "3");
  const auto patched =
      Do("PATCH", std::string(kHostsV2) + "/b", R"({"spec":{"host":"hc"}})", "application/merge-patch+json");
  EXPECT_EQ(json::Write(patched.value["spec"]), R"({"host":"hc","port":"3"})") << patched.message();
  EXPECT_EQ(Do("GET", std::string(kHostsV1) + "/b").value["spec"]["hostPort"].string_or(""), "hc:3");
  const auto applied = Do("PATCH", std::string(kHostsV2) + "/b?fieldManager=me&force=true",
                          Host2("b", "hd", "4"), "application/apply-patch+yaml");
  EXPECT_EQ(json::Write(applied.value["spec"]), R"({"host":"hd","port":"4"})") << applied.message();
  // Deleted: the status names it.
  EXPECT_EQ(Do("DELETE", std::string(kHostsV2) + "/b").value["status"].string_or(""), "Success");
  EXPECT_EQ(Do("GET", std::string(kHostsV1) + "/b").status, 404);
}

TEST_F(ConversionWebhookTest, OwnersLoseWhatChangesInTheirVersion) {
  Define(Definition(Webhook()));
  const auto owner_of = [this](const std::string& manager) {
    const auto object = Do("GET", std::string(kHostsV1) + "/a").value;
    for (const auto& entry : object["metadata"]["managedFields"].as_array())
      if (entry["manager"].string_or("") == manager) return json::Write(entry["fieldsV1"]);
    return std::string("nothing");
  };
  ASSERT_EQ(Do("PATCH", std::string(kHostsV1) + "/a?fieldManager=one", Host("a", "ha:1"),
               "application/apply-patch+yaml")
                .status,
            201);
  // Another manager changes in v2 what the first owns in v1.
  const std::string two =
      R"({"apiVersion":"stable.example.com/v2","kind":"Host","metadata":{"name":"a"},"spec":{"host":"hb"}})";
  const auto conflict =
      Do("PATCH", std::string(kHostsV2) + "/a?fieldManager=two", two, "application/apply-patch+yaml");
  EXPECT_EQ(conflict.status, 409) << json::Write(conflict.value);
  EXPECT_EQ(conflict.message(), "Apply failed with 1 conflict: conflict with \"one\": .spec.hostPort");
  ASSERT_EQ(Do("PATCH", std::string(kHostsV2) + "/a?fieldManager=two&force=true", two,
               "application/apply-patch+yaml")
                .status,
            200);
  EXPECT_EQ(owner_of("one"), "nothing");
  EXPECT_EQ(owner_of("two"), R"({"f:spec":{"f:host":{}}})");
  // An update likewise.
  ASSERT_EQ(Do("PATCH", std::string(kHostsV1) + "/a?fieldManager=three", R"({"spec":{"hostPort":"hc:1"}})",
               "application/merge-patch+json")
                .status,
            200);
  EXPECT_EQ(owner_of("two"), "nothing");
}

TEST_F(ConversionWebhookTest, TheReviewIsUpstreams) {
  Define(Definition(Webhook()));
  ASSERT_EQ(Do("POST", kHostsV1, Host("a", "ha:1")).status, 201);
  ASSERT_EQ(Do("GET", std::string(kHostsV2) + "/a").status, 200);
  const auto sent = hook_.last();
  EXPECT_EQ(sent.target, "/convert?timeout=30s");
  EXPECT_EQ(sent.headers.Get("content-type"), "application/json");
  const json::Value review = *json::Parse(sent.body);
  EXPECT_EQ(review["apiVersion"].string_or(""), "apiextensions.k8s.io/v1");
  EXPECT_EQ(review["request"]["desiredAPIVersion"].string_or(""), "stable.example.com/v2");
  ASSERT_EQ(review["request"]["objects"].size(), 1u);
  const auto& object = review["request"]["objects"].as_array()[0];
  EXPECT_EQ(object["metadata"]["name"].string_or(""), "a");
  EXPECT_FALSE(object["metadata"]["resourceVersion"].string_or("").empty());
}

TEST_F(ConversionWebhookTest, ListsConvertInOneCallAndOnce) {
  Define(Definition(Webhook()));
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(Do("POST", kHostsV1, Host("h" + std::to_string(i), "x:1")).status, 201);
  const int before = hook_.requests("/convert");
  const auto list = Do("GET", kHostsV2);
  ASSERT_EQ(list.value["items"].size(), 20u) << list.message();
  EXPECT_EQ(hook_.requests("/convert"), before + 1);
  EXPECT_EQ(list.value["items"].as_array()[0]["apiVersion"].string_or(""), "stable.example.com/v2");
  EXPECT_EQ(Do("GET", kHostsV2).value["items"].size(), 20u);
  EXPECT_EQ(hook_.requests("/convert"), before + 1);
  EXPECT_EQ(hook_.connections(), 1u);
}

TEST_F(ConversionWebhookTest, EachVersionSelectsByItsOwnFields) {
  Define(Definition(Webhook()));
  ASSERT_EQ(Do("POST", kHostsV1, Host("a", "ha:1")).status, 201);
  ASSERT_EQ(Do("POST", kHostsV2, Host2("b", "hb", "1")).status, 201);
  const auto names = [](const LiveReply& reply) {
    std::string out;
    if (reply.value["items"].is_array())
      for (const auto& item : reply.value["items"].as_array()) out += item["metadata"]["name"].string_or("");
    return out;
  };
  EXPECT_EQ(names(Do("GET", std::string(kHostsV2) + "?fieldSelector=spec.host%3Dhb")), "b");
  EXPECT_EQ(names(Do("GET", std::string(kHostsV2) + "?fieldSelector=spec.port%3D1,spec.host%3Dha")), "a");
  EXPECT_EQ(names(Do("GET", std::string(kHostsV1) + "?fieldSelector=spec.hostPort%3Dhb:1")), "b");
  EXPECT_EQ(Do("GET", std::string(kHostsV1) + "?fieldSelector=spec.host%3Dhb").message(),
            "field label not supported: spec.host");
  // Pages count what was selected.
  const auto page = Do("GET", std::string(kHostsV2) + "?limit=1&fieldSelector=spec.port%3D1");
  EXPECT_EQ(names(page), "a");
  const std::string more(page.value["metadata"]["continue"].string_or(""));
  ASSERT_FALSE(more.empty());
  EXPECT_EQ(names(Do("GET", std::string(kHostsV2) + "?limit=1&fieldSelector=spec.port%3D1&continue=" + more)),
            "b");
}

TEST_F(ConversionWebhookTest, WatchesShowTheirVersionAndSelectInIt) {
  Define(Definition(Webhook()));
  ASSERT_EQ(Do("POST", kHostsV1, Host("a", "ha:1")).status, 201);
  const auto all = Watch(std::string(kHostsV2) + "?watch=1");
  const auto some = Watch(std::string(kHostsV2) + "?watch=1&fieldSelector=spec.host%3Dhb");
  EXPECT_EQ(all->Line(0)["object"]["spec"]["host"].string_or(""), "ha");
  ASSERT_EQ(Do("PATCH", std::string(kHostsV1) + "/a", R"({"spec":{"hostPort":"hb:1"}})",
               "application/merge-patch+json")
                .status,
            200);
  EXPECT_EQ(all->Line(1)["type"].string_or(""), "MODIFIED");
  EXPECT_EQ(all->Line(1)["object"]["spec"]["host"].string_or(""), "hb");
  EXPECT_EQ(some->Line(0)["type"].string_or(""), "ADDED");
  ASSERT_EQ(Do("PATCH", std::string(kHostsV1) + "/a", R"({"spec":{"hostPort":"hc:1"}})",
               "application/merge-patch+json")
                .status,
            200);
  EXPECT_EQ(some->Line(1)["type"].string_or(""), "DELETED");
  ASSERT_EQ(Do("DELETE", std::string(kHostsV1) + "/a").status, 200);
  EXPECT_EQ(all->Line(3)["type"].string_or(""), "DELETED");
  EXPECT_EQ(all->Line(3)["object"]["spec"]["host"].string_or(""), "hc");
}

TEST_F(ConversionWebhookTest, AWatchWhoseConversionFailsEndsWithTheError) {
  Define(Definition(Webhook()));
  const std::string now(Do("GET", kHostsV2).value["metadata"]["resourceVersion"].string_or(""));
  const auto lines = Watch(std::string(kHostsV2) + "?watch=1&resourceVersion=" + now);
  hook_.SetAnswer(Changed([](json::Value& review) {
    review["response"]["result"] = json::Object{{"status", "Failed"}, {"message", "no idea"}};
  }));
  ASSERT_EQ(Do("POST", kHostsV1, Host("a", "ha:1")).status, 201);
  const auto line = lines->Line(0);
  EXPECT_EQ(line["type"].string_or(""), "ERROR") << json::Write(line);
  EXPECT_EQ(line["object"]["message"].string_or(""),
            "conversion webhook for stable.example.com/v1, Kind=Host failed: no idea");
  EXPECT_EQ(lines->WaitForEnd(), 1u);
}

TEST_F(ConversionWebhookTest, AWebhookThatDoesNotAnswerStallsNobodyElse) {
  Define(Definition(Webhook()));
  ASSERT_EQ(Do("POST", kHostsV1, Host("a", "ha:1")).status, 201);
  hook_.SetAnswer([](const net::Request&) { return net::Response{}; });
  const auto stuck = Watch(std::string(kHostsV2) + "?watch=1");
  for (int i = 0; i < 20; ++i) Watch(kHostsV2);
  EXPECT_EQ(Do("GET", std::string(kHostsV1) + "/a").status, 200);
  EXPECT_EQ(Do("POST", kHostsV1, Host("b", "hb:1")).status, 201);
  EXPECT_EQ(Do("GET", "/api/v1/namespaces/default").status, 200);
}

TEST_F(ConversionWebhookTest, TheStorageVersionMayChange) {
  Define(Definition(Webhook()));
  ASSERT_EQ(Do("POST", kHostsV1, Host("a", "ha:1")).status, 201);
  Redefine(Webhook(), "v2");
  const std::string path = std::string(kHostDefinitions) + "/hosts.stable.example.com";
  EXPECT_EQ(json::Write(Do("GET", path).value["status"]["storedVersions"]), R"(["v1","v2"])");
  // What is stored as v1 is shown as both; a write brings it up to date.
  EXPECT_EQ(Do("GET", std::string(kHostsV1) + "/a").value["spec"]["hostPort"].string_or(""), "ha:1");
  const auto read = Do("GET", std::string(kHostsV2) + "/a");
  EXPECT_EQ(read.value["spec"]["host"].string_or(""), "ha") << read.message();
  EXPECT_EQ(read.value["apiVersion"].string_or(""), "stable.example.com/v2");
  EXPECT_EQ(Do("GET", std::string(kHostsV2) + "?fieldSelector=spec.host%3Dha").value["items"].size(), 1u);
  ASSERT_EQ(Do("PUT", std::string(kHostsV2) + "/a", json::Write(read.value)).status, 200);
  EXPECT_NE(StoredText("a").find(R"("host":"ha")"), std::string::npos) << StoredText("a");
  EXPECT_NE(StoredText("a").find(R"("apiVersion":"stable.example.com/v2")"), std::string::npos);
}

TEST_F(ConversionWebhookTest, ScaleAndStatusAreOfTheirVersion) {
  hook_.SetAnswer([](const net::Request& request) {
    json::Value sent = *json::Parse(request.body);
    json::Value review = *json::Parse(ConvertHosts(request).body);
    for (std::size_t i = 0; i < review["response"]["convertedObjects"].size(); ++i) {
      const auto& from = sent["request"]["objects"].as_array()[i]["spec"];
      auto& to = review["response"]["convertedObjects"].as_array()[i]["spec"];
      if (from.Find("replicas") != nullptr) to["count"] = from["replicas"];
      if (from.Find("count") != nullptr) to["replicas"] = from["count"];
    }
    return JsonResponse(review);
  });
  Define(Definition(Webhook()));
  auto host = *json::Parse(Host("a", "ha:1"));
  host["spec"]["replicas"] = 3;
  ASSERT_EQ(Do("POST", kHostsV1, json::Write(host)).status, 201);
  EXPECT_EQ(Do("GET", std::string(kHostsV2) + "/a/scale").value["spec"]["replicas"].int_or(0), 3);
  const auto scaled = Do("PATCH", std::string(kHostsV2) + "/a/scale", R"({"spec":{"replicas":5}})",
                         "application/merge-patch+json");
  EXPECT_EQ(scaled.value["spec"]["replicas"].int_or(0), 5) << scaled.message();
  EXPECT_EQ(Do("GET", std::string(kHostsV1) + "/a").value["spec"]["replicas"].int_or(0), 5);
  const auto status = Do("PATCH", std::string(kHostsV2) + "/a/status", R"({"status":{"replicas":2}})",
                         "application/merge-patch+json");
  EXPECT_EQ(status.status, 200) << status.message();
  EXPECT_EQ(Do("GET", std::string(kHostsV1) + "/a").value["status"]["replicas"].int_or(0), 2);
}

TEST_F(ConversionWebhookTest, WhatTheTargetSchemaDoesNotKnowIsPruned) {
  hook_.SetAnswer(Changed([](json::Value& review) {
    for (auto& object : review["response"]["convertedObjects"].as_array()) object["spec"]["extra"] = "x";
  }));
  Define(Definition(Webhook()));
  ASSERT_EQ(Do("POST", kHostsV1, Host("a", "ha:1")).status, 201);
  EXPECT_EQ(json::Write(Do("GET", std::string(kHostsV2) + "/a").value["spec"]),
            R"({"host":"ha","port":"1"})");
}

TEST_F(ConversionWebhookTest, LabelsMayChangeAndSelect) {
  hook_.SetAnswer(Changed([](json::Value& review) {
    for (auto& object : review["response"]["convertedObjects"].as_array())
      object["metadata"]["labels"] =
          json::Object{{"v", object["apiVersion"].string_or("").ends_with("v2") ? "2" : "1"}};
  }));
  Define(Definition(Webhook()));
  ASSERT_EQ(Do("POST", kHostsV1, Host("a", "ha:1", R"(,"labels":{"v":"1"})")).status, 201);
  EXPECT_EQ(Do("GET", std::string(kHostsV2) + "?labelSelector=v%3D2").value["items"].size(), 1u);
  EXPECT_EQ(Do("GET", std::string(kHostsV2) + "?labelSelector=v%3D1").value["items"].size(), 0u);
  EXPECT_EQ(Do("GET", std::string(kHostsV1) + "?labelSelector=v%3D1").value["items"].size(), 1u);
}

TEST_F(ConversionWebhookTest, ADefinitionWhoseWebhookIsGoneFailsInUpstreamsWords) {
  Define(Definition(Webhook()));
  ASSERT_EQ(Do("POST", kHostsV1, Host("a", "ha:1")).status, 201);
  const std::string port = std::to_string(hook_.port());
  hook_.Stop();
  const auto read = Do("GET", std::string(kHostsV2) + "/a");
  EXPECT_EQ(read.status, 500);
  EXPECT_EQ(
      read.message(),
      "conversion webhook for stable.example.com/v1, Kind=Host failed: Post \"https://127.0.0.1:" + port +
          "/convert?timeout=30s\": dial tcp 127.0.0.1:" + port + ": connect: connection refused");
  EXPECT_EQ(Do("POST", kHostsV2, Host2("b", "hb", "1")).status, 500);
  EXPECT_EQ(StoredText("b"), "");
  // The stored version needs nobody.
  EXPECT_EQ(Do("GET", std::string(kHostsV1) + "/a").status, 200);
  EXPECT_NE(metrics_.Serialize().find(
                "apiserver_conversion_webhook_request_total{failure_type=\"conversion_webhook_"
                "call_failure\",result=\"failure\"}"),
            std::string::npos);
}

TEST_F(ConversionWebhookTest, StrategyNoneRenames) {
  Define(Definition(R"({"strategy":"None"})"));
  ASSERT_EQ(Do("POST", kHostsV1, Host("a", "ha:1")).status, 201);
  const auto read = Do("GET", std::string(kHostsV2) + "/a");
  EXPECT_EQ(read.value["apiVersion"].string_or(""), "stable.example.com/v2");
  const auto list = Do("GET", kHostsV2);
  EXPECT_EQ(list.value["items"].as_array()[0]["apiVersion"].string_or(""), "stable.example.com/v2");
  EXPECT_EQ(list.value["items"].as_array()[0]["kind"].string_or(""), "Host");
  Redefine(R"({"strategy":"None"})", "v2");
  EXPECT_EQ(Do("GET", std::string(kHostsV2) + "/a").value["apiVersion"].string_or(""),
            "stable.example.com/v2");
  EXPECT_EQ(Do("GET", std::string(kHostsV1) + "/a").value["apiVersion"].string_or(""),
            "stable.example.com/v1");
}

// Answers that are not what was asked for.
class ConversionAnswerTest : public testing::Test {
 protected:
  static json::Value Object(const std::string& name) {
    return *json::Parse(R"({"apiVersion":"g.io/v1","kind":"K","metadata":{"name":")" + name +
                        R"(","namespace":"n","uid":"u","labels":{"a":"b"}},"spec":{}})");
  }
  // What is wrong with an answer to a review of `objects`.
  std::string Problem(const std::string& answer, std::vector<json::Value> objects = {Object("a")}) {
    auto read = ReadConversionAnswer(answer, "v1", "id", "g.io/v2", objects, failure_);
    return read ? "" : read.error().message();
  }
  static std::string Answer(
      const std::string& objects,
      const std::string& head = R"("apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview")") {
    return "{" + head + R"(,"response":{"uid":"id","result":{"status":"Success"},"convertedObjects":[)" +
           objects + "]}}";
  }
  static std::string Text(const std::string& metadata,
                          const std::string& head = R"("apiVersion":"g.io/v2","kind":"K")") {
    return "{" + head + R"(,"metadata":)" + metadata + "}";
  }

  std::string failure_;
  const std::string good_ = R"({"name":"a","namespace":"n","uid":"u"})";
  const std::string subject_ = "conversion webhook for g.io/v1, Kind=K ";
};

TEST_F(ConversionAnswerTest, GoodOnesKeepTheOriginalsMetadata) {
  const auto read = ReadConversionAnswer(
      Answer(Text(R"({"name":"a","namespace":"n","uid":"u","annotations":{"x":"y"},"finalizers":["z"]})")),
      "v1", "id", "g.io/v2", {Object("a")}, failure_);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(json::Write((*read)[0]["metadata"]),
            R"({"name":"a","namespace":"n","uid":"u","annotations":{"x":"y"}})");
}

TEST_F(ConversionAnswerTest, ReviewsThatAreNone) {
  EXPECT_EQ(Problem("nope"),
            subject_ +
                "failed: couldn't get version/kind; json parse error: json: cannot unmarshal string "
                "into Go value of type struct { APIVersion string "
                "\"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
                "\"json:\\\"kind,omitempty\\\"\" }");
  EXPECT_EQ(failure_, "conversion_webhook_call_failure");
  EXPECT_EQ(Problem("{}"), subject_ +
                               "failed: expected webhook response of apiextensions.k8s.io/v1, "
                               "Kind=ConversionReview, got /, Kind=");
  EXPECT_EQ(failure_, "conversion_webhook_malformed_response_failure");
  EXPECT_EQ(Problem(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"})"),
            subject_ + "failed: no response provided");
  EXPECT_EQ(
      Problem(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"x"}})"),
      subject_ + "failed: expected response.uid=\"id\", got \"x\"");
  EXPECT_EQ(
      Problem(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"id",
      "result":{"status":"Failure"}}})"),
      subject_ + "failed: response.result.status was 'Failure', not 'Success'");
}

TEST_F(ConversionAnswerTest, TooFewOrTooMany) {
  EXPECT_EQ(Problem(Answer("")), subject_ + "returned 0 objects, expected 1");
  EXPECT_EQ(failure_, "conversion_webhook_partial_response_failure");
  EXPECT_EQ(Problem(Answer(Text(good_) + "," + Text(good_))), subject_ + "returned 2 objects, expected 1");
}

TEST_F(ConversionAnswerTest, ObjectsThatAreOthers) {
  EXPECT_EQ(
      Problem(Answer(Text(good_, R"("apiVersion":"g.io/v1","kind":"K")"))),
      subject_ +
          "returned invalid object at index 0: invalid groupVersion (expected g.io/v2, received g.io/v1)");
  EXPECT_EQ(Problem(Answer(Text(good_, R"("apiVersion":"g.io/v2","kind":"L")"))),
            subject_ + "returned invalid object at index 0: invalid kind (expected K, received L)");
  EXPECT_EQ(Problem(Answer(Text(R"({"name":"b","namespace":"n","uid":"u"})"))),
            subject_ + "returned invalid object: must have the same name: a != b");
  EXPECT_EQ(Problem(Answer(Text(R"({"name":"a","uid":"u"})"))),
            subject_ + "returned invalid object: must have the same namespace: n != ");
  EXPECT_EQ(Problem(Answer(Text(R"({"name":"a","namespace":"n"})"))),
            subject_ + "returned invalid object: must have the same UID: u != ");
  EXPECT_EQ(failure_, "conversion_webhook_invalid_converted_object_failure");
}

TEST_F(ConversionAnswerTest, LabelsThatAreNone) {
  EXPECT_EQ(
      Problem(Answer(Text(R"({"name":"a","namespace":"n","uid":"u","labels":[]})"))),
      subject_ +
          "returned invalid metadata: invalid metadata.labels of type []interface {} in converted object");
  EXPECT_EQ(
      Problem(Answer(Text(R"({"name":"a","namespace":"n","uid":"u","labels":{"a":1}})"))),
      subject_ +
          "returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object");
  EXPECT_NE(Problem(Answer(Text(R"({"name":"a","namespace":"n","uid":"u","labels":{"a":"b c"}})")))
                .find("returned invalid metadata: metadata.labels: Invalid value: \"b c\": a valid label"),
            std::string::npos);
}

TEST_F(ConversionAnswerTest, OfSeveralTheFaultyOneIsNamed) {
  EXPECT_EQ(Problem(Answer(Text(good_) + "," + Text(R"({"name":"x","namespace":"n","uid":"u"})")),
                    {Object("a"), Object("b")}),
            "conversion webhook for g.io/v2, Kind=KList returned invalid converted object at index 1: must "
            "have the "
            "same name: b != x");
}

}  // namespace
}  // namespace flyball::server
