#include "api/types/certificates.h"

#include "api/types/rbac.h"
#include "controllers/certificates/certificate_request.h"
#include "controllers/certificates/signing_controller.h"
#include "controllers/testing/control_plane_test.h"
#include "flyball/pki.h"
#include "net/tls/authorities.h"

namespace flyball::controllers {
namespace {

using Csr = CertificateSigningRequest;
constexpr Duration kYear = std::chrono::hours(24 * 365);
const std::vector<std::string> kClientUsages = {"digital signature", "client auth"};

class CertificatesTest : public ::testing::Test {
 protected:
  void Start(std::vector<std::string> enabled, Duration longest = kYear) {
    authority_ = *net::MakeCertificateAuthority("ca", plane_.executor.clock().Now(), 10 * kYear);
    ControllersOptions options;
    options.enabled = std::move(enabled);
    options.certificate_signing.duration = longest;
    for (const auto signer :
         {kApiServerClientSigner, kKubeletClientSigner, kKubeletServingSigner, kLegacyUnknownSigner})
      options.certificate_signing.authorities[std::string(signer)] = FixedAuthority(authority_);
    plane_.StartControllers(options);
  }
  Client As(const std::string& name, const std::vector<std::string>& groups) {
    return Client(
        std::make_shared<RestClient>(plane_.server->InProcess({name, "", groups, {}}), plane_.runtime));
  }
  void Ask(const Client& client, const std::string& name, std::string_view signer,
           const net::CertificateRequest& wanted, const std::vector<std::string>& usages = kClientUsages,
           std::optional<std::int32_t> seconds = {}) {
    Csr csr;
    csr.metadata.name = name;
    csr.spec.request = net::MakeCertificateRequest(wanted)->request_pem;
    csr.spec.signer_name = signer;
    csr.spec.usages = usages;
    csr.spec.expiration_seconds = seconds;
    const auto made = client.Create(csr);
    ASSERT_TRUE(made) << made.error().ToString();
    plane_.Run(5s);
  }
  void Ask(const std::string& name, std::string_view signer, const net::CertificateRequest& wanted,
           const std::vector<std::string>& usages = kClientUsages, std::optional<std::int32_t> seconds = {}) {
    Ask(*plane_.client, name, signer, wanted, usages, seconds);
  }
  // As kubectl certificate approve and deny do.
  void Decide(const std::string& name, const std::string& type) {
    Csr csr = Get(name);
    CertificateSigningRequestCondition condition;
    condition.type = type;
    condition.status = "True";
    condition.reason = "KubectlApprove";
    csr.status.conditions.push_back(condition);
    WriteParams params;
    params.subresource = "approval";
    const auto written = plane_.client->Update(csr, params);
    ASSERT_TRUE(written) << written.error().ToString();
    plane_.Run(5s);
  }
  Csr Get(const std::string& name) { return plane_.Get<Csr>("", name); }
  std::string FailureOf(const std::string& name) {
    for (const auto& c : Get(name).status.conditions)
      if (c.type == "Failed") return c.reason + ": " + c.message;
    return "";
  }
  void Bind(const std::string& name, const std::string& role, const std::string& group) {
    plane_.Create("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: '" +
                  name + "'}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: '" +
                  role + "'}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: '" + group +
                  "'}]}");
  }

