// The flags of `skein tui`. They are apart from the command, so that `skein -m x` can be parsed without loading the screen.
import type { Flag } from "../../parse/command.ts";
import { runFlags, screenReaderFlag } from "../run/run-flags.ts";

/** Flags of `run` that mean something else on the screen. */
const summaries: Record<string, string> = {
  resume: "show this session; without a session, choose one",
  task: "send this message first, in a new session unless one is named",
};

const tuiRunFlagNames = new Set(
  (
    "model agent provider role continue resume worktree with-changes with-ignored system append-system no-context-files tool-level tools no-spawn allow-nesting " +
    "policy sandbox net allow-write add-dir max-steps max-tokens max-budget-usd max-children timeout at-limit wait-at-most check no-check check-timeout transcript-dir cd trust no-trust task"
  ).split(" "),
);

export const tuiFlags: readonly Flag[] = [
  { name: "inline", summary: "draw only at the end of the terminal, and let finished output scroll up" },
  screenReaderFlag,
  { name: "new", summary: "start a new session instead of continuing the project's current one" },
  {
    name: "hub",
    value: "auto|url",
    summary: "run turns in the hub, independent of the screen; auto starts the hub of this machine if necessary",
  },
  ...runFlags.filter((flag) => tuiRunFlagNames.has(flag.name)).map((flag) => ({ ...flag, summary: summaries[flag.name] ?? flag.summary })),
];
