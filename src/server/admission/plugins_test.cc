// The plugins that are off by default, and the file that configures plugins.
#include <filesystem>
#include <fstream>

#include "net/tls/pki.h"
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

const char* const kPods = "/api/v1/namespaces/default/pods";
const char* const kMerge = "application/merge-patch+json";

// A file of this process that goes with the test.
std::string ConfigFile(const std::string& name, const std::string& text) {
  const std::string path =
      (std::filesystem::path(testing::TempDir()) / (std::to_string(getpid()) + name)).string();
  std::ofstream(path) << text;
  return path;
}

ApiServerOptions Enabled(std::set<std::string> plugins, const std::string& configuration = "") {
  ApiServerOptions options;
  options.admission.enable = std::move(plugins);
  options.admission.disable = {"ServiceAccount"};
  if (!configuration.empty())
    options.admission.config_file = ConfigFile(
        "admission.yaml",
        "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n" + configuration);
  return options;
}

class PluginTest : public ServerFixture {
 protected:
  explicit PluginTest(const ApiServerOptions& options) : ServerFixture(options) {}

  static std::string PodText(const std::string& name, const std::string& of_spec = "",
                             const std::string& of_container = "") {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
           R"("},"spec":{"containers":[{"name":"c","image":"i")" + of_container + "}]" + of_spec + "}}";
  }
  std::shared_ptr<Reply> CreatePod(const std::string& name, const std::string& of_spec = "",
                                   const std::string& of_container = "") {
    return Do("POST", kPods, PodText(name, of_spec, of_container));
  }
  void Annotate(const std::string& key, const std::string& value) {
    const json::Value patch =
        json::Object{{"metadata", json::Object{{"annotations", json::Object{{key, value}}}}}};
    ASSERT_EQ(Do("PATCH", "/api/v1/namespaces/default", json::Write(patch), kMerge)->status, 200);
  }
};

// What starting with these options says.
std::string StartError(const ApiServerOptions& options) {
  SimExecutor sim(1);
  Random random(1);
  Metrics metrics;
  const auto store = store::NewMemoryStore(sim);
  const auto made = ApiServer::Make(options, *store, sim, random, metrics);
  return made ? "" : made.error().message();
}

TEST(AdmissionFileTest, EveryPluginOfKubernetesMayBeNamed) {
  ApiServerOptions options;
  options.admission.disable = {"AlwaysAdmit",
                               "NamespaceAutoProvision",
                               "NamespaceExists",
                               "ImagePolicyWebhook",
                               "PodNodeSelector",
                               "PodTolerationRestriction",
                               "EventRateLimit",
                               "PodGroupProtection",
                               "OwnerReferencesPermissionEnforcement",
                               "ClusterTrustBundleAttest",
                               "PodTopologyLabels",
                               "NodeDeclaredFeatureValidator",
                               "PodResizeValidator",
                               "MutatingAdmissionPolicy",
                               "MutatingAdmissionWebhook",
                               "ValidatingAdmissionPolicy",
                               "ValidatingAdmissionWebhook",
                               "AlwaysDeny"};
  EXPECT_EQ(StartError(options), "");
}

TEST(AdmissionFileTest, RefusesFilesThatAreNoneOfItsKind) {
  ApiServerOptions options;
  options.admission.config_file = "/nonexistent/admission.yaml";
  EXPECT_TRUE(StartError(options).starts_with(
      "unable to read admission control configuration from \"/nonexistent/admission.yaml\" ["))
      << StartError(options);
  options.admission.config_file = ConfigFile("other.yaml", "apiVersion: v1\nkind: Pod\n");
  EXPECT_EQ(StartError(options), "no kind \"Pod\" is registered for version \"v1\"");
  options.admission.config_file =
      ConfigFile("unknown.yaml",
                 "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
                 "- name: PodSecurity\n  file: x\n");
  EXPECT_EQ(StartError(options), "strict decoding error: unknown field \"plugins[0].file\"");
  EXPECT_TRUE(StartError(Enabled({"PodNodeSelector"}, "- name: PodNodeSelector\n  path: missing.yaml\n"))
                  .find("missing.yaml") != std::string::npos);
}

