// An output on its way to its place: written beside it, and put there as a whole (docs/adr/0018).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/file_lock.h"
#include "base/result.h"
#include "data/output_links.h"
#include "data/output_place.h"
#include "data/taking_back.h"

namespace trainstep {

// `.NAME.trainstep/new/NAME` beside the target; inside the target where that is a mounted folder, or its own folder takes no new entries. Whoever has
// it open keeps others away from the target, for as long as its process lives.
class PendingOutput {
 public:
  // Whether a target can be written in this way: it is not there, or is a file or a folder. What is none of them (/dev/stdout, a FIFO) cannot.
  static bool possible(const std::filesystem::path& target);

  // Makes the folder. What is in it from before stays if `owner` left it there – an attempt before this one –, else it is removed; an empty `owner`
  // keeps nothing. A link at the target is followed: what it leads to is the target. Errors: conflict (another process has it open), denied and input
  // (what must go cannot be removed), those of make_directories().
  static Result<PendingOutput> open(const std::filesystem::path& target, const std::string& owner) { return open(target, owner, {}); }
  PendingOutput(PendingOutput&& other) noexcept = default;
  PendingOutput& operator=(PendingOutput&& other) = delete;
  // What was not committed stays for a look until the next run opens the same target; where no file with content is, nothing stays, nor do folders
  // above that open() has made.
  ~PendingOutput();

  // Where several runs may put their outputs, a `signer` signs what it commits (signature.h), and what that replaces is kept until it is confirmed,
  // so that it can be taken back: what the same signer has put there waits in path() again, and what had given way is in its place. Of a mount
  // nothing is taken back. Errors: denied, those of open().
  static Result<PendingOutput> open(const std::filesystem::path& target, const std::string& owner, const std::string& signer);
  [[nodiscard]] const std::optional<Restored>& taken_back() const { return m_taken_back; }

  // Where to write. Its parent exists, it does not, unless an earlier attempt has left it.
  [[nodiscard]] const std::filesystem::path& path() const { return m_place.path; }
  [[nodiscard]] const std::filesystem::path& target() const { return m_place.target; }
  // Where something with content lies that will stay, for people: at path(), or, of what was written beside it, around that. Empty: nowhere.
  [[nodiscard]] std::filesystem::path left() const;

  // Error (conflict): the folder was removed since open(), and with it what had been written until then, so that what is there now is anybody's; or
  // it, or one above it, was renamed: the target's path leads elsewhere.
  [[nodiscard]] Result<void> check_kept() const;
  // Puts what was written to its place; without anything there, does nothing. Links in it lead on to what they led to, or become a copy of it where
  // that vanishes or lies beside the output (output_links.h); where the output itself is a link, what it leads to is delivered. A file that is in the
  // way is replaced, and so is a folder that holds exactly what an earlier commit has put there, or nothing. Any other folder is moved aside, never
  // removed; of one that is a mount, only the entries whose names are taken. A file that is a mount is written anew in place. → where that lies now.
  // Errors: denied, internal, input (a link that is no output), conflict (check_kept()), that of `go_on`, which is asked once more when nothing but
  // the move is left; what was at the target is there as it was, if it is no mount.
  Result<std::optional<std::filesystem::path>> commit(const Vanishes& vanishes = {}, const GoOn& go_on = {});
  // After that: what of the replaced folder could not be removed, and why, for people. Empty: nothing.
  [[nodiscard]] const std::string& unremoved() const { return m_unremoved; }

 private:
  PendingOutput() = default;
  Result<void> settle_accounts(const std::string& owner);
  Result<void> settle_link(const GoOn& go_on);
  [[nodiscard]] bool known() const;
  Result<std::optional<std::filesystem::path>> make_way();
  Result<void> replace();
  void remove_replaced(const std::filesystem::path& path);
  Result<std::optional<std::filesystem::path>> commit_beside();
  Result<std::optional<std::filesystem::path>> commit_inside();
  Result<std::optional<std::filesystem::path>> commit_over();
  void remember();

  OutputPlace m_place;
  std::vector<std::filesystem::path> m_made;  // above the target, the deepest first
  std::string m_unremoved;
  std::string m_signer;  // empty: nobody signs
  std::optional<Restored> m_taken_back;
  std::optional<std::filesystem::path> m_replaced;  // what was replaced, and is kept
  Fd m_held;                                        // m_place.folder
  FileLock m_lock;
};

}  // namespace trainstep
