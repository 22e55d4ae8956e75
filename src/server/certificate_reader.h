// The reader of certificates that validation uses (api/rules/certificate_reader.h), on net's PKI.
#pragma once

namespace flyball::server {

// Makes it the process's reader. Idempotent; thread-safe.
void InstallCertificateReader();

}  // namespace flyball::server