TEST(AdmissionFileTest, PluginsRefuseConfigurationsThatAreInvalid) {
  EXPECT_EQ(StartError(Enabled({"ImagePolicyWebhook"})),
            "couldn't init admission plugin \"ImagePolicyWebhook\": no config specified");
  EXPECT_EQ(
      StartError(Enabled({"ImagePolicyWebhook"},
                         "- name: ImagePolicyWebhook\n  configuration: {imagePolicy: {allowTTL: 1801}}")),
      "couldn't init admission plugin \"ImagePolicyWebhook\": valid value is between 1s and 30m0s, got "
      "30m1s");
  EXPECT_EQ(
      StartError(Enabled({"EventRateLimit"},
                         "- name: EventRateLimit\n  configuration:\n    kind: Configuration\n"
                         "    apiVersion: eventratelimit.admission.k8s.io/v1alpha1\n"
                         "    limits: [{type: Planet, qps: 0, burst: 1, cacheSize: -1}]\n")),
      "couldn't init admission plugin \"EventRateLimit\": [limits[0].type: Unsupported value: \"Planet\": "
      "supported values: \"Namespace\", \"Server\", \"SourceAndObject\", \"User\", limits[0].qps: Invalid "
      "value: 0: must be positive, limits[0].cacheSize: Invalid value: -1: must not be negative]");
  EXPECT_EQ(
      StartError(Enabled({"EventRateLimit"},
                         "- name: EventRateLimit\n  configuration: {kind: Configuration, "
                         "apiVersion: eventratelimit.admission.k8s.io/v1alpha1}\n")),
      "couldn't init admission plugin \"EventRateLimit\": limits: Invalid value: []: must not be empty");
  EXPECT_EQ(StartError(Enabled({},
                               "- name: ResourceQuota\n  configuration:\n"
                               "    kind: ResourceQuotaConfiguration\n"
                               "    apiVersion: apiserver.config.k8s.io/v1\n"
                               "    limitedResources: [{apiGroup: \"\"}]\n")),
            "couldn't init admission plugin \"ResourceQuota\": limitedResources[0].resource: Required value");
  EXPECT_EQ(StartError(Enabled({},
                               "- name: PodSecurity\n  configuration:\n"
                               "    kind: PodSecurityConfiguration\n"
                               "    apiVersion: pod-security.admission.config.k8s.io/v1\n"
                               "    defaults: {enforce: strict, warn-version: v2}\n"
                               "    exemptions: {usernames: [\"\"], namespaces: [a, a]}\n")),
            "couldn't init admission plugin \"PodSecurity\": [defaults.enforce: Invalid value: \"strict\": "
            "must be one of privileged, baseline, restricted, defaults.warn-version: Invalid value: \"v2\": "
            "must be \"latest\" or \"v1.x\", exemptions.namespaces[1]: Duplicate value: \"a\", "
            "exemptions.usernames[0]: Invalid value: \"\": username must not be empty]");
  EXPECT_EQ(StartError(Enabled({"PodTolerationRestriction"},
                               "- name: PodTolerationRestriction\n  configuration:\n    kind: Configuration\n"
                               "    apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1\n"
                               "    default: [{key: a, operator: Near}]\n")),
            "couldn't init admission plugin \"PodTolerationRestriction\": invalid config: "
            "podtolerationrestriction.default[0].operator: Unsupported value: \"Near\": supported values: "
            "\"Equal\", \"Exists\"");
}

struct AutoProvisionTest : PluginTest {
  AutoProvisionTest() : PluginTest(Enabled({"NamespaceAutoProvision"})) {}
};

