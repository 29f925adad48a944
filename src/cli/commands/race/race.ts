// skein race: starts a race, or runs one of its verbs. A first argument that is no verb is the task.
import { checkVerb } from "../../parse/args.ts";
import type { Args, Command, CommandContext, Flag } from "../../parse/command.ts";
import { runFlags } from "../run/run-flags.ts";

const limitFlags = ["policy", "sandbox", "net", "allow-write", "max-steps", "max-budget-usd", "max-tokens", "timeout", "trust", "no-trust"];
const followFlags = ["json", "output-format", "no-table", "detach"];
const checkFlags = ["no-check", "check-timeout"];
const fleetFlagNames = ["fleet", "needs", "priority"];
const startFlags = [
  ...checkFlags,
  "agent",
  "model",
  "check",
  "adopt-first-passing",
  "session",
  "node",
  "name",
  "role",
  "with-changes",
  "with-ignored",
  "cd",
];

const raceFlags: readonly Flag[] = [
  { name: "agent", short: "a", value: "agents", summary: "the agents: agent[:model], ... An agent may take part twice" },
  { name: "model", short: "m", value: "models", summary: "models by agent: agent:model, ..." },
  { name: "check", value: "command", summary: "run in the worktree of each agent that ended; exit code 0 means that it passed" },
  { name: "adopt-first-passing", summary: "stop the others when the first agent passes the check, and adopt its work" },
  { name: "session", value: "name|id", summary: "start from the end of this session (default: an empty conversation)" },
  { name: "node", value: "node", summary: "start from this node" },
  { name: "name", value: "name", summary: "the name of the race" },
  { name: "role", value: "name", summary: "every agent gets this role (`skein roles` lists them)" },
  { name: "with-changes", summary: "the worktrees get the uncommitted changes of the project" },
  { name: "with-ignored", summary: "the worktrees get ignored files such as .env, and links to ignored directories" },
  { name: "resume", value: "race", isValueOptional: true, summary: "the same as race resume" },
  { name: "no-table", summary: "print lines even on a terminal" },
  { name: "dry-run", summary: "with adopt: only show what would change" },
  { name: "all", summary: "with list: races of all projects" },
  { name: "limit", value: "n", summary: "with list: at most n races (default 20)" },
];

type Verb = { positionals: number; flags: readonly string[]; load: () => Promise<(args: Args, ctx: CommandContext) => Promise<number>> };

const verbs: Record<string, Verb> = {
  show: { positionals: 2, flags: ["json"], load: async () => (await import("./show-race.ts")).showRace },
  list: { positionals: 1, flags: ["all", "limit", "json"], load: async () => (await import("./show-race.ts")).listRaces },
  adopt: { positionals: 2, flags: ["dry-run", "json"], load: async () => (await import("./adopt-race.ts")).adoptRace },
  resume: {
    positionals: 2,
    flags: [...limitFlags, ...followFlags, "resume"],
    load: async () => (await import("./run-race.ts")).resumeRace,
  },
};

const start: Verb = {
  positionals: 1,
  flags: [...startFlags, ...limitFlags, ...followFlags, ...fleetFlagNames],
  load: async () => (await import("./run-race.ts")).startRace,
};

export const race: Command = {
  name: "race",
  summary: "give one task to several agents at once, compare, and adopt one",
  usage: '"task" -a agents [flags] | <verb> [race|session]',
  positionals: { min: 0, max: 2 },
  flags: [
    ...raceFlags,
    ...runFlags.filter(({ name }) => [...checkFlags, ...limitFlags, ...followFlags, ...fleetFlagNames, "cd"].includes(name)),
  ],
  notes: `Verbs: show [race], list, adopt <session>, resume [race].

Each agent starts from the same node and works in its own git worktree, so the
project does not change. All agents share one budget. With --check the passing
agent that changed the fewest lines is proposed. \`race adopt\` merges the work of
one agent into the project, and grafts the conclusions of the others into its
branch. Without a race's name, a command uses the latest race of the project.
\`ps\`, \`attach\`, \`logs\`, \`pause\`, \`kill\` and \`diff\` work with each agent's session.

The exit code is 0 if at least one agent ended ok (and passed the check), else
that of the best outcome. docs/RACES.md has the details.

Examples:
  skein race "make the tests pass" -a claude,codex,native --check "npm test"
  skein race "find a faster way" -a claude:opus,claude:sonnet --session main
  skein race show
  skein race adopt codex`,
  run: runRace,
};

async function runRace(args: Args, ctx: CommandContext): Promise<number> {
  const name = args.flags["resume"] === undefined ? args.positionals[0] : "resume";
  const verb = Object.hasOwn(verbs, name ?? "") ? verbs[name!]! : start;
  const isFlag = args.flags["resume"] !== undefined && args.positionals[0] !== "resume";
  const wanted = typeof args.flags["resume"] === "string" ? [args.flags["resume"]] : [];
  const words: Args = isFlag ? { ...args, positionals: ["resume", ...wanted, ...args.positionals] } : args;
  checkVerb(race, words, verb);
  return (await verb.load())(words, ctx);
}
