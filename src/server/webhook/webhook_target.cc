#include "server/webhook/webhook_target.h"

#include "net/tls/pki.h"

namespace flyball::server {
namespace {

// PEM text in base64; nothing but white space is as good as nothing.
std::string CaBundle(const json::Value& encoded) {
  auto pem = net::Base64Decode(encoded.string_or(""));
  if (!pem || pem->find_first_not_of(" \t\r\n") == std::string::npos) return {};
  return std::move(*pem);
}

std::string WithSlash(std::string path) {
  return path.starts_with('/') ? path : "/" + path;
}

}  // namespace

WebhookTarget WebhookTarget::FromClientConfig(const json::Value& client_config) {
  WebhookTarget target;
  target.ca_pem = CaBundle(client_config["caBundle"]);
  target.url = client_config["url"].string_or("");
  if (const auto& from = client_config["service"]; from.is_object())
    target.service = {std::string(from["namespace"].string_or("")), std::string(from["name"].string_or("")),
                      WithSlash(std::string(from["path"].string_or(""))),
                      static_cast<int>(from["port"].int_or(443))};
  return target;
}

std::string WebhookTarget::ShownUrl() const {
  if (!service) return url;
  return "https://" + service->ServerName() + ":" + std::to_string(service->port) + service->path;
}

}  // namespace flyball::server
