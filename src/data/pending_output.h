// An output that is written to a temporary path next to its target, and renamed as a whole on commit (docs/adr/0018).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/file_lock.h"
#include "base/made_folders.h"
#include "base/result.h"
#include "data/output_links.h"
#include "data/output_paths.h"
#include "data/taking_back.h"

namespace trainstep {

// It is `.NAME.trainstep/new/NAME` next to the target; inside the target if that is a mounted folder, or its own folder accepts no new entries. An
// open PendingOutput locks the target for as long as its process lives.
class PendingOutput {
 public:
  // Whether a target can be written in this way: it does not exist, or is a file or a folder. Others (/dev/stdout, a FIFO) cannot.
  static bool possible(const std::filesystem::path& target);

  // Creates the folder. Its earlier contents are kept if `owner` left them (an earlier attempt), otherwise they are removed; an empty `owner` keeps
  // nothing. A link at the target is followed: its target is the target. Errors: conflict (another process has it open), denied and input (old
  // contents cannot be removed), those of make_directories().
  static Result<PendingOutput> open(const std::filesystem::path& target, const std::string& owner) { return open(target, owner, {}); }
  PendingOutput(PendingOutput&& other) noexcept = default;
  PendingOutput& operator=(PendingOutput&& other) = delete;
  // What was not committed is kept for inspection until the next run opens the same target. If it contains no file with content, nothing is kept, nor
  // are parent folders that open() created; what is now in the place of one of these folders stays.
  ~PendingOutput();

  // For places that several runs may use: a `signer` signs what it commits (signature.h), and what the commit replaces is kept until it is confirmed,
  // so that the commit can be reverted: open() moves what the same signer put there back to path(), and restores what it displaced. Nothing is
  // reverted on a mount. Errors: denied, those of open().
  static Result<PendingOutput> open(const std::filesystem::path& target, const std::string& owner, const std::string& signer);
  [[nodiscard]] const std::optional<Restored>& taken_back() const { return m_taken_back; }

  // The path to write to. Its parent exists; the path itself exists only if an earlier attempt left it.
  [[nodiscard]] const std::filesystem::path& path() const { return m_place.path; }
  [[nodiscard]] const std::filesystem::path& target() const { return m_place.target; }
  // For messages: where content will be kept: at path(), or its folder if the program wrote next to path(), or path() is a link; in the folder that
  // was moved, if it was. Empty: none.
  [[nodiscard]] std::filesystem::path left() const;

  // Error (conflict): the folder was removed since open(), with what had been written until then, so that what is there now may not be this run's; or
  // it, or one above it, was renamed, or the link at the given path was removed or changed, so that the path leads elsewhere.
  [[nodiscard]] Result<void> check_kept() const;
  // Moves what was written to the target; does nothing if there is nothing. Links in it keep their targets, or become copies where the target
  // vanishes or is beside the output (output_links.h); if the output itself is a link, its target is delivered. An existing file is replaced, and so
  // is a folder that is empty or holds exactly what an earlier commit put there. Any other folder is moved aside, never removed; of a mounted folder,
  // only the entries whose names are taken. A mounted file is rewritten in place. Returns where the displaced contents are now. Errors: denied,
  // internal, input (a link that is not an output), conflict (check_kept()), that of `go_on`, which is called once more immediately before the move;
  // the target is then unchanged, unless it is a mount.
  Result<std::optional<std::filesystem::path>> commit(const IsTemporary& vanishes = {}, const CheckCancelled& go_on = {});
  // After commit(): what of the replaced folder could not be removed, and why, for display. Empty: nothing.
  [[nodiscard]] const std::string& unremoved() const { return m_unremoved; }

 private:
  PendingOutput() = default;
  Result<void> recover(const std::string& owner);
  Result<void> resolve_link(const IsTemporary& vanishes, const CheckCancelled& go_on);
  [[nodiscard]] bool known() const;
  [[nodiscard]] Result<void> check_link() const;
  Result<std::optional<std::filesystem::path>> move_aside();
  Result<void> replace();
  void remove_replaced(const std::filesystem::path& path);
  Result<std::optional<std::filesystem::path>> commit_beside();
  Result<std::optional<std::filesystem::path>> commit_inside();
  Result<std::optional<std::filesystem::path>> commit_over();
  void remember();

  OutputPaths m_place;
  std::filesystem::path m_link;  // the path given to open(), if it is a link to the target
  MadeFolders m_made;            // above the target
  std::string m_unremoved;
  std::string m_signer;  // empty: unsigned
  std::optional<Restored> m_taken_back;
  std::optional<std::filesystem::path> m_replaced;  // what was replaced and is kept
  Fd m_held;                                        // m_place.folder
  FileLock m_lock;
};

}  // namespace trainstep