  testing::ControlPlane plane_;
  net::KeyPair authority_;
};

const net::CertificateRequest kNode{.common_name = "system:node:n1", .organizations = {"system:nodes"}};

TEST_F(CertificatesTest, AnApprovedRequestGetsACertificateThatItsAuthorityVouchesFor) {
  Start({"csrsigning", "certificatesigningrequest-signing-controller"});
  Ask("jane", kApiServerClientSigner, {.common_name = "jane", .organizations = {"dev"}});
  EXPECT_TRUE(Get("jane").status.certificate.empty());
  Decide("jane", "Approved");
  const Csr csr = Get("jane");
  const auto info = net::ParseCertificate(csr.status.certificate);
  ASSERT_TRUE(info) << info.error().ToString();
  EXPECT_EQ(info->common_name, "jane");
  EXPECT_EQ(info->organizations, std::vector<std::string>{"dev"});
  EXPECT_TRUE((*net::CertificateAuthorities::Parse(authority_.certificate_pem))
                  ->VerifyClient(**net::PeerCertificates::Parse(csr.status.certificate),
                                 plane_.executor.clock().Now()));
  EXPECT_TRUE(csr.status.conditions.at(0).last_update_time);
  EXPECT_TRUE(csr.status.conditions.at(0).last_transition_time);
}

TEST_F(CertificatesTest, DeniedUndecidedAndForeignRequestsAreNotSigned) {
  Start({"certificatesigningrequest-signing-controller"});
  const net::CertificateRequest wanted{.common_name = "jane"};
  Ask("undecided", kApiServerClientSigner, wanted);
  Ask("denied", kApiServerClientSigner, wanted);
  Decide("denied", "Denied");
  Ask("foreign", "example.com/signer", wanted);
  Decide("foreign", "Approved");
  plane_.Run(1min);
  for (const auto name : {"undecided", "denied", "foreign"})
    EXPECT_TRUE(Get(name).status.certificate.empty()) << name;
}

TEST_F(CertificatesTest, LastsAsLongAsAskedForWithinTheLimits) {
  Start({"certificatesigningrequest-signing-controller"}, std::chrono::hours(24));
  const auto lifetime = [&](const std::string& name, std::optional<std::int32_t> seconds) {
    Ask(name, kApiServerClientSigner, {.common_name = "jane"}, kClientUsages, seconds);
    const TimePoint now = plane_.executor.clock().Now();
    Decide(name, "Approved");
    const auto info = net::ParseCertificate(Get(name).status.certificate);
    EXPECT_LE(info->not_before, now - 4min);
    return std::chrono::round<std::chrono::minutes>(info->not_after - now).count();
  };
  EXPECT_EQ(lifetime("short", 600), 10);
  EXPECT_EQ(lifetime("hours", 3600), 60);
  EXPECT_EQ(lifetime("too-long", 86400 * 30), 24 * 60 - 5);
  EXPECT_EQ(lifetime("unsaid", std::nullopt), 24 * 60 - 5);
}

TEST(CertificateTermsTest, EndWithTheAuthority) {
  const TimePoint now{std::chrono::hours(24 * 365 * 50)};
  EXPECT_EQ(TermsFor(kYear, now, now + 1h)->not_after, now + 1h);
  EXPECT_EQ(TermsFor(1h, now, now + kYear)->not_after, now + 1h);
  EXPECT_EQ(TermsFor(8h, now, now + kYear)->not_after, now + 8h - 5min);
  EXPECT_EQ(TermsFor(1h, now, now + kYear)->not_before, now - 5min);
  EXPECT_FALSE(TermsFor(kYear, now, now));
}

TEST_F(CertificatesTest, RequestsThatDoNotFitTheirSignerFailWithTheReason) {
  Start({"certificatesigningrequest-signing-controller"});
  Ask("serving-as-client", kApiServerClientSigner, {.common_name = "x"}, {"server auth"});
  Decide("serving-as-client", "Approved");
  EXPECT_EQ(FailureOf("serving-as-client"),
            "SignerValidationFailure: invalid usage for client certificate: server auth");
  EXPECT_TRUE(Get("serving-as-client").status.certificate.empty());
  Ask("no-node", kKubeletClientSigner, {.common_name = "x", .organizations = {"system:nodes"}});
  Decide("no-node", "Approved");
  EXPECT_EQ(FailureOf("no-node"),
            "SignerValidationFailure: subject common name does not begin with system:node:");
}

TEST(SignerRulesTest, EachRefusalOfEachSigner) {
  const std::vector<std::string> client = {"client auth", "digital signature", "key encipherment"};
  const std::vector<std::string> serving = {"server auth", "digital signature", "key encipherment"};
  const auto problem = [](std::string_view signer, net::CertificateRequestInfo request,
                          std::vector<std::string> usages) { return SignerProblem(signer, request, usages); };
  const std::string node = "system:node:n1";
  const std::vector<std::string> nodes = {"system:nodes"};
  const auto c = kKubeletClientSigner, s = kKubeletServingSigner, a = kApiServerClientSigner;
  EXPECT_EQ(problem(c, {node, nodes, {}, {}, {}, {}}, client), "");
  EXPECT_EQ(problem(c, {node, nodes, {}, {}, {}, {}}, {"client auth", "digital signature"}), "");
  EXPECT_EQ(problem(c, {node, {"system:nodes", "system:masters"}, {}, {}, {}, {}}, client),
            "subject organization is not system:nodes");
  EXPECT_EQ(problem(c, {node, nodes, {"a"}, {}, {}, {}}, client), "DNS subjectAltNames are not allowed");
  EXPECT_EQ(problem(c, {node, nodes, {}, {"1.1.1.1"}, {}, {}}, client), "IP subjectAltNames are not allowed");
  EXPECT_EQ(problem(c, {node, nodes, {}, {}, {"a@b"}, {}}, client), "Email subjectAltNames are not allowed");
  EXPECT_EQ(problem(c, {node, nodes, {}, {}, {}, {"u:r"}}, client), "URI subjectAltNames are not allowed");
  EXPECT_EQ(problem(c, {"jane", nodes, {}, {}, {}, {}}, client),
            "subject common name does not begin with system:node:");
  EXPECT_EQ(problem(c, {node, nodes, {}, {}, {}, {}}, serving),
            "usages did not match [client auth digital signature key encipherment]");
  EXPECT_EQ(problem(s, {node, nodes, {"n1"}, {}, {}, {}}, serving), "");
  EXPECT_EQ(problem(s, {node, {}, {"n1"}, {}, {}, {}}, serving), "subject organization is not system:nodes");
  EXPECT_EQ(problem(s, {node, nodes, {}, {}, {}, {}}, serving), "DNS or IP subjectAltName is required");
  EXPECT_EQ(problem(s, {node, nodes, {"n1"}, {}, {"a@b"}, {}}, serving),
            "Email subjectAltNames are not allowed");
  EXPECT_EQ(problem(s, {node, nodes, {"n1"}, {}, {}, {"u:r"}}, serving),
            "URI subjectAltNames are not allowed");
  EXPECT_EQ(problem(s, {"jane", nodes, {"n1"}, {}, {}, {}}, serving),
            "subject common name does not begin with system:node:");
  EXPECT_EQ(problem(s, {node, nodes, {"n1"}, {}, {}, {}}, client),
            "usages did not match [digital signature key encipherment server auth]");
  EXPECT_EQ(problem(a, {"jane", {}, {}, {}, {}, {}}, client), "");
  EXPECT_EQ(problem(a, {"jane", {}, {}, {}, {}, {}}, {"digital signature"}),
            "missing required usage for client certificate: client auth");
  EXPECT_EQ(problem(kLegacyUnknownSigner, {"x", {}, {}, {}, {}, {}}, {"cert sign"}), "");
  EXPECT_NE(problem("example.com/x", {"x", {}, {}, {}, {}, {}}, client), "");
  EXPECT_FALSE(ParseUsages({"client auth", "nonsense"}));
}

TEST_F(CertificatesTest, AJoiningNodeIsApprovedIfItsTokenMayAskForNodes) {
  Start({"certificatesigningrequest-approving-controller", "certificatesigningrequest-signing-controller"});
  Bind("bootstrappers", "system:node-bootstrapper", "system:bootstrappers");
  const Client joining = As("system:bootstrap:abcdef", {"system:bootstrappers", "system:authenticated"});
  Ask(joining, "early", kKubeletClientSigner, kNode);
  EXPECT_TRUE(Get("early").status.conditions.empty());
  Bind("autoapprove", "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
       "system:bootstrappers");
  // A request that came too early is checked again.
  plane_.Run(10min);
  const Csr csr = Get("early");
  ASSERT_EQ(csr.status.conditions.size(), 1u);
  EXPECT_EQ(csr.status.conditions[0].type, "Approved");
  EXPECT_EQ(csr.status.conditions[0].reason, "AutoApproved");
  EXPECT_EQ(csr.status.conditions[0].message,
            "Auto approving kubelet client certificate after SubjectAccessReview.");
  EXPECT_FALSE(csr.status.certificate.empty());
}

TEST_F(CertificatesTest, ANodeRenewsItsOwnCertificateAndNobodyElses) {
  Start({"certificatesigningrequest-approving-controller"});
  Bind("renew", "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", "system:nodes");
  const Client node = As("system:node:n1", {"system:nodes", "system:authenticated"});
  Ask(node, "own", kKubeletClientSigner, kNode);
  ASSERT_EQ(Get("own").status.conditions.size(), 1u);
  EXPECT_EQ(Get("own").status.conditions[0].message,
            "Auto approving self kubelet client certificate after SubjectAccessReview.");
  Ask(node, "other", kKubeletClientSigner,
      {.common_name = "system:node:n2", .organizations = {"system:nodes"}});
  Ask(node, "user", kApiServerClientSigner, {.common_name = "jane"});
  Ask(node, "more", kKubeletClientSigner,
      {.common_name = "system:node:n1", .organizations = {"system:nodes", "system:masters"}});
  plane_.Run(1min);
  for (const auto name : {"other", "user", "more"}) EXPECT_TRUE(Get(name).status.conditions.empty()) << name;
}

TEST_F(CertificatesTest, AServingCertificateIsApprovedForTheNodesOwnAddressesOnly) {
  // Not among upstream's roles, whose controllers do not approve these.
  plane_.Create(R"({apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: approver},
                    rules: [{apiGroups: [certificates.k8s.io], resources: [signers], verbs: [approve],
                             resourceNames: [kubernetes.io/kubelet-serving]}]})");
  plane_.Create(
      R"({apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: approver},
                    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: approver},
                    subjects: [{kind: ServiceAccount, name: certificate-controller, namespace: kube-system}]})");
  Start({"kubelet-serving-certificate-approving-controller"});
  plane_.Create(R"({apiVersion: v1, kind: Node, metadata: {name: n1},
                    status: {addresses: [{type: InternalIP, address: 10.0.0.1}]}})");
  const Client node = As("system:node:n1", {"system:nodes", "system:authenticated"});
  const std::vector<std::string> usages = {"digital signature", "server auth"};
  const auto request = [](std::string name, std::vector<std::string> ips) {
    return net::CertificateRequest{.common_name = std::move(name),
                                   .organizations = {"system:nodes"},
                                   .dns_names = {"n1"},
                                   .ip_addresses = std::move(ips)};
  };
  Ask(node, "own", kKubeletServingSigner, request("system:node:n1", {"10.0.0.1"}), usages);
  Ask(node, "address", kKubeletServingSigner, request("system:node:n1", {"10.0.0.1", "10.0.0.2"}), usages);
  Ask(node, "node", kKubeletServingSigner, request("system:node:n2", {"10.0.0.1"}), usages);
  Ask("sender", kKubeletServingSigner, request("system:node:n1", {"10.0.0.1"}), usages);
  plane_.Run(1min);
  EXPECT_TRUE(HasCondition(Get("own"), "Approved"));
  for (const auto name : {"address", "node", "sender"})
    EXPECT_TRUE(Get(name).status.conditions.empty()) << name;
}