TEST_F(AutoProvisionTest, MakesTheNamespaceOfANewObject) {
  const std::string maps = "/api/v1/namespaces/new/configmaps";
  EXPECT_EQ(Do("POST", maps + "?dryRun=All", R"({"metadata":{"name":"a"}})")->status, 404);
  const auto made = Do("POST", maps, R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(made->status, 201) << made->body;
  EXPECT_EQ(Do("GET", "/api/v1/namespaces/new")->value()["status"]["phase"].string_or(""), "Active");
}

struct NamespaceExistsTest : PluginTest {
  NamespaceExistsTest() : PluginTest(Options()) {}
  static ApiServerOptions Options() {
    auto options = Enabled({"NamespaceExists"});
    options.admission.disable.insert("NamespaceLifecycle");
    return options;
  }
};

TEST_F(NamespaceExistsTest, RefusesToWriteWhereThereIsNoNamespace) {
  const auto refused = Do("POST", "/api/v1/namespaces/none/configmaps", R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(refused->status, 404);
  EXPECT_EQ(refused->message(), "namespaces \"none\" not found");
  EXPECT_EQ(Do("POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"a"}})")->status, 201);
}

struct NodeSelectorTest : PluginTest {
  NodeSelectorTest()
      : PluginTest(Enabled({"PodNodeSelector"},
                           "- name: PodNodeSelector\n  configuration:\n    podNodeSelectorPluginConfig:\n"
                           "      clusterDefaultNodeSelector: zone=a\n      default: zone=b,disk=ssd\n")) {}
};

TEST_F(NodeSelectorTest, PodsSelectTheNodesOfTheirNamespaceAndNoOthers) {
  EXPECT_EQ(CreatePod("p")->message(),
            "pods \"p\" is forbidden: pod node label selector labels conflict with its namespace whitelist");
  Annotate("scheduler.alpha.kubernetes.io/node-selector", "zone=b, disk=ssd");
  const auto made = CreatePod("p");
  ASSERT_EQ(made->status, 201) << made->body;
  EXPECT_EQ(json::Write(made->value()["spec"]["nodeSelector"]), R"({"disk":"ssd","zone":"b"})");
  EXPECT_EQ(CreatePod("q", R"(,"nodeSelector":{"zone":"c"})")->message(),
            "pods \"q\" is forbidden: pod node label selector conflicts with its namespace node label "
            "selector");
  EXPECT_EQ(CreatePod("q", R"(,"nodeSelector":{"arch":"arm"})")->message(),
            "pods \"q\" is forbidden: pod node label selector labels conflict with its namespace whitelist");
  Annotate("scheduler.alpha.kubernetes.io/node-selector", "zone");
  const auto broken = CreatePod("q");
  EXPECT_EQ(broken->status, 500);
  EXPECT_EQ(broken->message(), "invalid selector: [zone]");
}

struct TolerationTest : PluginTest {
  TolerationTest()
      : PluginTest(Enabled({"PodTolerationRestriction"},
                           "- name: PodTolerationRestriction\n  configuration:\n    kind: Configuration\n"
                           "    apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1\n"
                           "    default: [{key: a, operator: Exists}]\n"
                           "    whitelist: [{key: a, operator: Exists}, "
                           "{key: node.kubernetes.io/memory-pressure, operator: Exists},"
                           "{key: node.kubernetes.io/not-ready, operator: Exists},"
                           "{key: node.kubernetes.io/unreachable, operator: Exists}]\n")) {}
};

TEST_F(TolerationTest, PodsGetDefaultsAndMayNotTolerateMoreThanIsAllowed) {
  const auto made = CreatePod("p", R"(,"tolerations":[{"key":"a","operator":"Equal","value":"x"}])",
                              R"(,"resources":{"requests":{"cpu":"1"}})");
  ASSERT_EQ(made->status, 201) << made->body;
  const auto tolerations = made->value()["spec"]["tolerations"];
  EXPECT_EQ(json::Write(tolerations.as_array().back()),
            R"({"key":"node.kubernetes.io/memory-pressure","operator":"Exists","effect":"NoSchedule"})");
  EXPECT_EQ(tolerations.as_array().size(), 4u) << json::Write(tolerations);
  const auto refused = CreatePod("q", R"(,"tolerations":[{"operator":"Exists"}])");
  EXPECT_EQ(refused->status, 500);
  EXPECT_EQ(refused->message(),
            "pod tolerations (possibly merged with namespace default tolerations) conflict with its cluster "
            "whitelist");
  Annotate("scheduler.alpha.kubernetes.io/tolerationsWhitelist", R"([{"operator":"Exists"}])");
  EXPECT_EQ(CreatePod("q", R"(,"tolerations":[{"operator":"Exists"}])")->status, 201);
  Annotate("scheduler.alpha.kubernetes.io/tolerationsWhitelist", R"([{"key":"b"}])");
  EXPECT_NE(CreatePod("r")->message().find("conflict with its namespace whitelist"), std::string::npos);
}

struct EventLimitTest : PluginTest {
  EventLimitTest()
      : PluginTest(Enabled({"EventRateLimit"},
                           "- name: EventRateLimit\n  configuration:\n    kind: Configuration\n"
                           "    apiVersion: eventratelimit.admission.k8s.io/v1alpha1\n"
                           "    limits:\n    - {type: Namespace, qps: 1, burst: 2}\n"
                           "    - {type: Server, qps: 100, burst: 4}\n")) {}
  std::shared_ptr<Reply> Event(const std::string& name, const std::string& query = "") {
    return Do("POST", "/api/v1/namespaces/default/events" + query,
              R"({"metadata":{"name":")" + name +
                  R"("},"involvedObject":{"namespace":"default","kind":"Pod","name":"p"}})");
  }
};

