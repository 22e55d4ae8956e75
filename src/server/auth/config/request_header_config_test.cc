#include "server/auth/config/request_header_config.h"

#include <gtest/gtest.h>

#include "net/tls/pki.h"

namespace flyball::server {
namespace {

TEST(RequestHeaderConfigTest, OptionsAreHeldToUpstreamsRules) {
  const TimePoint now = RealClock().Now();
  constexpr Duration kADay = std::chrono::hours(24);
  const auto proxies = *net::MakeCertificateAuthority("proxies", now, kADay);
  const auto users = *net::MakeCertificateAuthority("users", now, kADay);
  const RequestHeaderOptions good{.client_ca_file = "f",
                                  .username_headers = {"X-Remote-User"},
                                  .uid_headers = {"X-Remote-Uid"},
                                  .group_headers = {"X-Remote-Group"},
                                  .extra_header_prefixes = {"X-Remote-Extra-"},
                                  .allowed_names = {"front"}};
  const auto wrong = [&](const RequestHeaderOptions& options, const std::string& users_pem) {
    const Status status = ValidateRequestHeaders(options, users_pem, proxies.certificate_pem);
    return status ? "" : status.error().message();
  };
  EXPECT_EQ(wrong(good, users.certificate_pem), "");
  auto options = good;
  options.group_headers = {" "};
  EXPECT_EQ(wrong(options, ""), "empty value in \"requestheader-group-headers\"");
  options = good;
  options.uid_headers = {"X-Other"};
  EXPECT_NE(wrong(options, "").find("the standard X-Remote-Uid header"), std::string::npos);
  options = good;
  EXPECT_EQ(wrong(options, proxies.certificate_pem), "");
  options.allowed_names.clear();
  EXPECT_NE(wrong(options, users.certificate_pem + proxies.certificate_pem)
                .find("contain overlapping certificates; --requestheader-allowed-names must be specified"),
            std::string::npos);
}

}  // namespace
}  // namespace flyball::server
