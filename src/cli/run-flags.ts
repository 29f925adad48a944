// The flags of `run`, as a table; commands/run.ts turns their values into a turn.
import { toolLevels } from "../protocol/policy.ts";
import type { Flag } from "./command.ts";
import { policyFlags } from "./policy-flags.ts";
import { outputFormats } from "./print/printer.ts";

export const runFlags: readonly Flag[] = [
  { name: "model", short: "m", value: "vendor/id[:effort]", summary: "which model answers" },
  { name: "agent", short: "a", value: "name", summary: "who takes the turn (default native)" },
  { name: "provider", value: "name", summary: "a vendor or an agent, by its own name" },
  { name: "session", value: "name|id", summary: "the session to go on with; a new name starts one" },
  { name: "continue", short: "c", summary: "go on with the project's latest session" },
  { name: "resume", short: "r", value: "session", summary: "go on with this session; without a task, with its interrupted turn" },
  { name: "fork", summary: "go on in a new session at the same node; the old one keeps its tip" },
  { name: "at", value: "node", summary: "go on at this node, in a new session" },
  { name: "session-id", value: "uuid", summary: "the id of the new session" },
  { name: "parent-session", value: "id", summary: "link the new session to this one" },
  { name: "fresh", summary: "leave the earlier conversation out of the request" },
  { name: "system", short: "s", value: "text", summary: "replace the system prompt" },
  { name: "append-system", value: "text", summary: "add to the system prompt" },
  { name: "no-context-files", summary: "do not read AGENTS.md or CLAUDE.md" },
  { name: "image", value: "file", repeat: true, summary: "show an image to the model" },
  { name: "tool-level", value: "level", choices: toolLevels, summary: "which tools there are (default orchestrator)" },
  { name: "tools", value: "a,b", summary: "exactly these tools" },
  { name: "no-spawn", summary: "no sub-sessions" },
  ...policyFlags,
  { name: "plan", value: "file", summary: "execute this plan in a new session, linked to the one that planned it" },
  { name: "max-steps", value: "n", summary: "model requests in this turn" },
  { name: "max-tokens", value: "n", summary: "input, output and cache-write tokens of the turn and all under it" },
  { name: "max-budget-usd", value: "amount", summary: "money for the turn and all under it" },
  { name: "timeout", value: "duration", summary: "time for the turn: 90, 90s, 10m, 2h" },
  { name: "output-format", value: "format", choices: outputFormats, summary: "what stdout carries (default text)" },
  { name: "json", summary: "the same as --output-format json" },
  { name: "no-stream", summary: "print the answer only when it is whole" },
  { name: "json-schema", value: "file", summary: "the final answer must be JSON that satisfies this schema" },
  { name: "output-file", value: "file", summary: "a copy of the finished transcript" },
  { name: "transcript-dir", value: "directory", summary: "where the transcript goes" },
  { name: "ephemeral", summary: "keep everything in memory" },
  { name: "cd", short: "C", value: "directory", summary: "work in this directory" },
  { name: "trust", summary: "for this run, let the project's own config and roles widen what it may do" },
  { name: "no-trust", summary: "for this run, do not, whatever was trusted before" },
  { name: "task", short: "t", value: "text", summary: "the task, as a flag" },
  { name: "print", short: "p", summary: "accepted, because other agents need it" },
];
