// Authentication, authorisation and the reviews of both.
#include "attack.h"

namespace flyball::bench {
namespace {

std::string Rules(long count) {
  return Repeated(
      count,
      [](long i) {
        return R"({"apiGroups":["g)" + Number(i) + R"("],"resources":["r"],"verbs":["get","list"]})";
      },
      ",", 1'400'000);
}

net::Request As(net::Request request, const std::string& user) {
  request.headers.Set("impersonate-user", user);
  return request;
}

const std::string kRbac = "/apis/rbac.authorization.k8s.io/v1/";

net::Request ClusterRole(const std::string& name, const std::string& rules) {
  return MakeRequest("POST", kRbac + "clusterroles",
                     R"({"metadata":{"name":")" + name + R"("},"rules":[)" + rules + "]}");
}

net::Request Bind(const std::string& name, const std::string& role, const std::string& user) {
  return MakeRequest(
      "POST", kRbac + "clusterrolebindings",
      R"({"metadata":{"name":")" + name +
          R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":")" + role +
          R"("},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":")" + user +
          "\"}]}");
}

std::vector<net::Request> Preparation() {
  return {ClusterRole("bench-large", Rules(20'000)), Bind("bench-large", "bench-large", "eve"),
          ClusterRole("bench-roles",
                      R"({"apiGroups":["rbac.authorization.k8s.io"],"resources":["*"],"verbs":["*"]})"),
          Bind("bench-roles", "bench-roles", "eve")};
}

}  // namespace

std::vector<Attack> AccessAttacks() {
  auto groups = MakeRequest("GET", "/api");
  groups.headers.Set("impersonate-user", "x");
  for (int i = 0; i < 2'000; ++i) groups.headers.Add("impersonate-group", "g" + Number(i));
  auto token = MakeRequest("GET", "/api");
  token.headers.Set("authorization", "Bearer " + std::string(20'000, 'a') + "." + std::string(20'000, 'b') +
                                         "." + std::string(10'000, 'c'));
  const std::string names = Repeated(
      200'000, [](long i) { return "\"g" + Number(i) + "\""; }, ",");
  return {
      {"role with 20,000 rules by somebody who has them",
       As(MakeRequest("POST", kRbac + "namespaces/default/roles",
                      R"({"metadata":{"name":"x"},"rules":[)" + Rules(20'000) + "]}"),
          "eve"),
       Preparation()},
      {"role with 20,000 rules that nobody has",
       As(MakeRequest("POST", kRbac + "namespaces/default/roles",
                      R"({"metadata":{"name":"y"},"rules":[)" +
                          Repeated(
                              20'000,
                              [](long i) {
                                return R"({"apiGroups":["h)" + Number(i) +
                                       R"("],"resources":["r"],"verbs":["get"]})";
                              },
                              ",") +
                          "]}"),
          "eve")},
      {"role with one rule of 300 x 300 x 30",
       As(MakeRequest("POST", kRbac + "namespaces/default/roles",
                      R"({"metadata":{"name":"z"},"rules":[{"apiGroups":[)" +
                          Repeated(
                              3'000, [](long i) { return "\"g" + Number(i) + "\""; }, ",") +
                          R"(],"resources":[)" +
                          Repeated(
                              3'000, [](long i) { return "\"r" + Number(i) + "\""; }, ",") +
                          R"(],"verbs":[)" +
                          Repeated(
                              3'000, [](long i) { return "\"v" + Number(i) + "\""; }, ",") +
                          "]}]}"),
          "eve")},
      {"binding with 30,000 subjects",
       MakeRequest(
           "POST", kRbac + "clusterrolebindings",
           R"({"metadata":{"name":"bench-many"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},"subjects":[)" +
               Repeated(
                   35'000,
                   [](long i) {
                     return R"({"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"u)" + Number(i) +
                            "\"}";
                   },
                   ",") +
               "]}")},
      {"small request of a user with 20,000 rules",
       As(MakeRequest("GET", "/api/v1/namespaces/default/pods"), "eve")},
      {"SelfSubjectRulesReview with 20,000 rules",
       As(MakeRequest("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
                      R"({"spec":{"namespace":"default"}})"),
          "eve")},
      {"SubjectAccessReview with 200,000 groups",
       MakeRequest("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                   R"({"spec":{"user":"u","groups":[)" + names +
                       R"(],"resourceAttributes":{"verb":"get","resource":"pods"}}})")},
      {"TokenReview of 2.9 MB", MakeRequest("POST", "/apis/authentication.k8s.io/v1/tokenreviews",
                                            R"({"spec":{"token":")" + std::string(2'900'000, 'x') + "\"}}")},
      {"2,000 impersonated groups", groups},
      {"bearer token of 50 KB", token},
  };
}

}  // namespace flyball::bench
