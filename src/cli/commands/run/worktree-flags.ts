// The flags of a worktree: of run, chat, tui and fork.
import { Fault } from "../../../protocol/api/error.ts";
import type { WorktreeRequest } from "../../../protocol/worktree/ports.ts";
import type { Args, Flag } from "../../parse/command.ts";

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

export const worktreeFlags: readonly Flag[] = [
  {
    name: "worktree",
    short: "w",
    value: "name",
    isValueOptional: true,
    valuePattern: namePattern,
    summary: "work in a worktree of the project; `skein merge` brings the work in",
  },
  { name: "with-changes", summary: "the worktree starts with the project's uncommitted changes" },
  { name: "with-ignored", summary: "the worktree gets ignored files: node_modules is linked, .env is copied" },
];

/** Null without -w. */
export function worktreeRequest(args: Pick<Args, "flags">): WorktreeRequest | null {
  const { flags } = args;
  const [name, withChanges, withIgnored] = [flags["worktree"], flags["with-changes"] === true, flags["with-ignored"] === true];
  if (name !== undefined) return { name: checkedName(name), withChanges, withIgnored };
  if (!withChanges && !withIgnored) return null;
  throw new Fault("usage", `--${withChanges ? "with-changes" : "with-ignored"} needs a worktree: -w [name]`);
}

function checkedName(name: Args["flags"][string]): string | null {
  if (name === true || name === undefined) return null;
  const text = String(name);
  if (namePattern.test(text) && text.length <= 64 && !/\.\.|\.$|\.lock$/.test(text)) return text;
  throw new Fault("usage", `"${text}" can't be the name of a worktree`, {
    hint: "a name has at most 64 letters, digits, `-`, `_` and `.`, and starts with a letter or a digit",
  });
}
