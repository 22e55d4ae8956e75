// Admission as clients meet it: defaults, bounds, quotas, security levels, who may grant what.
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

const char* const kPods = "/api/v1/namespaces/default/pods";
const char* const kMerge = "application/merge-patch+json";

class AdmissionTest : public ServerFixture {
 protected:
  explicit AdmissionTest(const ApiServerOptions& options = {}) : ServerFixture(options) {
    Do("POST", "/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
  }

  // A pod of one container "c"; the texts are members, with their comma: `,"resources":{...}`.
  static std::string PodText(const std::string& name, const std::string& of_container = "",
                             const std::string& of_spec = "") {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
           R"("},"spec":{"containers":[{"name":"c","image":"i")" + of_container + "}]" + of_spec + "}}";
  }
  std::shared_ptr<Reply> CreatePod(const std::string& name, const std::string& of_container = "",
                                   const std::string& of_spec = "") {
    return Do("POST", kPods, PodText(name, of_container, of_spec));
  }
  void CreateQuota(const std::string& spec, const std::string& used) {
    const std::string quotas = "/api/v1/namespaces/default/resourcequotas";
    const auto hard = json::Write((*json::Parse(spec))["hard"]);
    ASSERT_EQ(Do("POST", quotas, R"({"metadata":{"name":"q"},"spec":)" + spec + "}")->status, 201);
    const auto counted = Do("PATCH", quotas + "/q/status",
                            R"({"status":{"hard":)" + hard + R"(,"used":)" + used + "}}", kMerge);
    ASSERT_EQ(counted->status, 200) << counted->body;
  }
  json::Value UsedOfQuota() {
    return Do("GET", "/api/v1/namespaces/default/resourcequotas/q")->value()["status"]["used"];
  }
  void LabelDefaultNamespace(const std::string& labels) {
    const auto patched =
        Do("PATCH", "/api/v1/namespaces/default", R"({"metadata":{"labels":)" + labels + "}}", kMerge);
    ASSERT_EQ(patched->status, 200) << patched->body;
  }
};

TEST_F(AdmissionTest, LimitRangesGiveDefaultsAndThePodSaysSo) {
  Do("POST", "/api/v1/namespaces/default/limitranges",
     R"({"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","default":{"cpu":"2"},
         "defaultRequest":{"cpu":"1"}}]}})");
  const auto pod = CreatePod("p");
  ASSERT_EQ(pod->status, 201) << pod->body;
  const auto value = pod->value();
  EXPECT_EQ(json::Write(value["spec"]["containers"].as_array()[0]["resources"]),
            R"({"limits":{"cpu":"2"},"requests":{"cpu":"1"}})");
  EXPECT_EQ(value["metadata"]["annotations"]["kubernetes.io/limit-ranger"].string_or(""),
            "LimitRanger plugin set: cpu request for container c; cpu limit for container c");
  EXPECT_EQ(value["status"]["qosClass"].string_or(""), "Burstable");
}

TEST_F(AdmissionTest, LimitRangesBoundContainersPodsAndClaims) {
  Do("POST", "/api/v1/namespaces/default/limitranges",
     R"({"metadata":{"name":"l"},"spec":{"limits":[
         {"type":"Container","min":{"cpu":"2"},"max":{"cpu":"4"},"maxLimitRequestRatio":{"cpu":"1"}},
         {"type":"Pod","max":{"memory":"1Gi"}},
         {"type":"PersistentVolumeClaim","max":{"storage":"1Gi"}}]}})");
  EXPECT_EQ(CreatePod("p", R"(,"resources":{"requests":{"cpu":"1"},"limits":{"cpu":"5","memory":"2Gi"}})")
                ->message(),
            "pods \"p\" is forbidden: [minimum cpu usage per Container is 2, but request is 1, maximum cpu "
            "usage per "
            "Container is 4, but limit is 5, cpu max limit to request ratio per Container is 1, but provided "
            "ratio is "
            "5.000000, maximum memory usage per Pod is 1Gi, but limit is 2Gi]");
  EXPECT_EQ(CreatePod("p", R"(,"resources":{"limits":{"cpu":"3"}})")->message(),
            "pods \"p\" is forbidden: maximum memory usage per Pod is 1Gi.  No limit is specified");
  EXPECT_EQ(Do("POST", "/api/v1/namespaces/default/persistentvolumeclaims",
               R"({"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"],
                   "resources":{"requests":{"storage":"2Gi"}}}})")
                ->message(),
            "persistentvolumeclaims \"v\" is forbidden: maximum storage usage per PersistentVolumeClaim is "
            "1Gi, but "
            "request is 2Gi");
}