TEST_F(EventLimitTest, BoundsEventsByNamespaceAndServer) {
  EXPECT_EQ(Event("dry", "?dryRun=All")->status, 201);
  EXPECT_EQ(Event("a")->status, 201);
  EXPECT_EQ(Event("b")->status, 201);
  const auto refused = Event("c");
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->message(), "Too many requests: limit reached on type Namespace for key default");
  EXPECT_EQ(refused->value()["reason"].string_or(""), "TooManyRequests");
  sim_.RunFor(std::chrono::seconds(1));
  EXPECT_EQ(Event("c")->status, 201);
}

struct OwnersTest : PluginTest {
  OwnersTest() : PluginTest(Enabled({"OwnerReferencesPermissionEnforcement"})) {
    Grant("eve",
          R"([{"apiGroups":[""],"resources":["configmaps"],"verbs":["create","update","patch","get"]}])");
  }
  static std::string Map(const std::string& name, const std::string& owner) {
    return R"({"metadata":{"name":")" + name + R"(","ownerReferences":[)" + owner + "]}}";
  }
  const User eve_{"eve", "", {}, {}};
  const std::string maps_ = "/api/v1/namespaces/default/configmaps";
};

TEST_F(OwnersTest, OwnersAreSetByThoseWhoMayDeleteAndBlockedByThoseWhoMayFinalize) {
  const std::string owner = R"("apiVersion":"apps/v1","kind":"Deployment","name":"d","uid":"1")";
  EXPECT_EQ(As(eve_, "POST", maps_, Map("free", "{" + owner + "}"))->status, 201);
  const auto blocking =
      As(eve_, "POST", maps_, Map("blocking", "{" + owner + R"(,"blockOwnerDeletion":true})"));
  EXPECT_EQ(blocking->status, 403);
  EXPECT_EQ(blocking->message(),
            "configmaps \"blocking\" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers "
            "to a resource you can't set finalizers on: , <nil>");
  EXPECT_EQ(
      As(eve_, "POST", maps_,
         Map("odd", R"({"apiVersion":"x/v1","kind":"Y","name":"d","uid":"1","blockOwnerDeletion":true})"))
          ->message(),
      "configmaps \"odd\" is forbidden: cannot set blockOwnerDeletion in this case because cannot find "
      "RESTMapping for APIVersion x/v1 Kind Y: no matches for kind \"Y\" in version \"x/v1\"");
  Do("POST", maps_, R"({"metadata":{"name":"plain"}})");
  EXPECT_EQ(
      As(eve_, "PATCH", maps_ + "/plain", Map("plain", "{" + owner + "}"), kMerge)->message(),
      "configmaps \"plain\" is forbidden: cannot set an ownerRef on a resource you can't delete: , <nil>");
  EXPECT_EQ(
      Do("PATCH", maps_ + "/plain", Map("plain", "{" + owner + R"(,"blockOwnerDeletion":true})"), kMerge)
          ->status,
      200);
}

