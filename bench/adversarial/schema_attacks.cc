// CustomResourceDefinitions that are hard to check, and custom objects that are hard to check against them.
#include "attack.h"

namespace flyball::bench {
namespace {

const std::string kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

std::string Definition(const std::string& plural, const std::string& spec_schema) {
  return R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":")" +
         plural +
         R"(.attack.example.com"},"spec":{"group":"attack.example.com","scope":"Cluster","names":{"plural":")" +
         plural + R"(","kind":"Kind)" + plural +
         R"("},"versions":[{"name":"v1","served":true,"storage":true,)" +
         R"("schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":)" + spec_schema + "}}}}]}}";
}

Attack Define(std::string name, const std::string& plural, const std::string& spec_schema) {
  return {std::move(name), MakeRequest("POST", kDefinitions, Definition(plural, spec_schema))};
}

// An object of a definition that is made before.
Attack Object(std::string name, const std::string& plural, const std::string& spec_schema,
              const std::string& spec) {
  Attack attack{std::move(name),
                MakeRequest("POST", "/apis/attack.example.com/v1/" + plural + "?dryRun=All",
                            R"({"apiVersion":"attack.example.com/v1","kind":"Kind)" + plural +
                                R"(","metadata":{"name":"x"},"spec":)" + spec + "}")};
  attack.before.push_back(MakeRequest("POST", kDefinitions, Definition(plural, spec_schema)));
  return attack;
}

std::string Nested(int depth, const std::string& inner) {
  std::string out;
  for (int i = 0; i < depth; ++i) out += R"({"type":"object","properties":{"a":)";
  out += inner;
  for (int i = 0; i < depth; ++i) out += "}}";
  return out;
}

}  // namespace

std::vector<Attack> SchemaAttacks() {
  const auto branches = [](long count) {
    return Repeated(
        count, [](long i) { return R"({"required":["r)" + Number(i) + "\"]}"; }, ",");
  };
  const auto strings = [](long count) {
    return "[" +
           Repeated(
               count, [](long i) { return "\"s" + Number(i) + "\""; }, ",") +
           "]";
  };
  const auto items = [](long count) {
    return "[" +
           Repeated(
               count, [](long i) { return R"({"k":"s)" + Number(i) + "\"}"; }, ",") +
           "]";
  };
  const std::string item = R"({"type":"object","required":["k"],"properties":{"k":{"type":"string"}}})";
  return {
      Define("definition with 40,000 properties", "aones",
             R"({"type":"object","properties":{)" +
                 Repeated(
                     40'000,
                     [](long i) { return "\"p" + Number(i) + R"(":{"type":"string","maxLength":5})"; }, ",") +
                 "}}"),
      Define("definition nested 5,000 deep", "atwos", Nested(5'000, R"({"type":"string"})")),
      Define("definition with 20,000 patterns", "athrees",
             R"({"type":"object","properties":{)" +
                 Repeated(
                     20'000,
                     [](long i) {
                       return "\"p" + Number(i) + R"(":{"type":"string","pattern":"^(a|b)*c{1,100}$"})";
                     },
                     ",") +
                 "}}"),
      Define("definition with a pattern of 1 MB", "afours",
             R"x({"type":"object","properties":{"p":{"type":"string","pattern":"(a|)x" +
                 Repeated(
                     100'000, [](long i) { return "word" + Number(i); }, "|", 1'000'000) +
                 R"x()"}}})x"),
      Define(
          "definition with nested repetition in a pattern", "afives",
          R"x({"type":"object","properties":{"p":{"type":"string","pattern":"((((a{1,30}){1,30}){1,30}){1,30})"}}})x"),
      Define("definition with an enum of 200,000", "asixes",
             R"({"type":"object","properties":{"p":{"type":"string","enum":)" + strings(200'000) + "}}}"),
      Define(
          "definition with 50,000 branches", "asevens",
          R"({"type":"object","anyOf":[)" + branches(50'000) + R"(],"properties":{"a":{"type":"string"}}})"),
      Define("definition with a large default", "aeights",
             R"({"type":"object","properties":{"p":{"type":"array","items":{"type":"string"},"default":)" +
                 strings(200'000) + "}}}"),
      Define(
          "definition with 3,000 versions", "anines",
          R"({"type":"object"}}}}}, )" +
              Repeated(
                  3'000,
                  [](long i) {
                    return R"({"name":"v)" + Number(i + 2) +
                           R"(","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}})";
                  },
                  ",") +
              R"(,{"name":"w","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"string"})"),
      Object("set of 200,000", "bones",
             R"({"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}})",
             strings(200'000)),
      Object("list map of 100,000", "btwos",
             R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":)" +
                 item + "}",
             items(100'000)),
      Object("100,000 items against 200 branches", "bthrees",
             R"({"type":"array","items":{"type":"object","anyOf":[)" + branches(200) +
                 R"(],"properties":{"k":{"type":"string"}}}})",
             items(100'000)),
      Object("20,000 items against oneOf of 1,000", "bfours",
             R"({"type":"array","items":{"type":"object","oneOf":[)" + branches(1'000) +
                 R"(],"properties":{"k":{"type":"string"}}}})",
             items(20'000)),
      Object("200,000 strings against an enum of 10,000", "bfives",
             R"({"type":"array","items":{"type":"string","enum":)" + strings(10'000) + "}}",
             strings(200'000)),
      Object("a string of 2.9 MB against a pattern", "bsixes",
             R"({"type":"string","pattern":"^(a?){50}(a+)+b$"})", "\"" + std::string(2'900'000, 'a') + "\""),
      Object("100,000 strings against a pattern", "bsevens",
             R"x({"type":"array","items":{"type":"string","pattern":"^(x+x+)+y$"}})x", strings(200'000)),
      Object("100,000 unknown fields", "beights", R"({"type":"object","properties":{"a":{"type":"string"}}})",
             "{" +
                 Repeated(
                     150'000, [](long i) { return "\"u" + Number(i) + "\":1"; }, ",") +
                 "}"),
      Object("100,000 required fields that are not there", "bnines",
             R"({"type":"object","required":)" + strings(100'000) + "}", "{}"),
      Object("100,000 members of a map", "cones",
             R"({"type":"object","additionalProperties":{"type":"string","maxLength":1}})",
             "{" +
                 Repeated(
                     150'000, [](long i) { return "\"u" + Number(i) + R"(":"long")"; }, ",") +
                 "}"),
      Object("uniform objects with defaults", "ctwos",
             R"({"type":"array","items":{"type":"object","properties":{)" +
                 Repeated(
                     100, [](long i) { return "\"p" + Number(i) + R"(":{"type":"string","default":"d"})"; },
                     ",") +
                 "}}}",
             "[" +
                 Repeated(
                     20'000, [](long) { return std::string("{}"); }, ",") +
                 "]"),
      Object("formats of 100,000 strings", "cthrees",
             R"({"type":"array","items":{"type":"string","format":"date-time"}})", strings(200'000)),
  };
}

}  // namespace flyball::bench
