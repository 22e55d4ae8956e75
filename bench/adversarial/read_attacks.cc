// Reads: selectors, forms of answers, long queries. Against a few thousand objects, one of them large.
#include "attack.h"

namespace flyball::bench {
namespace {

const std::string kList = "/api/v1/namespaces/many/configmaps";

net::Request Get(const std::string& target, const std::string& accept = "application/json") {
  auto request = MakeRequest("GET", target);
  request.headers.Set("accept", accept);
  return request;
}

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c == '!' || c == '=' || c == ',' || c == '(' || c == ')' || c == ' ') {
      constexpr std::string_view kHex = "0123456789ABCDEF";
      const auto u = static_cast<unsigned char>(c);
      out += {'%', kHex[u >> 4], kHex[u & 15]};
    } else {
      out += c;
    }
  return out;
}

std::string Letters(long i) {
  std::string out;
  for (; i >= 0; i = i / 26 - 1) out += static_cast<char>('a' + i % 26);
  return out;
}

std::vector<net::Request> ManyObjects() {
  std::vector<net::Request> out{MakeRequest("POST", "/api/v1/namespaces", R"({"metadata":{"name":"many"}})")};
  for (int i = 0; i < 5'000; ++i)
    out.push_back(MakeRequest("POST", kList,
                              R"({"metadata":{"name":"m)" + std::to_string(i) + R"(","labels":{"l":"v)" +
                                  std::to_string(i % 7) + R"("}},"data":{"k":"v"}})"));
  return out;
}

net::Request LargeObject() {
  return MakeRequest(
      "POST", kConfigMaps,
      R"({"metadata":{"name":"large"},"data":{)" +
          Repeated(
              70'000, [](long i) { return "\"k" + std::to_string(i) + R"(":"v")"; }, ",", 1'000'000) +
          "}}");
}

}  // namespace

std::vector<Attack> ReadAttacks() {
  const std::string absent = Repeated(
      20'000, [](long i) { return "!" + Letters(i); }, ",", 20'000);
  const std::string values = Repeated(
      20'000, [](long i) { return Letters(i); }, ",", 20'000);
  const std::string table = "application/json;as=Table;v=v1;g=meta.k8s.io";
  const std::string metadata = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
  const std::string protobuf = "application/vnd.kubernetes.protobuf";
  return {
      {"list of 5,000", Get(kList), ManyObjects()},
      {"list of 5,000 by a selector of 5,000 absent labels",
       Get(kList + "?labelSelector=" + Escaped(absent))},
      {"list of 5,000 by a label not in 5,000 values",
       Get(kList + "?labelSelector=" + Escaped("l notin (" + values + ")"))},
      {"list of 5,000 by a label in 5,000 values",
       Get(kList + "?labelSelector=" + Escaped("l in (" + values + ")"))},
      {"list of 5,000 by 2,000 field selectors",
       Get(kList + "?fieldSelector=" +
           Escaped(Repeated(
               2'000, [](long i) { return "metadata.name!=x" + Letters(i); }, ",", 40'000)))},
      {"list of 5,000 as a table", Get(kList, table)},
      {"list of 5,000 as metadata", Get(kList, metadata)},
      {"list of 5,000 as protobuf", Get(kList, protobuf)},
      {"list of 5,000 as YAML", Get(kList, "application/yaml")},
      {"list of 5,000 for people", Get(kList + "?pretty=true")},
      {"large object", Get(kConfigMaps + "/large"), {LargeObject()}},
      {"large object as a table", Get(kConfigMaps + "/large", table)},
      {"large object as protobuf", Get(kConfigMaps + "/large", protobuf)},
      {"large object as YAML", Get(kConfigMaps + "/large", "application/yaml")},
      {"large object for people", Get(kConfigMaps + "/large?pretty=true")},
      {"query of 60 KB", Get(kConfigMaps + "?" +
                             Repeated(
                                 20'000, [](long i) { return Letters(i) + "=1"; }, "&", 60'000))},
      {"path of 60 KB", Get("/api/v1/" + std::string(60'000, 'a'))},
      {"path of 30,000 parts", Get("/" + Repeated(
                                             30'000, [](long) { return std::string("a"); }, "/"))},
      {"Accept of 60 KB",
       Get(kConfigMaps, Repeated(
                            3'000, [](long i) { return "application/x" + Letters(i); }, ",", 60'000))},
      {"OpenAPI v2", Get("/openapi/v2")},
      {"OpenAPI v2 as protobuf",
       Get("/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")},
      {"OpenAPI v3 of the core group", Get("/openapi/v3/api/v1")},
      {"metrics", Get("/metrics")},
      {"discovery", Get("/apis", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")},
      {"deletecollection of 5,000", MakeRequest("DELETE", kList)},
  };
}

}  // namespace flyball::bench
