// Patches of every type and server-side apply, on large objects.
#include "attack.h"

namespace flyball::bench {
namespace {

constexpr long kVariables = 40'000;
const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kStrategic = "application/strategic-merge-patch+json";
const std::string kMerge = "application/merge-patch+json";
const std::string kJson = "application/json-patch+json";
const std::string kApply = "application/apply-patch+yaml";

std::string Variables(long count, const std::string& value, const std::string& more = "") {
  return Repeated(
      count,
      [&](long i) { return R"({"name":"V)" + Number(i) + R"(","value":")" + value + "\"" + more + "}"; },
      ",");
}

net::Request CreatePod(const std::string& name, const std::string& env) {
  return MakeRequest("POST", kPods,
                     R"({"metadata":{"name":")" + name +
                         R"("},"spec":{"containers":[{"name":"c","image":"i","env":[)" + env + "]}]}}");
}

net::Request PatchPod(const std::string& name, const std::string& container) {
  return MakeRequest("PATCH", kPods + "/" + name,
                     R"({"spec":{"containers":[{"name":"c",)" + container + "}]}}", kStrategic);
}

std::string Data(long count, const std::string& value, const std::string& prefix = "k") {
  return Repeated(
      count, [&](long i) { return "\"" + prefix + Number(i) + "\":" + value; }, ",", 2'000'000);
}

net::Request CreateMap(const std::string& name, const std::string& data) {
  return MakeRequest("POST", kConfigMaps, R"({"metadata":{"name":")" + name + R"("},"data":{)" + data + "}}");
}

net::Request Apply(const std::string& name, const std::string& manager, const std::string& data) {
  return MakeRequest(
      "PATCH", kConfigMaps + "/" + name + "?force=true&fieldManager=" + manager,
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + R"("},"data":{)" + data + "}}",
      kApply);
}

std::string Operations(long count, const std::function<std::string(long)>& one) {
  return "[" + Repeated(count, one, ",") + "]";
}

