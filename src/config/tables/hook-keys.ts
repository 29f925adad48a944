// The configuration keys of hooks, a part of the table in keys.ts.
import type { KeyEntry } from "../keys.ts";

export const hookKeys = [
  {
    key: "hooks.turn_ended",
    field: "hookTurnEnded",
    isInternal: true,
    type: "hook",
    project: "never",
    secret: true,
    description:
      "Run or posted to when a turn of yours ends, with one record ([JSON.md](JSON.md#hook-record)). A text is a shell command, a list a program with its arguments, and a URL gets the record by POST; `$NAME` reads it from that variable. Only your own file sets hooks.",
  },
  {
    key: "hooks.ask_opened",
    field: "hookAskOpened",
    isInternal: true,
    type: "hook",
    project: "never",
    secret: true,
    description: "The same when a turn asks you a question.",
  },
  {
    key: "hooks.turn_waiting",
    field: "hookTurnWaiting",
    isInternal: true,
    type: "hook",
    project: "never",
    secret: true,
    description: "The same when a turn waits for the end of a vendor's limit.",
  },
  {
    key: "hooks.timeout",
    field: "hookTimeoutMs",
    isInternal: true,
    type: "duration",
    fallback: 10_000,
    project: "never",
    description:
      "How long a hook may take. It is ended then. A run that is over waits no longer than this for its hooks. Without it, 10 s.",
  },
] as const satisfies readonly KeyEntry[];
