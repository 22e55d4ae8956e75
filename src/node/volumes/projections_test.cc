// What projected volumes hold: trust bundles, pod certificates, amounts of resources.
#include <gtest/gtest.h>

#include "api/types/certificates.h"
#include "net/tls/pki.h"
#include "node/testing/api_fixture.h"
#include "node/volumes/pod_certificates.h"
#include "node/volumes/pod_fields.h"
#include "node/volumes/trust_bundles.h"
#include "node/volumes/volume_content.h"

namespace flyball::node {
namespace {

using namespace std::chrono_literals;

constexpr char kSigner[] = "example.com/signer";

class ProjectionsTest : public ApiTest {
 protected:
  std::string Authority(const std::string& name) {
    return net::MakeCertificateAuthority(name, executor_.clock().Now(), 24h)->certificate_pem;
  }
  void AddBundle(const std::string& name, const std::string& pem, const std::string& label) {
    const auto made =
        client_.Dynamic({"certificates.k8s.io", "v1", "ClusterTrustBundle", "clustertrustbundles", false})
            .Create(json::Object{
                {"apiVersion", "certificates.k8s.io/v1"},
                {"kind", "ClusterTrustBundle"},
                {"metadata", json::Object{{"name", name}, {"labels", json::Object{{"in", label}}}}},
                {"spec", json::Object{{"signerName", kSigner}, {"trustBundle", "# comment\n" + pem}}}});
    ASSERT_TRUE(made) << made.error().ToString();
  }
  static ClusterTrustBundleProjection Named(const std::string& name, bool optional = false) {
    return {.name = name, .path = "ca.pem", .optional = optional};
  }
  static ClusterTrustBundleProjection Selected(api::Optional<LabelSelector> selector, bool optional = false) {
    return {.signer_name = kSigner, .label_selector = selector, .path = "ca.pem", .optional = optional};
  }

