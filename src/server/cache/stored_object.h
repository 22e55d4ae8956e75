// StoredObject: one object as the server holds it: its final JSON bytes, shared with the store, and the few
// facts that lists and watches filter by. Nothing is re-encoded to send it: the resourceVersion, which the
// stored bytes do not contain (the store's revision is its only source), is spliced in while copying to the
// wire.
//
// Immutable once shared: thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/schema/schema.h"
#include "base/values/bytes.h"
#include "base/values/result.h"
#include "json/value.h"
#include "store/store.h"

namespace flyball::server {

using LabelList = std::vector<std::pair<std::string, std::string>>;  // sorted by key

class StoredObject {
 public:
  // From the stored bytes of an object. `fields` are the kind's selectable field paths. InternalError if the
  // bytes are no JSON object with metadata.
  static Result<std::shared_ptr<const StoredObject>> Build(Bytes bytes, store::Revision revision,
                                                           const api::KindInfo& kind);
  // The same, from a value that was just encoded to `bytes`. Not shared with anyone yet, so its revision may
  // still be set.
  static std::shared_ptr<StoredObject> FromValue(const json::Value& value, Bytes bytes,
                                                 store::Revision revision, const api::KindInfo& kind);

  const std::string& name() const { return fields_[0]; }
  const std::string& namespace_name() const { return fields_[1]; }
  std::string uid() const;
  store::Revision revision() const { return revision_; }
  // Before the object is shared.
  void set_revision(store::Revision revision) { revision_ = revision; }
  const Bytes& bytes() const { return bytes_; }
  const LabelList& labels() const { return labels_; }
  // As api::SelectableValues gives them: name, namespace, then the kind's own.
  const std::vector<std::string>& fields() const { return fields_; }

  // Appends the object with the given resourceVersion (0: none, it is not stored). kListItem leaves
  // apiVersion and kind out, as lists of built-in kinds do.
  enum class Form { kWhole, kListItem };
  void AppendJson(std::string& out, Form form, store::Revision resource_version) const;
  void AppendJson(std::string& out, Form form = Form::kWhole) const { AppendJson(out, form, revision_); }
  // Appends the metadata alone, an object of its own, with the given resourceVersion.
  void AppendMetadata(std::string& out, store::Revision resource_version) const;
  // The object as a value, metadata.resourceVersion included.
  json::Value ToValue() const { return ToValue(revision_); }
  json::Value ToValue(store::Revision resource_version) const;

 private:
  void Locate(std::string_view uid);
  // Copies [from, to) of the bytes; the place of the resourceVersion must be in it.
  void AppendWithVersion(std::string& out, std::size_t from, std::size_t to,
                         store::Revision resource_version) const;
  void Extract(const json::Value& value, const api::KindInfo& kind);

  Bytes bytes_;
  store::Revision revision_ = 0;
  std::uint32_t metadata_offset_ = 0;  // of `"metadata":`
  std::uint32_t version_offset_ = 0;   // where `,"resourceVersion":"N"` goes: after the uid; 0: there is none
  std::uint32_t uid_size_ = 0;
  LabelList labels_;
  std::vector<std::string> fields_;
};

using ObjectPtr = std::shared_ptr<const StoredObject>;

}  // namespace flyball::server
