// The Api methods of worktrees: lists, differences, merges and removal.
import type { Api } from "../../protocol/api/api.ts";
import type { EngineDeps } from "../engine.ts";
import { cleanWorktrees } from "./clean-worktrees.ts";
import { listWorktrees } from "./list-worktrees.ts";
import { diffWorktree, mergeWorktree, updateWorktree } from "./merge-worktree.ts";

export function createWorktreeMethods(deps: EngineDeps): Api["worktree"] {
  return {
    list: (params) => listWorktrees(deps, params),
    diff: (params) => diffWorktree(deps, params),
    merge: (params) => mergeWorktree(deps, params),
    update: (params) => updateWorktree(deps, params),
    clean: (params) => cleanWorktrees(deps, params),
  };
}