struct PullTest : PluginTest {
  PullTest()
      : PluginTest(Enabled({"AlwaysPullImages", "ExtendedResourceToleration", "DenyServiceExternalIPs",
                            "LimitPodHardAntiAffinityTopology"})) {}
};

TEST_F(PullTest, ImagesAreAlwaysPulled) {
  const auto made = CreatePod("p", R"(,"volumes":[{"name":"v","image":{"reference":"x"}}],
      "initContainers":[{"name":"i","image":"x","imagePullPolicy":"Never"}])");
  ASSERT_EQ(made->status, 201) << made->body;
  const auto spec = made->value()["spec"];
  EXPECT_EQ(spec["containers"].as_array()[0]["imagePullPolicy"].string_or(""), "Always");
  EXPECT_EQ(spec["initContainers"].as_array()[0]["imagePullPolicy"].string_or(""), "Always");
  EXPECT_EQ(spec["volumes"].as_array()[0]["image"]["pullPolicy"].string_or(""), "Always");
}

TEST_F(PullTest, AnExtendedResourceIsTolerated) {
  const auto made = CreatePod("p", "", R"(,"resources":{"limits":{"example.com/gpu":"1"}})");
  ASSERT_EQ(made->status, 201) << made->body;
  EXPECT_EQ(json::Write(made->value()["spec"]["tolerations"].as_array().back()),
            R"({"key":"example.com/gpu","operator":"Exists","effect":"NoSchedule"})");
}

TEST_F(PullTest, ExternalIpsAndWideAntiAffinityAreDenied) {
  EXPECT_EQ(Do("POST", "/api/v1/namespaces/default/services",
               R"({"metadata":{"name":"s"},"spec":{"externalIPs":["1.2.3.4"],"ports":[{"port":80}]}})")
                ->message(),
            "services \"s\" is forbidden: Use of external IPs is denied by admission control");
  EXPECT_EQ(CreatePod("p", R"(,"affinity":{"podAntiAffinity":{
      "requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone","labelSelector":{}}]}})")
                ->message(),
            "pods \"p\" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone "
            "but only key kubernetes.io/hostname is allowed");
}

struct BoundPodsTest : PluginTest {
  BoundPodsTest() : PluginTest(Enabled({})) {
    Do("POST", "/api/v1/nodes",
       R"({"metadata":{"name":"n","labels":{"topology.kubernetes.io/zone":"z","topology.kubernetes.io/region":"r",
           "other":"o"}}})");
    Allocate(R"({"cpu":"4","memory":"1Gi"})", "[]");
  }
  void Allocate(const std::string& amounts, const std::string& features) {
    const auto set =
        Do("PATCH", "/api/v1/nodes/n/status",
           R"({"status":{"allocatable":)" + amounts + R"(,"declaredFeatures":)" + features + "}}", kMerge);
    ASSERT_EQ(set->status, 200) << set->body;
  }
  std::shared_ptr<Reply> Resize(const std::string& of_container, const std::string& of_spec = "") {
    return Do("PATCH", std::string(kPods) + "/p/resize",
              R"({"spec":{"containers":[{"name":"c")" + of_container + "}]" + of_spec + "}}",
              "application/strategic-merge-patch+json");
  }
};

