// CustomKind: one served version of a CustomResourceDefinition as the server knows kinds: a KindInfo whose
// strings and tables it owns, its CustomSchema, and what its subresources need.
//
// The schema is made when it is first asked for, from the definition's text: most kinds of a server are never
// written to, and a made schema takes ten times the memory of its text.
//
// Thread-safe. Held by shared_ptr; info() and schema() live as long as it does.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/custom/custom_schema.h"
#include "api/schema/schema.h"
#include "api/select/json_path.h"
#include "base/run/mutex.h"
#include "base/values/bytes.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

class CustomKind final : public TypeSource {
 public:
  // Where the scale subresource reads and writes, as dotted paths from the root ("spec.replicas").
  struct ScalePaths {
    std::string spec_replicas, status_replicas, label_selector;  // label_selector may be empty
  };

  // Of a definition that passed validation and defaulting. NotFound if it has no such version; served or not
  // is the caller's business.
  static Result<std::shared_ptr<const CustomKind>> Build(const json::Value& definition,
                                                         std::string_view version);
  // The same for a definition whose text is at hand. `definition` may be without its schemas
  // (ParseDefinition).
  static Result<std::shared_ptr<const CustomKind>> Build(const json::Value& definition,
                                                         std::string_view version, Bytes text);
  // The definition without the schemas of its versions, which are most of it.
  static Result<json::Value> ParseDefinition(std::string_view text);

  CustomKind(const CustomKind&) = delete;
  CustomKind& operator=(const CustomKind&) = delete;

  const KindInfo& info() const { return info_; }
  const CustomSchema& schema() const;
  const TypeInfo& Type() const override { return schema().type(); }
  json::Value OpenApiSchema() const override;
  std::string_view Fingerprint() const override { return fingerprint_; }
  // The same definition in another text (its status has changed): the former text is let go of.
  void Keep(Bytes text) const;
  const std::string& list_kind() const { return list_kind_; }
  bool has_status() const { return has_status_; }
  bool storage() const { return storage_; }
  const std::optional<ScalePaths>& scale() const { return scale_; }
  // What goes into a Warning header with every answer about this version; empty if it is not deprecated.
  const std::string& deprecation_warning() const { return deprecation_warning_; }

 private:
  CustomKind() = default;
  void SetNames(const json::Value& spec);
  void SetColumns(const json::Value& version);
  void SetSubresources(const json::Value& version);
  std::string_view Own(std::string_view text) { return texts_.emplace_back(text); }

  std::deque<std::string> texts_;
  std::vector<std::string_view> short_names_, categories_, selectable_fields_;
  std::vector<ColumnInfo> columns_;
  std::vector<SubresourceInfo> subresources_;
  KindInfo info_;
  std::string list_kind_, deprecation_warning_, fingerprint_;
  std::optional<ScalePaths> scale_;
  bool has_status_ = false, storage_ = false;
  mutable Mutex mu_;
  mutable Bytes text_ FLYBALL_GUARDED_BY(mu_);  // of the definition
  mutable std::once_flag schema_once_;
  mutable std::shared_ptr<const CustomSchema> schema_;  // null until it is asked for
};

}  // namespace flyball::api
