#include "server/webhook/webhook_target.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "net/tls/pki.h"

namespace flyball::server {
namespace {

// PEM text in base64; nothing but white space is as good as nothing.
std::string CaBundle(const json::Value& encoded) {
  auto pem = net::Base64Decode(encoded.string_or(""));
  if (!pem || pem->find_first_not_of(" \t\r\n") == std::string::npos) return {};
  return std::move(*pem);
}

// As client-go asks for it (upstream: path.Join): one slash between parts and none at the end, "." and ".."
// resolved. envtest makes URLs that begin with two.
std::string CleanPath(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const auto part = path.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (part != "..")
      parts.push_back(part);
    else if (!parts.empty())
      parts.pop_back();
  }
  std::string out;
  for (const auto part : parts) out.append("/").append(part);
  return out.empty() ? "/" : out;
}

std::string WithCleanPath(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return std::string(url);
  const std::size_t path = std::min(url.find('/', scheme + 3), url.size());
  return std::string(url.substr(0, path)) + CleanPath(url.substr(path));
}

}  // namespace

WebhookTarget WebhookTarget::FromClientConfig(const json::Value& client_config) {
  WebhookTarget target;
  target.ca_pem = CaBundle(client_config["caBundle"]);
  target.url = WithCleanPath(client_config["url"].string_or(""));
  if (const auto& from = client_config["service"]; from.is_object())
    target.service = {std::string(from["namespace"].string_or("")), std::string(from["name"].string_or("")),
                      CleanPath(from["path"].string_or("")), static_cast<int>(from["port"].int_or(443))};
  return target;
}

std::string WebhookTarget::ShownUrl() const {
  if (!service) return url;
  return "https://" + service->ServerName() + ":" + std::to_string(service->port) + service->path;
}

}  // namespace flyball::server