TEST_F(BoundPodsTest, APodTakesOverTheTopologyOfItsNode) {
  ASSERT_EQ(CreatePod("p")->status, 201);
  const auto bound = Do("POST", std::string(kPods) + "/p/binding",
                        R"({"metadata":{"name":"p"},"target":{"kind":"Node","name":"n"}})");
  ASSERT_EQ(bound->status, 201) << bound->body;
  EXPECT_EQ(json::Write(Do("GET", std::string(kPods) + "/p")->value()["metadata"]["labels"]),
            R"({"topology.kubernetes.io/region":"r","topology.kubernetes.io/zone":"z"})");
  EXPECT_EQ(CreatePod("q", R"(,"nodeName":"n")")->value()["metadata"]["labels"].as_object().size(), 2u);
}

TEST_F(BoundPodsTest, AResizeStaysWithinItsNode) {
  ASSERT_EQ(CreatePod("p", R"(,"nodeName":"n")", R"(,"resources":{"requests":{"cpu":"1","memory":"64Mi"}})")
                ->status,
            201);
  const auto refused = Resize(R"(,"resources":{"requests":{"cpu":"5","memory":"2Gi"}})");
  EXPECT_EQ(refused->message(),
            "pods \"p\" is forbidden: node didn't have enough allocatable resources: cpu, requested: 5000, "
            "allocatable: 4000; memory, requested: 2147483648, allocatable: 1073741824");
  EXPECT_EQ(refused->value()["details"]["causes"].as_array()[0]["reason"].string_or(""), "NodeCapacity");
  EXPECT_EQ(Resize(R"(,"resources":{"requests":{"cpu":"2"}})")->status, 200);
  Do("PATCH", "/api/v1/nodes/n", R"({"metadata":{"labels":{"kubernetes.io/os":"windows"}}})", kMerge);
  EXPECT_EQ(
      Resize(R"(,"resources":{"requests":{"cpu":"1"}})")->message(),
      "pods \"p\" is forbidden: pod resize is only supported on linux nodes, node \"n\" is \"windows\"");
}

TEST_F(BoundPodsTest, AChangeThatItsNodeDoesNotKnowIsRefused) {
  ASSERT_EQ(CreatePod("p", R"(,"nodeName":"n","resources":{"requests":{"cpu":"1"}})")->status, 201);
  const std::string grow = R"(,"resources":{"requests":{"cpu":"2"}})";
  EXPECT_EQ(Resize("", grow)->message(),
            "pods \"p\" is forbidden: pod update requires features InPlacePodLevelResourcesVerticalScaling "
            "which are not available on node \"n\"");
  Allocate(R"({"cpu":"4","memory":"1Gi"})", R"(["InPlacePodLevelResourcesVerticalScaling"])");
  const auto done = Resize("", grow);
  EXPECT_EQ(done->status, 200) << done->body;
}

struct TrustTest : PluginTest {
  TrustTest() : PluginTest(Enabled({})) {
    Grant("eve", R"([{"apiGroups":["certificates.k8s.io"],"resources":["clustertrustbundles"],
        "verbs":["create","update"]}])");
  }
};

TEST_F(TrustTest, OnlyThoseWhoMayAttestWriteASignersBundle) {
  const User eve{"eve", "", {}, {}};
  const std::string bundles = "/apis/certificates.k8s.io/v1/clustertrustbundles";
  const auto authority = net::MakeCertificateAuthority("ca", sim_.clock().Now(), std::chrono::hours(1));
  const json::Value spec =
      json::Object{{"signerName", "example.com/s"}, {"trustBundle", authority->certificate_pem}};
  const json::Value bundle =
      json::Object{{"metadata", json::Object{{"name", "example.com:s:x"}}}, {"spec", spec}};
  const auto refused = As(eve, "POST", bundles, json::Write(bundle));
  EXPECT_EQ(refused->message(),
            "clustertrustbundles.certificates.k8s.io \"example.com:s:x\" is forbidden: user not permitted to "
            "attest for signerName \"example.com/s\"");
  Grant("eve", R"([{"apiGroups":["certificates.k8s.io"],"resources":["signers"],
      "resourceNames":["example.com/*"],"verbs":["attest"]}])");
  const auto made = As(eve, "POST", bundles, json::Write(bundle));
  EXPECT_EQ(made->status, 201) << made->body;
}

