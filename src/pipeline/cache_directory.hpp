// SPDX-License-Identifier: Apache-2.0
// The directory of a cache: made, judged, and with its key file. Everything after goes through the
// descriptor, so that no process can put another directory in its place.
#pragma once

#include <optional>
#include <string>

#include "pipeline/cache_entry.hpp"
#include "pipeline/files.hpp"
#include "vyre/pipeline/disk_cache.hpp"

namespace vyre::pipeline {

struct CacheDirectory {
  files::Descriptor descriptor;
  CacheState state = CacheState::Off;
  std::optional<Secret> secret{};
  std::string reason{};  // why it is not on; ends with a "Fix:" part
  bool quiet = false;    // and it is no warning
};

CacheDirectory open_directory(const DiskCacheOptions& options);

// A new file of this process. It has no name where the file system can do that: a process that is
// killed then leaves nothing. Else it has one that no other process has, and is locked as long as
// it is open: who finds it unlocked knows that its writer is gone.
struct TempFile {
  std::string name;  // empty: none
  files::Descriptor file;
};
files::Io<TempFile> make_temp(int directory);
// Gives a finished file its name: 0, or errno and the file is gone. With `replace` it takes the
// place of another file, else that is EEXIST.
int publish(int directory, const TempFile& temp, const std::string& name, bool replace);
// Removes a file that was not published.
void discard(int directory, const TempFile& temp);

// Removes a temporary or lock file if no process has it open: 0 if it is gone, EWOULDBLOCK if it is
// in use.
int remove_abandoned(int directory, const std::string& name);

// Locks the file of this name, made where there is none, unless `wait` runs out first.
files::Io<files::Descriptor> lock_file(int directory, const std::string& name,
                                       std::chrono::milliseconds wait);

}  // namespace vyre::pipeline
