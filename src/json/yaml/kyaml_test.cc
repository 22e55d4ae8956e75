#include "json/yaml/kyaml.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace flyball::json {
namespace {

std::string Kyaml(const char* text) {
  return WriteKyaml(*Parse(text));
}

TEST(Kyaml, WritesBracesQuotesAndTrailingCommas) {
  EXPECT_EQ(Kyaml(R"({"kind":"Pod","count":3,"on":true,"none":null,"empty":{},"list":[]})"),
            "---\n{\n  kind: \"Pod\",\n  count: 3,\n  \"on\": true,\n  none: null,\n  empty: {},\n  list: "
            "[],\n}\n");
}

TEST(Kyaml, ListsOfObjectsShareTheirBrackets) {
  EXPECT_EQ(Kyaml(R"({"a":[{"b":1},{"c":["x","y"]}]})"),
            "---\n{\n  a: [{\n    b: 1,\n  }, {\n    c: [\n      \"x\",\n      \"y\",\n    ],\n  }],\n}\n");
}

TEST(Kyaml, FoldsTextsOfSeveralLines) {
  EXPECT_EQ(Kyaml(R"({"text":"one\n  two\n"})"),
            "---\n{\n  text: \"\\\n     one\\n\\\n    \\  two\\n\\\n    \",\n}\n");
}

TEST(Kyaml, QuotesKeysThatAreNotOnlyText) {
  for (const char* key : {"1e3", "0x1f", "null", "Yes", "2006-1-2", "a:b", "-a", "", "inf"})
    EXPECT_NE(Kyaml((std::string("{\"") + key + "\":1}").c_str()).find(std::string("\"") + key + "\": 1"),
              std::string::npos)
        << key;
  EXPECT_NE(Kyaml(R"({"app.kubernetes.io/name":1})").find("  app.kubernetes.io/name: 1"), std::string::npos);
}

}  // namespace
}  // namespace flyball::json