TEST_F(AdmissionTest, AQuotaIsChargedAndThenRefuses) {
  CreateQuota(R"({"hard":{"pods":"2","requests.cpu":"3"}})", R"({"pods":"0","requests.cpu":"0"})");
  EXPECT_EQ(CreatePod("bare")->message(),
            "pods \"bare\" is forbidden: failed quota: q: must specify requests.cpu for: c");
  ASSERT_EQ(CreatePod("a", R"(,"resources":{"requests":{"cpu":"500m"}})")->status, 201);
  EXPECT_EQ(json::Write(UsedOfQuota()), R"({"pods":"1","requests.cpu":"500m"})");
  EXPECT_EQ(CreatePod("b", R"(,"resources":{"requests":{"cpu":"3"}})")->message(),
            "pods \"b\" is forbidden: exceeded quota: q, requested: requests.cpu=3, used: requests.cpu=500m, "
            "limited: "
            "requests.cpu=3");
  EXPECT_EQ(json::Write(UsedOfQuota()), R"({"pods":"1","requests.cpu":"500m"})");
}

TEST_F(AdmissionTest, ADryRunIsCheckedAgainstTheQuotaButNotCharged) {
  CreateQuota(R"({"hard":{"count/configmaps":"1"}})", R"({"count/configmaps":"0"})");
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  EXPECT_EQ(Do("POST", maps + "?dryRun=All", R"({"metadata":{"name":"a"}})")->status, 201);
  EXPECT_EQ(json::Write(UsedOfQuota()), R"({"count/configmaps":"0"})");
  EXPECT_EQ(Do("POST", maps, R"({"metadata":{"name":"a"}})")->status, 201);
  EXPECT_EQ(Do("POST", maps + "?dryRun=All", R"({"metadata":{"name":"b"}})")->status, 403);
}

TEST_F(AdmissionTest, AnUpdateIsChargedForWhatItAdds) {
  CreateQuota(R"({"hard":{"services":"5","services.nodeports":"1"}})",
              R"({"services":"0","services.nodeports":"0"})");
  const std::string services = "/api/v1/namespaces/default/services";
  const auto service = [](const std::string& name, const char* type) {
    return R"({"metadata":{"name":")" + name + R"("},"spec":{"type":")" + type +
           R"(","ports":[{"port":80}]}})";
  };
  ASSERT_EQ(Do("POST", services, service("a", "ClusterIP"))->status, 201);
  ASSERT_EQ(Do("POST", services, service("b", "ClusterIP"))->status, 201);
  EXPECT_EQ(json::Write(UsedOfQuota()), R"({"services":"2","services.nodeports":"0"})");
  const char* const to_node_port = R"({"spec":{"type":"NodePort"}})";
  EXPECT_EQ(Do("PATCH", services + "/a", to_node_port, "application/merge-patch+json")->status, 200);
  EXPECT_EQ(json::Write(UsedOfQuota()), R"({"services":"2","services.nodeports":"1"})");
  EXPECT_EQ(Do("PATCH", services + "/b", to_node_port, "application/merge-patch+json")->message(),
            "services \"b\" is forbidden: exceeded quota: q, requested: services.nodeports=1, used: "
            "services.nodeports=1, limited: services.nodeports=1");
}

