// Every check of the Pod Security Standards refuses what it is for, and lets pass what is next to it.
#include "api/pod_security/pod_security.h"

#include <gtest/gtest.h>

#include "api/pod_security/policy_checks.h"
#include "json/json.h"

namespace flyball::api::pod_security {
namespace {

// A pod that the restricted level allows, with more members for the pod, its container and their contexts.
struct PodText {
  std::string metadata, spec, container, pod_security, security;

  std::string Spec() const {
    return R"({"securityContext":{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"})" +
           pod_security +
           R"(},"containers":[{"name":"c","image":"i","securityContext":{"allowPrivilegeEscalation":false,
              "capabilities":{"drop":["ALL"]})" +
           security + "}" + container + "}]" + spec + "}";
  }
  std::string Judge(Level level, std::optional<int> minor = std::nullopt) const {
    const auto meta = json::Parse("{" + metadata + "}"), parsed = json::Parse(Spec());
    EXPECT_TRUE(meta && parsed) << Spec();
    return Details(Evaluate({level, minor}, *meta, *parsed));
  }
};

struct Case {
  std::string what;  // "" if it is allowed
  PodText pod;
};

void CheckAll(Level level, const std::vector<Case>& cases) {
  for (const auto& [what, pod] : cases) EXPECT_EQ(pod.Judge(level), what) << pod.Spec() << pod.metadata;
}

TEST(PodSecurityTest, TheRestrictedPodIsAllowed) {
  EXPECT_EQ(PodText().Judge(Level::kRestricted), "");
  EXPECT_EQ(PodText().Judge(Level::kBaseline), "");
}

TEST(PodSecurityTest, BaselineRefusesProfilesThatSwitchProtectionOff) {
  CheckAll(
      Level::kBaseline,
      {{R"(forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined"))",
        {.pod_security = R"(,"appArmorProfile":{"type":"Unconfined"})"}},
       {R"(forbidden AppArmor profile (container "c" must not set AppArmor profile type to "Unconfined"))",
        {.security = R"(,"appArmorProfile":{"type":"Unconfined"})"}},
       {"", {.security = R"(,"appArmorProfile":{"type":"RuntimeDefault"})"}},
       {"",
        {.metadata =
             R"("annotations":{"container.apparmor.security.beta.kubernetes.io/c":"runtime/default"})"}},
       {R"(seccompProfile (container "c" must not set securityContext.seccompProfile.type to "Unconfined"))",
        {.security = R"(,"seccompProfile":{"type":"Unconfined"})"}},
       {"", {.security = R"(,"seccompProfile":{"type":"Localhost","localhostProfile":"p"})"}},
       {R"(seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "spc_t"))",
        {.pod_security = R"(,"seLinuxOptions":{"type":"spc_t"})"}},
       {"seLinuxOptions (container \"c\" set forbidden securityContext.seLinuxOptions: user may not be set; "
        "role may "
        "not be set)",
        {.security = R"(,"seLinuxOptions":{"type":"container_t","user":"u","role":"r"})"}},
       {"", {.security = R"(,"seLinuxOptions":{"type":"container_t","level":"s0"})"}},
       {R"(procMount (container "c" must not set securityContext.procMount to "Unmasked"))",
        {.security = R"(,"procMount":"Unmasked")"}},
       {"", {.security = R"(,"procMount":"Default")"}}});
  const PodText annotated{
      .metadata = R"("annotations":{"container.apparmor.security.beta.kubernetes.io/c":"unconfined"})"};
  EXPECT_NE(annotated.Judge(Level::kBaseline).find("forbidden AppArmor profile (annotation must not set"),
            std::string::npos);
}

TEST(PodSecurityTest, BaselineRefusesTheHost) {
  CheckAll(
      Level::kBaseline,
      {{"host namespaces (hostNetwork=true)", {.spec = R"(,"hostNetwork":true)"}},
       {"host namespaces (hostPID=true)", {.spec = R"(,"hostPID":true)"}},
       {"host namespaces (hostIPC=true)", {.spec = R"(,"hostIPC":true)"}},
       {"", {.spec = R"(,"hostPID":false)"}},
       {R"(hostPath volumes (volume "v"))", {.spec = R"(,"volumes":[{"name":"v","hostPath":{"path":"/"}}])"}},
       {R"(hostPort (container "c" uses hostPort 80))",
        {.container = R"(,"ports":[{"containerPort":1,"hostPort":80}])"}},
       {"", {.container = R"(,"ports":[{"containerPort":80}])"}},
       {R"(probe or lifecycle host (container "c" uses probe or lifecycle host "h"))",
        {.container = R"(,"livenessProbe":{"httpGet":{"host":"h","port":1}})"}},
       {R"(probe or lifecycle host (container "c" uses probe or lifecycle host "h"))",
        {.container = R"(,"lifecycle":{"preStop":{"tcpSocket":{"host":"h","port":1}}})"}},
       {"", {.container = R"(,"livenessProbe":{"httpGet":{"port":1}})"}},
       {R"(privileged (container "c" must not set securityContext.privileged=true))",
        {.security = R"(,"privileged":true)"}},
       {R"(hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true))",
        {.pod_security = R"(,"windowsOptions":{"hostProcess":true})"}},
       {"forbidden sysctls (kernel.msgmax)",
        {.pod_security = R"(,"sysctls":[{"name":"kernel.msgmax","value":"1"}])"}},
       {"", {.pod_security = R"(,"sysctls":[{"name":"net.ipv4.tcp_syncookies","value":"1"}])"}}});
}