std::vector<Attack> StrategicAttacks() {
  const auto names = Repeated(
      kVariables, [](long i) { return R"({"name":"V)" + Number(i) + "\"}"; }, ",");
  const auto retained = Repeated(
      100'000, [](long i) { return "\"k" + Number(i) + "\""; }, ",", 1'200'000);
  return {
      {"strategic merge of 40,000 variables onto 40,000",
       PatchPod("p1", "\"env\":[" + Variables(kVariables, "b") + "]"),
       {CreatePod("p1", Variables(kVariables, "a"))}},
      {"strategic merge with $setElementOrder of 40,000",
       PatchPod("p2", "\"$setElementOrder/env\":[" + names + "],\"env\":[" + Variables(20'000, "b") + "]"),
       {CreatePod("p2", Variables(kVariables, "a"))}},
      {"strategic merge with 40,000 deletions",
       PatchPod("p3", "\"env\":[" + Variables(kVariables, "b", R"(,"$patch":"delete")") + "]"),
       {CreatePod("p3", Variables(kVariables, "a"))}},
      {"strategic merge of 100,000 data members with $retainKeys",
       MakeRequest("PATCH", kConfigMaps + "/m1",
                   R"({"data":{"$retainKeys":[)" + retained + "]," + Data(100'000, "\"b\"") + "}}",
                   kStrategic),
       {CreateMap("m1", Data(70'000, "\"a\""))}},
      {"strategic merge that erases 70,000 data members",
       MakeRequest("PATCH", kConfigMaps + "/m2", R"({"data":{)" + Data(70'000, "null") + "}}", kStrategic),
       {CreateMap("m2", Data(70'000, "\"a\""))}},
  };
}

std::vector<Attack> JsonAttacks() {
  const std::string zeros = "[" +
                            Repeated(
                                1'000'000, [](long) { return std::string("0"); }, ",", 2'000'000) +
                            "]";
  const std::string list = R"({"op":"add","path":"/x","value":)" + zeros + "},";
  const auto small = CreateMap("m3", "\"a\":\"b\"");
  const auto patch = [&](const std::string& operations) {
    return MakeRequest("PATCH", kConfigMaps + "/m3", operations, kJson);
  };
  const auto with_list = [&](const std::string& one) {
    return patch("[" + list +
                 Repeated(
                     9'990, [&](long) { return one; }, ",") +
                 "]");
  };
  return {
      {"JSON patch: 10,000 additions before a million elements",
       with_list(R"({"op":"add","path":"/x/0","value":1})"),
       {small}},
      {"JSON patch: 10,000 removals before a million elements",
       with_list(R"({"op":"remove","path":"/x/0"})")},
      {"JSON patch: 10,000 moves in a million elements",
       with_list(R"({"op":"move","from":"/x/0","path":"/x/-"})")},
      {"JSON patch: copy bomb",
       patch(
           R"([{"op":"add","path":"/x","value":["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]},)" +
           Repeated(
               9'990, [](long) { return std::string(R"({"op":"copy","from":"/x","path":"/x/-"})"); }, ",") +
           "]")},
      {"JSON patch: 9,990 copies of a large value", with_list(R"({"op":"copy","from":"/x","path":"/y"})")},
      {"JSON patch: 9,990 tests of a large value", with_list(R"({"op":"test","path":"/x","value":[0,0]})")},
      {"JSON patch: removes 10,000 of 70,000 members",
       MakeRequest(
           "PATCH", kConfigMaps + "/m4",
           Operations(10'000, [](long i) { return R"({"op":"remove","path":"/data/k)" + Number(i) + "\"}"; }),
           kJson),
       {CreateMap("m4", Data(70'000, "\"a\""))}},
      {"JSON patch: paths of 250 levels", patch(Operations(10'000,
                                                           [](long) {
                                                             std::string path;
                                                             for (int i = 0; i < 125; ++i) path += "/a";
                                                             return R"({"op":"test","path":")" + path +
                                                                    R"(","value":null})";
                                                           }))},
      {"merge patch that erases 200,000 members",
       MakeRequest("PATCH", kConfigMaps + "/m5", R"({"data":{)" + Data(200'000, "null") + "}}", kMerge),
       {CreateMap("m5", Data(70'000, "\"a\""))}},
      {"merge patch that sets 200,000 members",
       MakeRequest("PATCH", kConfigMaps + "/m6", R"({"data":{)" + Data(200'000, "\"b\"") + "}}", kMerge),
       {CreateMap("m6", Data(70'000, "\"a\""))}},
  };
}

std::vector<Attack> ApplyAttacks() {
  const std::string most = Data(75'000, "\"a\"");
  std::vector<net::Request> managers{Apply("m9", "first", most)};
  for (int i = 0; i < 8; ++i) managers.push_back(Apply("m9", "manager" + Number(i), Data(60'000, "\"a\"")));
  return {
      {"apply that creates 75,000 fields", Apply("m7", "first", most)},
      {"apply by a second manager of 75,000 fields", Apply("m7", "second", most)},
      {"apply that gives up 75,000 fields", Apply("m7", "first", "\"only\":\"one\"")},
      {"apply that conflicts in 75,000 fields",
       MakeRequest("PATCH", kConfigMaps + "/m8?fieldManager=other",
                   R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m8"},"data":{)" +
                       Data(75'000, "\"b\"") + "}}",
                   kApply),
       {Apply("m8", "first", most)}},
      {"update of an object with ten managers of 60,000 fields",
       MakeRequest("PATCH", kConfigMaps + "/m9", R"({"data":{)" + Data(60'000, "\"c\"") + "}}", kMerge),
       managers},
      {"apply of 40,000 variables",
       MakeRequest(
           "PATCH", kPods + "/p9?fieldManager=m",
           R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p9"},"spec":{"containers":[{"name":"c","image":"i","env":[)" +
               Variables(kVariables, "a") + "]}]}}",
           kApply)},
      {"the same again",
       MakeRequest(
           "PATCH", kPods + "/p9?fieldManager=m",
           R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p9"},"spec":{"containers":[{"name":"c","image":"i","env":[)" +
               Variables(kVariables, "a") + "]}]}}",
           kApply)},
      {"create with managedFields of 100,000 fields",
       MakeRequest(
           "POST", kConfigMaps,
           R"({"metadata":{"name":"m10","managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{)" +
               Data(100'000, "{}", "f:k") + "}}}]}}")},
      {"create with 10,000 entries of managedFields",
       MakeRequest(
           "POST", kConfigMaps,
           R"({"metadata":{"name":"m11","managedFields":[)" +
               Repeated(
                   10'000,
                   [](long i) {
                     return R"({"manager":"m)" + Number(i) +
                            R"(","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}})";
                   },
                   ",") +
               "]}}")},
  };
}

}  // namespace

std::vector<Attack> PatchAttacks() {
  std::vector<Attack> attacks = StrategicAttacks();
  for (auto& attack : JsonAttacks()) attacks.push_back(std::move(attack));
  for (auto& attack : ApplyAttacks()) attacks.push_back(std::move(attack));
  return attacks;
}

}  // namespace flyball::bench
