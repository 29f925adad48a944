// The options of a turn that decide when its work is done: a check, or a loop until a command succeeds.
// They are a part of the table in turn-options.ts, which describes their fields.
import type { TurnOption } from "../api/turn-options.ts";

export const defaultMaxRuns = 10;
const defaultCheckTimeoutMs = 600_000;

export type CheckOptions = {
  /** A shell command that must succeed after the turn. It runs in the turn's sandbox. Null: no check. */
  check: string | null;
  /** Longest duration of a check. */
  checkTimeoutMs: number;
  /** How often the output of a failing check goes back to the agent, each time as another turn of the same session. */
  checkRepairs: number;
  /** Repeats the turn until a command succeeds. Each pass is a turn of the session. */
  loop: LoopTask | null;
};

export type LoopTask = {
  /** The command that ends the loop when it succeeds. It runs before the first pass, and after each. */
  until: string;
  maxRuns: number;
  /** True starts each pass with a new conversation: the task and the last output of the check. */
  fresh: boolean;
  /** The agents to use. The next one takes over, once, when a pass makes no progress. Empty: the agent of the turn. */
  agents: string[];
};

export const checkOptions = {
  check: {
    bare: null,
    configured: ({ check }) => check,
    configKey: "check",
    schema: ({ is }) => is.command.nullable().default(null),
  },
  checkTimeoutMs: {
    bare: defaultCheckTimeoutMs,
    configured: ({ checkTimeoutMs }) => checkTimeoutMs,
    configKey: "check_timeout",
    schema: ({ is }) => is.count.min(1).default(defaultCheckTimeoutMs),
  },
  checkRepairs: { bare: 1, schema: ({ is }) => is.count.max(100).default(1) },
  loop: {
    bare: null,
    schema: ({ z, is }) =>
      is
        .fields({
          until: is.command,
          maxRuns: z.number().int().min(1).max(1000).default(defaultMaxRuns),
          fresh: is.falseByDefault,
          agents: is.textList.default([]),
        })
        .nullable()
        .default(null),
  },
} satisfies { [Name in keyof CheckOptions]: TurnOption<CheckOptions[Name]> };
