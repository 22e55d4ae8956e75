#include "allowing_webhook.h"

#include "base/run/clock.h"
#include "net/tls/pki.h"

namespace flyball::bench {
namespace {

Task<void> Allow(std::shared_ptr<net::Request> request, std::shared_ptr<net::ResponseStream> stream) {
  constexpr std::string_view kUid = "\"uid\":\"";
  const auto at = request->body.find(kUid) + kUid.size();
  const std::string uid = request->body.substr(at, request->body.find('"', at) - at);
  stream->Send(200, {{"content-type", "application/json"}},
               R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":")" + uid +
                   R"(","allowed":true}})");
  co_return;
}

}  // namespace

AllowingWebhook::AllowingWebhook() {
  constexpr Duration kDay = std::chrono::hours(24);
  const TimePoint now = RealClock().Now();
  const auto authority = *net::MakeCertificateAuthority("webhook-ca", now, kDay);
  const auto pair = *net::IssueCertificate(
      authority, {.common_name = "webhook", .ip_addresses = {"127.0.0.1"}, .server = true}, now, kDay);
  ca_pem_ = authority.certificate_pem;
  const net::ServerTls tls{pair.certificate_pem, pair.private_key_pem, ""};
  net::ServerOptions options;
  options.tls = &tls;
  server_ = std::move(*net::HttpServer::Start(options, &Allow));
}

std::string AllowingWebhook::Configuration(const std::string& name, const std::string& namespace_name) const {
  return R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":")" +
         name +
         R"("},"webhooks":[{"name":"bench.example.com","admissionReviewVersions":["v1"],"sideEffects":"None",)" +
         R"("namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":")" + namespace_name +
         R"("}},)" +
         R"("rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}],)" +
         R"("clientConfig":{"url":"https://127.0.0.1:)" + std::to_string(server_->port()) +
         R"(/allow","caBundle":")" + net::Base64Encode(ca_pem_) + "\"}}]}";
}

}  // namespace flyball::bench