TEST(PodSecurityTest, EveryContainerCounts) {
  const std::string privileged = R"([{"name":"x","image":"i","securityContext":{"privileged":true}}])";
  for (const std::string list : {"initContainers", "ephemeralContainers"}) {
    const PodText pod{.spec = R"(,")" + list + R"(":)" + privileged};
    EXPECT_EQ(pod.Judge(Level::kBaseline),
              R"(privileged (container "x" must not set securityContext.privileged=true))");
  }
}

TEST(PodSecurityTest, BaselineRefusesCapabilitiesBeyondTheDefault) {
  const auto adding = [](const std::string& capability) {
    return R"({"containers":[{"name":"c","image":"i","securityContext":{"capabilities":{"add":[")" +
           capability + R"("]}}}]})";
  };
  const auto judge = [&](const std::string& capability) {
    return Details(Evaluate({Level::kBaseline, {}}, json::Object{}, *json::Parse(adding(capability))));
  };
  EXPECT_EQ(judge("SYS_ADMIN"),
            "non-default capabilities (container \"c\" must not include \"SYS_ADMIN\" in "
            "securityContext.capabilities.add)");
  EXPECT_EQ(judge("CHOWN"), "");
}

TEST(PodSecurityTest, RestrictedAsksForWhatBaselineDoesNot) {
  const auto judge = [](const std::string& pod_security, const std::string& security,
                        const std::string& volumes) {
    const auto spec = json::Parse(R"({"securityContext":{)" + pod_security +
                                  R"(},"containers":[{"name":"c","image":"i","securityContext":{)" +
                                  security + R"(}}],"volumes":[)" + volumes + "]}");
    return Details(Evaluate({Level::kRestricted, {}}, json::Object{}, *spec));
  };
  const std::string good_pod = R"("runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"})";
  const std::string good = R"("allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]})";
  EXPECT_EQ(judge(good_pod, good, ""), "");
  EXPECT_EQ(judge(good_pod, R"("capabilities":{"drop":["ALL"]})", ""),
            "allowPrivilegeEscalation != false (container \"c\" must set "
            "securityContext.allowPrivilegeEscalation=false)");
  EXPECT_EQ(
      judge(good_pod, R"("allowPrivilegeEscalation":false)", ""),
      "unrestricted capabilities (container \"c\" must set securityContext.capabilities.drop=[\"ALL\"])");
  EXPECT_EQ(judge(good_pod,
                  R"("allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"],"add":["CHOWN"]})", ""),
            "unrestricted capabilities (container \"c\" must not include \"CHOWN\" in "
            "securityContext.capabilities.add)");
  EXPECT_EQ(judge(good_pod, good, R"({"name":"v","nfs":{"server":"s","path":"/"}})"),
            "restricted volume types (volume \"v\" uses restricted volume type \"nfs\")");
  EXPECT_EQ(judge(good_pod, good, R"({"name":"v","emptyDir":{}})"), "");
  EXPECT_EQ(judge(R"("seccompProfile":{"type":"RuntimeDefault"})", good, ""),
            "runAsNonRoot != true (pod or container \"c\" must set securityContext.runAsNonRoot=true)");
  EXPECT_EQ(judge(good_pod, good + R"(,"runAsNonRoot":false)", ""),
            "runAsNonRoot != true (container \"c\" must not set securityContext.runAsNonRoot=false)");
  EXPECT_EQ(judge(good_pod + R"(,"runAsUser":0)", good, ""), "runAsUser=0 (pod must not set runAsUser=0)");
  EXPECT_EQ(judge(R"("runAsNonRoot":true)", good, ""),
            "seccompProfile (pod or container \"c\" must set securityContext.seccompProfile.type to "
            "\"RuntimeDefault\" or \"Localhost\")");
  EXPECT_EQ(judge(R"("runAsNonRoot":true,"seccompProfile":{"type":"Unconfined"})", good, ""),
            "seccompProfile (pod must not set securityContext.seccompProfile.type to \"Unconfined\")");
}

// Whoever adds a check adds its violation to this file.
TEST(PodSecurityTest, NoCheckIsForgotten) {
  EXPECT_EQ(BaselineChecks().size(), 12u);
  EXPECT_EQ(RestrictedChecks().size(), 6u);
}

}  // namespace
}  // namespace flyball::api::pod_security
