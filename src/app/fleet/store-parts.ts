// The parts of an app that a store of the fleet uses: git and the snapshots of projects' files.
import type { GitRunner } from "../../files/git.ts";
import type { Snapshots } from "../../protocol/api/ports.ts";

export type StoreParts = {
  git: GitRunner;
  snapshots: Snapshots;
  /** The directory of the shadow repositories. */
  filesRoot: string;
};
