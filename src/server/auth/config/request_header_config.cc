#include "server/auth/config/request_header_config.h"

#include <algorithm>

#include "base/observe/log.h"
#include "base/values/ascii.h"
#include "net/tls/authorities.h"
#include "server/config/strict_object.h"

namespace flyball::server {
namespace {

bool IsBlank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

bool HasIgnoringCase(const std::vector<std::string>& names, std::string_view wanted) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return LowerCase(name) == LowerCase(wanted); });
}

}  // namespace

Status ValidateRequestHeaders(const RequestHeaderOptions& options, std::string_view client_ca_pem,
                              std::string_view request_header_ca_pem) {
  std::vector<std::string> problems;
  const auto check = [&](const char* flag, const std::vector<std::string>& names) {
    if (std::any_of(names.begin(), names.end(), IsBlank))
      problems.push_back("empty value in \"" + std::string(flag) + "\"");
  };
  check("requestheader-username-headers", options.username_headers);
  check("requestheader-group-headers", options.group_headers);
  check("requestheader-extra-headers-prefix", options.extra_header_prefixes);
  check("requestheader-allowed-names", options.allowed_names);
  check("requestheader-uid-headers", options.uid_headers);
  const auto warn = [](const char* flag, const std::vector<std::string>& names, const char* standard) {
    if (!names.empty() && !HasIgnoringCase(names, standard))
      log::Warning("flag is set without the standard header: API aggregation will not work",
                   {{"flag", flag}, {"header", standard}});
  };
  warn("--requestheader-username-headers", options.username_headers, "X-Remote-User");
  warn("--requestheader-group-headers", options.group_headers, "X-Remote-Group");
  warn("--requestheader-extra-headers-prefix", options.extra_header_prefixes, "X-Remote-Extra-");
  if (!options.uid_headers.empty() && !HasIgnoringCase(options.uid_headers, "X-Remote-Uid"))
    problems.emplace_back(
        "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - API "
        "aggregation will not work");
  if (options.allowed_names.empty() && net::ShareCertificate(client_ca_pem, request_header_ca_pem))
    problems.emplace_back(
        "--requestheader-client-ca-file and --client-ca-file contain overlapping certificates; "
        "--requestheader-allowed-names must be specified to ensure regular client certificates cannot set "
        "authenticating proxy headers for arbitrary users");
  if (problems.empty()) return {};
  return Unexpected(BadRequest(AggregateText(problems)));
}

}  // namespace flyball::server