struct DeviceClaimTest : PluginTest {
  DeviceClaimTest() : PluginTest(Enabled({})) {
    Grant("eve", R"([{"apiGroups":["resource.k8s.io"],"resources":["resourceclaims","resourceclaims/status"],
        "verbs":["*"]}])");
    EXPECT_EQ(Do("POST", claims_, Claim("c", "false"))->status, 201);
  }
  static std::string Claim(const std::string& name, const std::string& admin) {
    return R"({"metadata":{"name":")" + name +
           R"("},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu","adminAccess":)" +
           admin + "}}]}}}";
  }
  std::shared_ptr<Reply> SetStatus(const User& user, const std::string& status) {
    return As(user, "PATCH", claims_ + "/c/status", R"({"status":)" + status + "}", kMerge);
  }
  const User eve_{"eve", "", {}, {}};
  const User admin_user_{"admin", "", {std::string(kMastersGroup)}, {}};
  const std::string claims_ = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
  const std::string allocation_ =
      R"({"allocation":{"devices":{"results":[{"request":"r","driver":"d.com","pool":"p","device":"x"}]}}})";
};

TEST_F(DeviceClaimTest, AdminAccessNeedsALabelOfTheNamespace) {
  EXPECT_EQ(
      Do("POST", claims_, Claim("a", "true"))->message(),
      "ResourceClaim.resource.k8s.io \"a\" is invalid: spec.devices.requests[0].adminAccess: Forbidden: "
      "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the "
      "containing namespace");
  const auto granted = SetStatus(admin_user_, R"({"allocation":{"devices":{"results":[{"request":"r",
      "driver":"d.com","pool":"p","device":"x","adminAccess":true}]}}})");
  EXPECT_NE(
      granted->message().find("status.allocation.devices.results[0].adminAccess: Forbidden: admin access"),
      std::string::npos)
      << granted->body;
  Do("PATCH", "/api/v1/namespaces/default",
     R"({"metadata":{"labels":{"resource.kubernetes.io/admin-access":"true"}}})", kMerge);
  EXPECT_EQ(Do("POST", claims_, Claim("a", "true"))->status, 201);
}

TEST_F(DeviceClaimTest, TheStatusIsWrittenByThoseWhoMayBindAndByDrivers) {
  EXPECT_EQ(
      SetStatus(eve_, allocation_)->message(),
      "ResourceClaim.resource.k8s.io \"c\" is invalid: status.allocation: Forbidden: changing "
      "status.allocation or status.reservedFor requires resource=\"resourceclaims/binding\", "
      "verb=\"patch\" permission: resourceclaims.resource.k8s.io is forbidden: User \"eve\" cannot patch "
      "resource \"resourceclaims/binding\" in API group \"resource.k8s.io\" at the cluster scope");
  Grant("eve",
        R"([{"apiGroups":["resource.k8s.io"],"resources":["resourceclaims/binding"],"verbs":["patch"]}])");
  const auto bound = SetStatus(eve_, allocation_);
  EXPECT_EQ(bound->status, 200) << bound->body;
  const std::string devices = R"({"devices":[{"driver":"d.com","pool":"p","device":"x"}]})";
  const auto refused = SetStatus(eve_, devices);
  EXPECT_NE(refused->message().find("status.devices: Forbidden: changing status.devices requires "
                                    "resource=\"resourceclaims/driver\", verb=\"[arbitrary-node:patch]\""),
            std::string::npos)
      << refused->body;
  Grant("eve", R"([{"apiGroups":["resource.k8s.io"],"resources":["resourceclaims/driver"],
      "resourceNames":["d.com"],"verbs":["arbitrary-node:patch"]}])");
  const auto driver = SetStatus(eve_, devices);
  EXPECT_EQ(driver->status, 200) << driver->body;
}

