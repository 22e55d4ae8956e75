#include "server/documents.h"
namespace flyball::server {
Result<Answer> Documents::OpenApi(std::string_view, const net::Request&) {
  return TextAnswer(404, "404 page not found\n");
}
}  // namespace flyball::server
