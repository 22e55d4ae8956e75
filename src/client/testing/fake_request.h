// A request as the fake server understands it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "net/http/http.h"

namespace flyball::testing {

struct FakeRequest {
  std::string verb;
  std::string collection;  // "/apis/apps/v1/deployments", without the namespace
  std::string ns, name, subresource;
  std::map<std::string, std::string> query;
  std::string content_type, body;

  std::string key() const { return ns.empty() ? name : ns + "/" + name; }
  std::string Query(const std::string& field) const {
    const auto it = query.find(field);
    return it == query.end() ? "" : it->second;
  }

  static std::string Decode(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '%' && i + 2 < text.size()) {
        out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
        i += 2;
      } else {
        out += text[i];
      }
    }
    return out;
  }

  static FakeRequest Parse(const net::Request& request) {
    FakeRequest out;
    out.verb = request.method;
    out.body = request.body;
    out.content_type = request.headers.Get("content-type");
    std::string_view target = request.target;
    const std::size_t mark = target.find('?');
    if (mark != std::string_view::npos) {
      out.ParseQuery(target.substr(mark + 1));
      target = target.substr(0, mark);
    }
    out.ParsePath(target);
    return out;
  }

 private:
  void ParseQuery(std::string_view text) {
    while (!text.empty()) {
      const std::string_view pair = text.substr(0, text.find('&'));
      text.remove_prefix(std::min(text.size(), pair.size() + 1));
      const std::size_t equals = pair.find('=');
      if (equals == std::string_view::npos) continue;
      query[Decode(pair.substr(0, equals))] = Decode(pair.substr(equals + 1));
    }
  }

  static std::string_view Next(std::string_view& path) {
    if (!path.empty() && path.front() == '/') path.remove_prefix(1);
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(part.size());
    return part;
  }

  void ParsePath(std::string_view path) {
    const bool core = Next(path) == "api";
    collection = core ? "/api" : "/apis";
    for (int i = core ? 1 : 2; i > 0; --i) collection.append("/").append(Next(path));
    std::string_view part = Next(path);
    // /api/v1/namespaces/x is a Namespace; anything longer is something in it.
    if (part == "namespaces" && path.find('/', 1) != std::string_view::npos) {
      ns = Decode(Next(path));
      part = Next(path);
    }
    collection.append("/").append(part);
    name = Decode(Next(path));
    subresource = Next(path);
  }
};

}  // namespace flyball::testing
