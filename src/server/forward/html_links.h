// HtmlLinks: changes the links of an HTML page that is passed on, so that they lead back through the proxy
// (upstream: k8s.io/apimachinery util/proxy Transport).
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace flyball::server {

// Reads a page in pieces and returns what can be passed on of it. Everything but the values of attributes
// that hold addresses (href, src, action ...) stays byte by byte as it is; so do comments, scripts and
// styles. Bounded: a tag of more than kMaxTag bytes is passed on unchanged. Thread-compatible.
class HtmlLinks {
 public:
  static constexpr std::size_t kMaxTag = 64u << 10;
  // The new value of such an attribute, as it is written in the page (with entities).
  using Rewrite = std::function<std::string(std::string_view link)>;

  explicit HtmlLinks(Rewrite rewrite) : rewrite_(std::move(rewrite)) {}
  std::string Next(std::string_view piece);
  // What is left when the page ends.
  std::string End();

 private:
  // Passes on what is complete of waiting_; false if the rest has to wait for more.
  bool Step(std::string& out);
  bool StepTag(std::string& out);
  bool StepVerbatim(std::string& out);
  void PassOn(std::size_t bytes, std::string& out);
  std::string Tag(std::string_view tag);

  const Rewrite rewrite_;
  std::string waiting_;
  std::string until_;  // everything up to this text is passed on unread: "-->", "</script"; empty: nothing is
};

}  // namespace flyball::server
