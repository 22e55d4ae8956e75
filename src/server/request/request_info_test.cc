#include "server/request/request_info.h"

#include <gtest/gtest.h>

#include "server/request/negotiation.h"

namespace flyball::server {
namespace {

RequestInfo Parse(std::string_view method, std::string_view target) {
  return *ParseRequestInfo(method, target);
}

TEST(RequestInfoTest, CoreAndGroupedResources) {
  const auto pod = Parse("GET", "/api/v1/namespaces/n/pods/p/log?follow=true");
  EXPECT_TRUE(pod.is_resource);
  EXPECT_EQ(pod.verb, "get");
  EXPECT_EQ(pod.namespace_name, "n");
  EXPECT_EQ(pod.resource, "pods");
  EXPECT_EQ(pod.name, "p");
  EXPECT_EQ(pod.subresource, "log");
  EXPECT_TRUE(pod.query.Bool("follow"));
  const auto list = Parse("GET", "/apis/apps/v1/deployments");
  EXPECT_EQ(list.verb, "list");
  EXPECT_EQ(list.group, "apps");
  EXPECT_EQ(Parse("GET", "/apis/apps/v1/deployments?watch=1").verb, "watch");
  EXPECT_EQ(Parse("DELETE", "/api/v1/namespaces/n/pods").verb, "deletecollection");
}

TEST(RequestInfoTest, ANamespaceIsAnObjectAndAPlace) {
  const auto object = Parse("PUT", "/api/v1/namespaces/n/finalize");
  EXPECT_EQ(object.resource, "namespaces");
  EXPECT_EQ(object.name, "n");
  EXPECT_EQ(object.subresource, "finalize");
  EXPECT_EQ(Parse("GET", "/api/v1/namespaces/n/status").subresource, "status");
}

TEST(RequestInfoTest, MalformedEscapesAreRefused) {
  EXPECT_FALSE(ParseRequestInfo("GET", "/api/v1/pods/%zz"));
  EXPECT_FALSE(ParseRequestInfo("GET", "/api/v1/pods/%00"));
  EXPECT_FALSE(ParseRequestInfo("GET", "/api/v1/pods/%4"));
}

TEST(RequestInfoTest, QueriesAreDecoded) {
  const auto info = Parse("GET", "/api/v1/pods?labelSelector=a%3Db%2Cc&x=1+2&x=3&empty");
  EXPECT_EQ(info.query.Get("labelSelector"), "a=b,c");
  EXPECT_EQ(info.query.Get("x"), "1 2");
  EXPECT_EQ(info.query.GetAll("x").size(), 2u);
  EXPECT_TRUE(info.query.Has("empty"));
  EXPECT_TRUE(info.query.Bool("empty"));
}

TEST(NegotiationTest, TheFirstTypeWeCanGiveWins) {
  const auto table = NegotiateObject("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", true);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->form, AnswerForm::kTable);
  const auto mixed = NegotiateObject("application/vnd.kubernetes.protobuf, application/json", true);
  ASSERT_TRUE(mixed);
  EXPECT_EQ(mixed->form, AnswerForm::kObject);
  EXPECT_TRUE(NegotiateObject("application/yaml", true)->yaml);
  EXPECT_TRUE(NegotiateObject("", true));
  EXPECT_EQ(NegotiateObject("text/html", true).error().code(), 406);
  EXPECT_EQ(NegotiateObject("application/*", true).error().code(), 406);
}

TEST(NegotiationTest, ARefusalNamesWhatThePathCanGive) {
  EXPECT_EQ(NegotiateObject("text/html", true).error().message(),
            "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
            "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(NegotiateObject("text/html", true, true).error().message(),
            "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
            "application/vnd.kubernetes.protobuf, application/json;stream=watch, "
            "application/vnd.kubernetes.protobuf;stream=watch");
  EXPECT_EQ(NegotiateObject("application/json;as=Table;v=v2;g=meta.k8s.io", true).error().message(),
            "only the following media types are accepted: application/json, application/yaml, "
            "application/vnd.kubernetes.protobuf");
}

}  // namespace
}  // namespace flyball::server
