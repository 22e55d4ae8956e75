#include "server/certificate_files.h"

#include "base/files/durable_file.h"
#include "base/observe/log.h"
#include "server/auth/config/request_header_config.h"
#include "server/auth/trusted_authorities.h"

namespace flyball::server {

Status PrepareTrust(Pki& pki, AuthenticationOptions& authentication) {
  FLYBALL_ASSIGN(authentication.client_authorities, TrustedAuthorities::Make(pki.client_ca_pem));
  const auto& headers = authentication.request_header;
  if (!headers.client_ca_file.empty()) {
    FLYBALL_ASSIGN(pki.proxy_ca_pem, ReadFile(headers.client_ca_file));
    FLYBALL_ASSIGN(authentication.proxy_authorities, TrustedAuthorities::Make(pki.proxy_ca_pem));
  }
  return ValidateRequestHeaders(headers, pki.client_ca_pem, pki.proxy_ca_pem);
}

CertificateFiles::CertificateFiles(const ServingOptions& serving, const Pki& pki,
                                   const AuthenticationOptions& authentication, net::HttpServer& http,
                                   ApiServer& api)
    : serving_(serving),
      authentication_(authentication),
      own_ca_(pki.ca.certificate_pem),
      http_(http),
      api_(api),
      current_(ServerTlsOf(pki)) {}

Status CertificateFiles::Follow(FileWatcher& files) {
  std::vector<std::string> paths;
  for (const auto& path : {serving_.tls_cert_file, serving_.tls_private_key_file, serving_.client_ca_file,
                           authentication_.request_header.client_ca_file})
    if (!path.empty()) paths.push_back(path);
  if (paths.empty()) return {};
  return files.Watch(std::move(paths), [this] { Reload(); });
}

Status CertificateFiles::SetServing(const net::KeyPair& pair) {
  if (!serving_.tls_cert_file.empty()) return {};
  MutexLock lock(mu_);
  net::ServerTls next = current_;
  next.certificate_pem = pair.certificate_pem;
  next.private_key_pem = pair.private_key_pem;
  FLYBALL_TRY(http_.SetTls(next));
  current_ = std::move(next);
  return {};
}

void CertificateFiles::Reload() {
  MutexLock lock(mu_);
  if (const Status reloaded = TryReload(); !reloaded)
    log::Error("cannot use the changed certificate files; the old ones stay in force",
               {{"error", reloaded.error().message()}});
}

Status CertificateFiles::TryReload() {
  net::ServerTls next = current_;
  if (!serving_.tls_cert_file.empty()) {
    FLYBALL_ASSIGN(next.certificate_pem, ReadFile(serving_.tls_cert_file));
    FLYBALL_ASSIGN(next.private_key_pem, ReadFile(serving_.tls_private_key_file));
  }
  std::string users = own_ca_, proxies;
  if (!serving_.client_ca_file.empty()) {
    FLYBALL_ASSIGN(const std::string file, ReadFile(serving_.client_ca_file));
    // A file without certificates is one that is being written.
    FLYBALL_TRY(net::CertificateAuthorities::Parse(file));
    users += "\n" + file;
  }
  if (const auto& path = authentication_.request_header.client_ca_file; !path.empty()) {
    FLYBALL_ASSIGN(proxies, ReadFile(path));
    FLYBALL_TRY(net::CertificateAuthorities::Parse(proxies));
  }
  FLYBALL_TRY(ValidateRequestHeaders(authentication_.request_header, users, proxies));
  next.client_ca_pem = users + "\n" + proxies;
  if (next.certificate_pem == current_.certificate_pem && next.private_key_pem == current_.private_key_pem &&
      next.client_ca_pem == current_.client_ca_pem)
    return {};
  FLYBALL_TRY(http_.SetTls(next));
  FLYBALL_TRY(authentication_.client_authorities->Set(users));
  if (authentication_.proxy_authorities) FLYBALL_TRY(authentication_.proxy_authorities->Set(proxies));
  current_ = std::move(next);
  api_.PublishTrust();
  log::Info("reloaded certificate files");
  return {};
}

}  // namespace flyball::server