TEST_F(AdmissionTest, AQuotaWithScopesCountsOnlyWhatIsInThem) {
  CreateQuota(R"({"hard":{"pods":"1"},"scopes":["BestEffort"]})", R"({"pods":"1"})");
  EXPECT_EQ(CreatePod("b")->status, 403);
  EXPECT_EQ(CreatePod("g", R"(,"resources":{"requests":{"cpu":"1"}})")->status, 201);
}

TEST_F(AdmissionTest, AQuotaThatWasNeverCountedAdmitsEverything) {
  Do("POST", "/api/v1/namespaces/default/resourcequotas",
     R"({"metadata":{"name":"q"},"spec":{"hard":{"pods":"0"}}})");
  EXPECT_EQ(CreatePod("p")->status, 201);
}

TEST_F(AdmissionTest, ALevelIsEnforcedOnPodsAndWarnsOfWorkloads) {
  LabelDefaultNamespace(
      R"({"pod-security.kubernetes.io/enforce":"baseline","pod-security.kubernetes.io/warn":"restricted",
          "pod-security.kubernetes.io/warn-version":"v1.24"})");
  EXPECT_EQ(CreatePod("p", "", R"(,"hostNetwork":true,"volumes":[{"name":"h","hostPath":{"path":"/"}}])")
                ->message(),
            "pods \"p\" is forbidden: violates PodSecurity \"baseline:latest\": host namespaces "
            "(hostNetwork=true), "
            "hostPath volumes (volume \"h\")");
  const auto pod = CreatePod("ok", R"(,"securityContext":{"allowPrivilegeEscalation":false,"runAsUser":0,
      "capabilities":{"drop":["ALL"]},"seccompProfile":{"type":"RuntimeDefault"}})");
  ASSERT_EQ(pod->status, 201) << pod->body;
  EXPECT_EQ(
      pod->headers.Get("warning"),
      R"w(299 - "would violate PodSecurity \"restricted:v1.24\": runAsNonRoot != true (pod or container \"c\" )w"
      R"w(must set securityContext.runAsNonRoot=true), runAsUser=0 (container \"c\" must not set runAsUser=0)")w");
  const auto deployment = Do(
      "POST", "/apis/apps/v1/namespaces/default/deployments",
      R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":
            {"a":"b"}},"spec":{"hostPID":true,"containers":[{"name":"c","image":"i"}]}}}})");
  EXPECT_EQ(deployment->status, 201);
  EXPECT_NE(deployment->headers.Get("warning").find("host namespaces (hostPID=true)"),
            std::string_view::npos);
}

TEST_F(AdmissionTest, TighteningALevelWarnsOfThePodsThatAreThere) {
  CreatePod("a", "", R"(,"hostPID":true)");
  CreatePod("b", "", R"(,"hostPID":true)");
  const auto patched =
      Do("PATCH", "/api/v1/namespaces/default",
         R"({"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"baseline"}}})", kMerge);
  std::vector<std::string> warnings;
  for (const auto warning : patched->headers.GetAll("warning")) warnings.emplace_back(warning);
  EXPECT_EQ(
      warnings,
      (std::vector<std::string>{
          R"(299 - "existing pods in namespace \"default\" violate the new PodSecurity enforce level \"baseline:latest\"")",
          R"(299 - "a (and 1 other pod): host namespaces")"}));
  EXPECT_EQ(
      Do("PATCH", "/api/v1/namespaces/default",
         R"({"metadata":{"labels":{"pod-security.kubernetes.io/warn":"severe"}}})", kMerge)
          ->message(),
      "Namespace \"default\" is invalid: metadata.labels[pod-security.kubernetes.io/warn]: Invalid value: "
      "\"severe\": must be one of privileged, baseline, restricted");
}