TEST_F(CertificatesTest, OldRequestsAreCleanedAway) {
  Start({"certificatesigningrequest-signing-controller", "certificatesigningrequest-cleaner-controller"});
  const net::CertificateRequest wanted{.common_name = "jane"};
  for (const auto name : {"pending", "denied", "issued", "failed", "unissued"})
    Ask(name, name == std::string("unissued") ? "example.com/signer" : kApiServerClientSigner, wanted,
        name == std::string("failed") ? std::vector<std::string>{"server auth"} : kClientUsages);
  Decide("denied", "Denied");
  for (const auto name : {"issued", "failed", "unissued"}) Decide(name, "Approved");
  const auto left = [&] {
    std::vector<std::string> names;
    for (const Csr& csr : plane_.List<Csr>()) names.push_back(csr.metadata.name);
    return names;
  };
  plane_.Run(50min);
  EXPECT_EQ(left().size(), 5u);
  plane_.Run(15min);
  EXPECT_EQ(left(), (std::vector<std::string>{"pending", "unissued"}));
  plane_.Run(22h);
  EXPECT_EQ(left().size(), 2u);
  plane_.Run(2h);
  EXPECT_TRUE(left().empty());
}

TEST_F(CertificatesTest, ARequestGoesWhenItsCertificateExpires) {
  Start({"certificatesigningrequest-signing-controller", "certificatesigningrequest-cleaner-controller"});
  Ask("short", kApiServerClientSigner, {.common_name = "jane"}, kClientUsages, 600);
  Decide("short", "Approved");
  plane_.Run(9min);
  EXPECT_TRUE(plane_.Exists<Csr>("", "short"));
  plane_.Run(2min);
  EXPECT_FALSE(plane_.Exists<Csr>("", "short"));
}

}  // namespace
}  // namespace flyball::controllers
