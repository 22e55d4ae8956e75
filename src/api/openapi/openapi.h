// OpenAPI documents: what kubectl explain, apply and diff and code generators read. Built as text from the
// schema tables, for built-in and custom kinds alike; only when somebody asks. Functions only; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/schema/schema.h"
#include "api/wire/discovery.h"

namespace flyball::api {

// GET /openapi/v3: the document of every group version, each with a URL that changes when its content does.
// Cheap: no document is built.
std::string OpenApiV3Index(KindList kinds);

// GET /openapi/v3/api/v1 and /openapi/v3/apis/<group>/<version>. None: there is no such group version.
// `server_version` is shown as the document's version ("v1.37.1").
std::optional<std::string> OpenApiV3Document(KindList kinds, std::string_view group, std::string_view version,
                                             std::string_view server_version);
// GET /openapi/v3/<name> of the paths that serve no kind: "api", "apis", "apis/<group>", "version", "logs"
// and the issuer's. None: there is no such document.
std::optional<std::string> OpenApiV3Information(KindList kinds, std::string_view name,
                                                std::string_view server_version);
std::string OpenApiV3InformationHash(std::string_view name);
// What the index has after "?hash=", and the ETag of that document without its quotes: a fingerprint of what
// the document is made of.
std::string OpenApiV3Hash(KindList kinds, std::string_view group, std::string_view version);

// GET /openapi/v2: everything in one Swagger 2.0 document.
std::string OpenApiV2Document(KindList kinds, std::string_view server_version);
std::string OpenApiV2Hash(KindList kinds);
// The same document in protobuf (gnostic's openapi.v2.Document), as kubectl before 1.29 asks for it.
std::string OpenApiV2Protobuf(std::string_view document);

}  // namespace flyball::api
