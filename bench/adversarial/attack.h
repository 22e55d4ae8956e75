// One attack: what is there before, and the request that is meant to hold the server up.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "net/http/http.h"

namespace flyball::bench {

struct Attack {
  std::string name;
  net::Request request;
  std::vector<net::Request> before{};  // sent first, not measured
};

inline std::string Number(long i) {
  return std::to_string(i);
}

inline const std::string kConfigMaps = "/api/v1/namespaces/default/configmaps";

// `method target body`, as JSON or as the content type says.
net::Request MakeRequest(std::string method, std::string target, std::string body = "",
                         std::string type = "application/json");

// piece(0) piece(1) ... up to `count` of them, or as many as fit into `bytes`, with `separator` between.
std::string Repeated(long count, const std::function<std::string(long)>& piece, std::string_view separator,
                     std::size_t bytes = 2'900'000);

// Every kind of attack, in the order in which they are tried.
std::vector<Attack> PatchAttacks();
std::vector<Attack> ObjectAttacks();
std::vector<Attack> TextAttacks();
std::vector<Attack> SchemaAttacks();
std::vector<Attack> ReadAttacks();
std::vector<Attack> AccessAttacks();

}  // namespace flyball::bench