struct SecurityDefaultsTest : PluginTest {
  SecurityDefaultsTest()
      : PluginTest(Enabled({},
                           "- name: PodSecurity\n  configuration:\n    kind: PodSecurityConfiguration\n"
                           "    apiVersion: pod-security.admission.config.k8s.io/v1\n"
                           "    defaults: {enforce: baseline}\n"
                           "    exemptions: {namespaces: [kube-system, fresh], usernames: [root]}\n")) {}
};

TEST_F(SecurityDefaultsTest, DefaultsHoldWhereNamespacesSayNothingExceptForTheExempt) {
  const std::string host = R"(,"hostPID":true)";
  EXPECT_EQ(CreatePod("p", host)->message(),
            "pods \"p\" is forbidden: violates PodSecurity \"baseline:latest\": host namespaces "
            "(hostPID=true)");
  EXPECT_EQ(Do("POST", "/api/v1/namespaces/kube-system/pods", PodText("p", host))->status, 201);
  EXPECT_EQ(As({"root", "", {std::string(kMastersGroup)}, {}}, "POST", kPods, PodText("r", host))->status,
            201);
  const auto made = Do("POST", "/api/v1/namespaces",
                       R"({"metadata":{"name":"fresh","labels":{"pod-security.kubernetes.io/enforce":
                           "restricted"}}})");
  EXPECT_EQ(
      made->headers.Get("warning"),
      R"(299 - "namespace \"fresh\" is exempt from Pod Security, and the policy (enforce=restricted:latest) )"
      R"(will be ignored")");
}

struct LimitedTest : PluginTest {
  LimitedTest()
      : PluginTest(
            Enabled({},
                    "- name: ResourceQuota\n  configuration:\n"
                    "    kind: ResourceQuotaConfiguration\n"
                    "    apiVersion: apiserver.config.k8s.io/v1\n    limitedResources:\n"
                    "    - {resource: pods, matchContains: [requests.cpu]}\n"
                    "    - resource: pods\n"
                    "      matchScopes: [{scopeName: PriorityClass, operator: In, values: [high]}]\n")) {
    Do("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", R"({"metadata":{"name":"high"},"value":10})");
  }
};

TEST_F(LimitedTest, WhatIsLimitedNeedsAQuotaThatCoversIt) {
  EXPECT_EQ(CreatePod("free")->status, 201);
  const std::string cpu = R"(,"resources":{"requests":{"cpu":"1"}})";
  EXPECT_EQ(CreatePod("p", "", cpu)->message(),
            "pods \"p\" is forbidden: insufficient quota to consume: requests.cpu");
  const auto high = CreatePod("h", R"(,"priorityClassName":"high")");
  EXPECT_EQ(high->status, 500);
  EXPECT_EQ(high->message(), "insufficient quota to match these scopes: [{PriorityClass In [high]}]");
  Do("POST", "/api/v1/namespaces/default/resourcequotas",
     R"({"metadata":{"name":"q"},"spec":{"hard":{"requests.cpu":"5"}}})");
  Do("PATCH", "/api/v1/namespaces/default/resourcequotas/q/status",
     R"({"status":{"hard":{"requests.cpu":"5"},"used":{"requests.cpu":"0"}}})", kMerge);
  const auto made = CreatePod("p", "", cpu);
  EXPECT_EQ(made->status, 201) << made->body;
}

struct SecondsTest : PluginTest {
  SecondsTest() : PluginTest(Options()) {}
  static ApiServerOptions Options() {
    auto options = Enabled({});
    options.admission.toleration_seconds = {7, 8};
    return options;
  }
};

TEST_F(SecondsTest, DefaultTolerationsLastAsLongAsTheFlagsSay) {
  const auto tolerations = CreatePod("p")->value()["spec"]["tolerations"];
  EXPECT_EQ(tolerations.as_array()[0]["tolerationSeconds"].int_or(0), 7);
  EXPECT_EQ(tolerations.as_array()[1]["tolerationSeconds"].int_or(0), 8);
}

}  // namespace
}  // namespace flyball::server