  Pod MakePod() {
    Create(ServiceAccount{.metadata = {.name = "sa", .namespace_ = "default"}});
    Create(Node{.metadata = {.name = "n1"}});
    Pod pod{.metadata = {.name = "p", .namespace_ = "default"}};
    pod.spec.node_name = "n1";
    pod.spec.service_account_name = "sa";
    pod.spec.containers = {{.name = "c", .image = "img"}};
    return Create(pod);
  }
  std::vector<PodCertificateRequest> Requests() {
    const auto all = client_.List<PodCertificateRequest>("default");
    EXPECT_TRUE(all) << all.error().ToString();
    return all ? all->items : std::vector<PodCertificateRequest>();
  }
  void Decide(PodCertificateRequest request, const std::string& type) {
    const TimePoint now = executor_.clock().Now();
    request.status.conditions = {{.type = type,
                                  .status = "True",
                                  .last_transition_time = api::Time::From(now),
                                  .reason = "Because",
                                  .message = "as told"}};
    if (type == "Issued") {
      const std::string csr = "-----BEGIN CERTIFICATE REQUEST-----\n" +
                              net::Base64Encode(request.spec.stub_pkcs10_request) +
                              "\n-----END CERTIFICATE REQUEST-----\n";
      const auto signed_pem = net::SignCertificateRequest(*net::MakeCertificateAuthority("ca", now, 48h), csr,
                                                          {.not_before = now, .not_after = now + 24h});
      ASSERT_TRUE(signed_pem) << signed_pem.error().ToString();
      request.status.certificate_chain = *signed_pem;
      request.status.not_before = api::Time::From(now);
      request.status.begin_refresh_at = api::Time::From(now + 12h);
      request.status.not_after = api::Time::From(now + 24h);
    }
    const auto written = client_.UpdateStatus(request);
    ASSERT_TRUE(written) << written.error().ToString();
  }
};

TEST_F(ProjectionsTest, TrustBundleByNameHasNoComments) {
  const std::string pem = Authority("a");
  AddBundle("example.com:signer:a", pem, "x");
  const auto found = TrustAnchorsOf(client_, Named("example.com:signer:a"));
  ASSERT_TRUE(found) << found.error().ToString();
  EXPECT_EQ(*found, pem);
}

TEST_F(ProjectionsTest, TrustBundlesOfASignerAreMerged) {
  const std::string a = Authority("a"), b = Authority("b");
  AddBundle("example.com:signer:a", a, "x");
  AddBundle("example.com:signer:ab", a + b, "x");
  AddBundle("example.com:signer:b", b, "y");
  EXPECT_EQ(TrustAnchorsOf(client_, Selected(LabelSelector{}))->size(), a.size() + b.size());
  EXPECT_EQ(*TrustAnchorsOf(client_, Selected(LabelSelector{.match_labels = {{"in", "y"}}})), b);
}

TEST_F(ProjectionsTest, MissingTrustBundlesAreErrorsUnlessOptional) {
  AddBundle("example.com:signer:a", Authority("a"), "x");
  EXPECT_TRUE(TrustAnchorsOf(client_, Named("none")).error().Is(Reason::kNotFound));
  EXPECT_EQ(*TrustAnchorsOf(client_, Named("none", true)), "");
  // No selector selects nothing.
  EXPECT_EQ(TrustAnchorsOf(client_, Selected({})).error().message(),
            "combination of signerName and labelSelector matched zero ClusterTrustBundles");
  EXPECT_EQ(*TrustAnchorsOf(client_, Selected({}, true)), "");
}

TEST_F(ProjectionsTest, CertificateIsAskedForOnceAndRenewed) {
  const Pod pod = MakePod();
  PodCertificates certificates(client_, "n1");
  const PodCertificateProjection wanted{.signer_name = kSigner, .key_type = "ECDSAP256"};
  const auto get = [&] { return certificates.Get(pod, "v", 0, wanted); };
  for (int i = 0; i < 2; ++i) EXPECT_EQ(get().error().message(), "credential bundle is not issued yet");
  ASSERT_EQ(Requests().size(), 1u);
  EXPECT_EQ(Requests()[0].spec.pod_uid, pod.metadata.uid);
  EXPECT_EQ(Requests()[0].spec.node_name, "n1");
  EXPECT_EQ(Requests()[0].metadata.owner_references.at(0).uid, pod.metadata.uid);
  Decide(Requests()[0], "Issued");

  const auto first = get();
  ASSERT_TRUE(first) << first.error().ToString();
  EXPECT_TRUE(net::IsKeyOf(first->key, first->certificates));
  EXPECT_EQ(get()->key, first->key);
  EXPECT_EQ(Requests().size(), 1u);

  executor_.RunFor(13h);
  EXPECT_EQ(get()->key, first->key) << "until the next one is issued";
  for (const PodCertificateRequest& request : Requests())
    if (request.status.conditions.empty()) Decide(request, "Issued");
  EXPECT_NE(get()->key, first->key);
}

TEST_F(ProjectionsTest, DeniedCertificateIsNotAskedForAgain) {
  const Pod pod = MakePod();
  PodCertificates certificates(client_, "n1");
  const PodCertificateProjection wanted{.signer_name = kSigner, .key_type = "ED25519"};
  EXPECT_FALSE(certificates.Get(pod, "v", 0, wanted));
  ASSERT_EQ(Requests().size(), 1u);
  Decide(Requests()[0], "Denied");
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(certificates.Get(pod, "v", 0, wanted).error().message(),
              "PodCertificateRequest was permanently denied: reason=\"Because\" message=\"as told\"");
  EXPECT_EQ(Requests().size(), 1u);
}

TEST_F(ProjectionsTest, PrivateFilesBelongToTheUserOfAllContainers) {
  AddBundle("example.com:signer:a", Authority("a"), "x");
  Pod pod{.metadata = {.name = "p", .namespace_ = "default"}};
  pod.spec.containers = {{.name = "c"}, {.name = "d"}};
  const Volume volume{.name = "v",
                      .projected = ProjectedVolumeSource{
                          .sources = {{.cluster_trust_bundle = Named("example.com:signer:a")}}}};
  PodCertificates certificates(client_, "n1");
  const NodeAllocatable none;
  const ContentSources sources{client_, certificates, none, {}};
  const auto file = [&] { return ContentOf(sources, pod, volume, "/nowhere")->at("ca.pem"); };
  EXPECT_EQ(file().mode, 0644u);
  EXPECT_FALSE(file().owner);
  pod.spec.security_context = PodSecurityContext{.run_as_user = 1000};
  EXPECT_EQ(file().mode, 0600u);
  EXPECT_EQ(file().owner, 1000u);
  pod.spec.containers[1].security_context = SecurityContext{.run_as_user = 2000};
  EXPECT_EQ(file().mode, 0644u);
}

TEST(PodFieldsTest, ContainersWithoutLimitMayUseTheWholeNode) {
  const NodeAllocatable node = {{"cpu", *api::Quantity::Parse("3500m")}, {"memory", api::Quantity(1000)}};
  Container container{.name = "c"};
  const auto value = [&](const char* resource, const char* divisor) {
    return ResourceValue(container, {.resource = resource, .divisor = *api::Quantity::Parse(divisor)}, node);
  };
  EXPECT_EQ(value("limits.cpu", "1"), "4");
  EXPECT_EQ(value("limits.cpu", "1m"), "3500");
  EXPECT_EQ(value("requests.cpu", "1"), "0");
  container.resources.limits["cpu"] = *api::Quantity::Parse("1200m");
  EXPECT_EQ(value("limits.cpu", "1"), "2");
  EXPECT_EQ(value("limits.memory", "1"), "1000");
}

}  // namespace
}  // namespace flyball::node
