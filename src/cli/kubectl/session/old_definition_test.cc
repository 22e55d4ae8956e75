#include "cli/kubectl/session/old_definition.h"

#include <gtest/gtest.h>

#include "json/json.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

std::string Converted(std::string_view spec) {
  const std::string text =
      "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nspec: " + std::string(spec);
  const json::Value object = (*json::ParseYamlStream(text)).at(0);
  EXPECT_TRUE(IsOldDefinition(object));
  const json::Value converted = ConvertOldDefinition(object);
  EXPECT_EQ(converted["apiVersion"].string_or(""), "apiextensions.k8s.io/v1");
  return json::Write(converted["spec"]);
}

TEST(OldDefinitionTest, WhatIsSaidOnceIsSaidForEachVersion) {
  EXPECT_EQ(
      Converted("{version: v1, scope: Cluster, preserveUnknownFields: false, subresources: {status: {}}, "
                "additionalPrinterColumns: [{name: A, type: string, JSONPath: .a}], validation: "
                "{openAPIV3Schema: {properties: {a: {type: string}}}}}"),
      R"({"scope":"Cluster","versions":[{"name":"v1","served":true,"storage":true,)"
      R"("subresources":{"status":{}},)"
      R"("additionalPrinterColumns":[{"name":"A","type":"string","jsonPath":".a"}],)"
      R"("schema":{"openAPIV3Schema":{"properties":{"a":{"type":"string"}},"type":"object"}}}]})");
}

TEST(OldDefinitionTest, UnknownFieldsAreKeptAsBefore) {
  EXPECT_EQ(Converted("{scope: Cluster, versions: [{name: v1, served: true, storage: true}]}"),
            R"({"scope":"Cluster","versions":[{"name":"v1","served":true,"storage":true,"schema":)"
            R"({"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]})");
}

TEST(OldDefinitionTest, ConversionWebhooksMove) {
  EXPECT_EQ(Converted("{scope: Cluster, versions: [], conversion: {strategy: Webhook, webhookClientConfig: "
                      "{url: 'https://x'}}}"),
            R"({"scope":"Cluster","versions":[],"conversion":{"strategy":"Webhook","webhook":)"
            R"({"clientConfig":{"url":"https://x"},"conversionReviewVersions":["v1beta1"]}}})");
}

}  // namespace
}  // namespace flyball::cli