TEST_F(AdmissionTest, NobodyGrantsWhatTheyDoNotHave) {
  const std::string rbac = "/apis/rbac.authorization.k8s.io/v1";
  const User eve{"eve", "", {"dev"}, {}};
  Do("POST", rbac + "/clusterroles",
     R"({"metadata":{"name":"granter"},"rules":[
         {"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles","rolebindings"],"verbs":["create","update"]},
         {"apiGroups":[""],"resources":["configmaps"],"verbs":["get"]}]})");
  const std::string bind_granter =
      R"({"metadata":{"name":"g"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"granter"},
          "subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"eve"}]})";
  Do("POST", rbac + "/clusterrolebindings", bind_granter);
  const std::string roles = rbac + "/namespaces/default/roles",
                    bindings = rbac + "/namespaces/default/rolebindings";
  EXPECT_EQ(As(eve, "POST", roles,
               R"({"metadata":{"name":"r"},"rules":[{"apiGroups":[""],"resources":["configmaps","secrets"],
                   "verbs":["get","list"]}]})")
                ->message(),
            "roles.rbac.authorization.k8s.io \"r\" is forbidden: user \"eve\" (groups=[\"dev\" "
            "\"system:authenticated\"]) is "
            "attempting to grant RBAC permissions not currently held:\n"
            "{APIGroups:[\"\"], Resources:[\"configmaps\"], Verbs:[\"list\"]}\n"
            "{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}");
  EXPECT_EQ(
      As(eve, "POST", roles,
         R"({"metadata":{"name":"r"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get"]}]})")
          ->status,
      201);
  const std::string bind_admin =
      R"({"metadata":{"name":"a"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole",
          "name":"cluster-admin"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"eve"}]})";
  const auto refused = As(eve, "POST", bindings, bind_admin);
  EXPECT_EQ(refused->status, 403);
  EXPECT_NE(refused->message().find("{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}"),
            std::string::npos);
  Do("POST", rbac + "/clusterroles",
     R"({"metadata":{"name":"binder"},"rules":[{"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"],
         "verbs":["bind"],"resourceNames":["cluster-admin"]}]})");
  Do("POST", rbac + "/clusterrolebindings",
     R"({"metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"binder"},
         "subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"eve"}]})");
  EXPECT_EQ(As(eve, "POST", bindings, bind_admin)->status, 201);
}

struct WithNodeRestriction : AdmissionTest {
  WithNodeRestriction() : AdmissionTest(Options()) {}
  static ApiServerOptions Options() {
    ApiServerOptions options;
    options.admission.enable = {"NodeRestriction"};
    return options;
  }
};

TEST_F(WithNodeRestriction, AKubeletWritesOnlyAboutItself) {
  const User kubelet{"system:node:n1", "", {"system:nodes"}, {}};
  EXPECT_EQ(As(kubelet, "POST", "/api/v1/nodes", R"({"metadata":{"name":"n1"}})")->status, 201);
  EXPECT_EQ(As(kubelet, "POST", "/api/v1/nodes", R"({"metadata":{"name":"n2"}})")->message(),
            "nodes \"n2\" is forbidden: node \"n1\" is not allowed to modify node \"n2\"");
  EXPECT_EQ(As(kubelet, "POST", kPods, PodText("p"))->message(),
            "pods \"p\" is forbidden: pod does not have \"kubernetes.io/config.mirror\" annotation, node "
            "\"n1\" can only "
            "create mirror pods");
}

TEST(AdmissionOptionsTest, UnknownAndContradictoryPluginNamesAreRefused) {
  SimExecutor sim(1);
  Random random(1);
  Metrics metrics;
  const auto store = store::NewMemoryStore(sim);
  ApiServerOptions options;
  options.admission.enable = {"Nonsense"};
  const auto unknown = ApiServer::Make(options, *store, sim, random, metrics);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message(), "enable-admission-plugins plugin \"Nonsense\" is unknown");
  options.admission.enable = options.admission.disable = {"LimitRanger"};
  const auto both = ApiServer::Make(options, *store, sim, random, metrics);
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().message(),
            "[LimitRanger] in enable-admission-plugins and disable-admission-plugins overlapped");
}

}  // namespace
}  // namespace flyball::server
