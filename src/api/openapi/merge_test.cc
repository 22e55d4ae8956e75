#include "api/openapi/merge.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace flyball::api {
namespace {

json::Value Parsed(std::string_view text) {
  return *json::Parse(text);
}

const char* const kOther = R"({
  "swagger":"2.0","info":{"title":"o"},
  "paths":{
    "/apis/g/v/things":{"get":{"parameters":[{"$ref":"#/parameters/p"}],
      "responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/Thing"}}}}},
    "/apis/h/v/others":{"get":{"responses":{"200":{"schema":{"$ref":"#/definitions/Other"}}}}}},
  "definitions":{
    "Thing":{"properties":{"meta":{"$ref":"#/definitions/Meta"}}},
    "Meta":{"properties":{"self":{"$ref":"#/definitions/Meta"}}},
    "Other":{}},
  "parameters":{"p":{"name":"limit","in":"query","type":"integer"},"unused":{}}})";

TEST(OpenApiMergeTest, AFilteredDocumentHasItsPathsAndWhatTheyReferTo) {
  auto document = Parsed(kOther);
  FilterOpenApiV2(document, "/apis/g/v/");
  EXPECT_EQ(document["paths"].size(), 1u);
  EXPECT_EQ(document["definitions"].size(), 2u);
  EXPECT_FALSE(document["definitions"]["Meta"].is_null());
  EXPECT_EQ(document["parameters"].size(), 1u);
}

TEST(OpenApiMergeTest, WhatMeansSomethingElseIsRenamedAndWhatIsEqualIsNot) {
  auto document = Parsed(R"({"paths":{"/a":{"get":1}},"definitions":{
      "Meta":{"properties":{"other":{}}},"Other":{},"Thing_v2":{}}})");
  MergeOpenApiV2(document, Parsed(kOther));
  EXPECT_EQ(document["paths"].size(), 3u);
  EXPECT_TRUE(document["definitions"].Find("Meta_v2"));
  EXPECT_FALSE(document["definitions"].Find("Other_v2"));
  EXPECT_EQ(document["definitions"]["Thing"]["properties"]["meta"]["$ref"].string_or(""),
            "#/definitions/Meta_v2");
  EXPECT_EQ(document["definitions"]["Meta_v2"]["properties"]["self"]["$ref"].string_or(""),
            "#/definitions/Meta_v2");
  EXPECT_EQ(document["parameters"]["p"]["name"].string_or(""), "limit");
}

TEST(OpenApiMergeTest, APathThatIsThereStays) {
  auto document = Parsed(R"({"paths":{"/apis/g/v/things":{"mine":true}}})");
  MergeOpenApiV2(document, Parsed(kOther));
  EXPECT_TRUE(document["paths"]["/apis/g/v/things"]["mine"].bool_or(false));
}

TEST(OpenApiMergeTest, DocumentsOfTheWrongShapeDoNoHarm) {
  for (const char* text : {"null", "1", "[]", R"({"paths":1})", R"({"paths":[],"definitions":7})",
                           R"({"paths":{"/apis/g/v/x":{"$ref":"#/definitions/none"}},"definitions":[]})"}) {
    auto document = Parsed(text);
    FilterOpenApiV2(document, "/apis/g/v/");
    auto into = Parsed(R"({"paths":{}})");
    MergeOpenApiV2(into, document);
    ConvertOpenApiV2ToV3(document);
  }
}

TEST(OpenApiMergeTest, Version2BecomesVersion3) {
  const auto document = ConvertOpenApiV2ToV3(Parsed(R"({"info":{"title":"t"},
    "paths":{"/x":{"post":{"consumes":["application/json"],"produces":["application/yaml"],
      "parameters":[{"name":"b","in":"body","required":true,"schema":{"$ref":"#/definitions/D"}},
                    {"$ref":"#/parameters/q"}],
      "responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/D"}}},
      "x-kubernetes-action":"post"}}},
    "parameters":{"q":{"name":"dryRun","in":"query","type":"string","uniqueItems":true}},
    "definitions":{"D":{"properties":{"d":{"$ref":"#/definitions/D"}}}}})"));
  EXPECT_EQ(json::Write(document),
            R"({"openapi":"3.0.0","info":{"title":"t"},"paths":{"/x":{"post":{"parameters":[)"
            R"({"name":"dryRun","in":"query","schema":{"type":"string","uniqueItems":true}}],)"
            R"("responses":{"200":{"description":"OK","content":{"application/yaml":{"schema":)"
            R"({"$ref":"#/components/schemas/D"}}}}},"x-kubernetes-action":"post","requestBody":{"content":)"
            R"({"application/json":{"schema":{"$ref":"#/components/schemas/D"}}},"required":true}}}},)"
            R"("components":{"schemas":{"D":{"properties":{"d":{"$ref":"#/components/schemas/D"}}}}}})");
}

}  // namespace
}  // namespace flyball::api
