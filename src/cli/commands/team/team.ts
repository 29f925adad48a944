// skein team: several agents on one objective. The table of its verbs; each is in a file of src/cli/commands/team.
import { Fault } from "../../../protocol/api/error.ts";
import { priorities } from "../../../protocol/team/mail.ts";
import { usageLine } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { runFlags } from "../run/run-flags.ts";
import { teamFlags } from "./team-flags.ts";

const followFlags = ["json", "output-format", "no-board", "merge", "detach"];
const boundFlags = ["policy", "sandbox", "net", "max-budget-usd", "max-tokens", "timeout"];
const turnFlags = ["model", "agent", "cd", "trust", "no-trust", ...boundFlags];

type Verb = { words: number; flags: readonly string[]; load: () => Promise<(args: Args, ctx: CommandContext) => Promise<number>> };

const verbs: Record<string, Verb> = {
  run: {
    words: 2,
    flags: ["name", ...teamFlags.map(({ name }) => name), ...turnFlags, ...followFlags],
    load: async () => (await import("./run-team.ts")).runTeam,
  },
  status: { words: 2, flags: ["messages", "json"], load: async () => (await import("./team-status.ts")).showTeam },
  list: { words: 1, flags: ["all", "limit", "names", "json"], load: async () => (await import("./list-teams.ts")).listTeams },
  message: {
    words: 3,
    flags: ["to", "kind", "priority", "subject", "expect-reply", "json"],
    load: async () => (await import("./message-team.ts")).messageTeam,
  },
  stop: { words: 2, flags: ["force", "json"], load: async () => (await import("./message-team.ts")).stopTeam },
  resume: {
    words: 2,
    flags: ["model", "agent", ...boundFlags, ...followFlags],
    load: async () => (await import("./run-team.ts")).resumeTeam,
  },
  merge: { words: 2, flags: ["dry-run", "yes", "stat", "json"], load: async () => (await import("./merge-team.ts")).mergeTeam },
  clean: {
    words: 2,
    flags: ["older-than", "dry-run", "force", "json"],
    load: async () => (await import("./message-team.ts")).cleanTeams,
  },
  "list-roles": {
    words: 1,
    flags: ["json"],
    load: async () => {
      const { roles } = await import("../setup/roles.ts");
      return (args, ctx) => roles.run({ ...args, positionals: [] }, ctx);
    },
  },
};

export const team: Command = {
  name: "team",
  summary: "several agents on one objective: roles, worktrees, messages, phases",
  usage: 'run "objective" | <verb> [team] [flags]',
  positionals: { min: 1, max: 3 },
  verbs: Object.keys(verbs),
  teamVerbs: ["status", "message", "stop", "resume", "merge", "clean"],
  flags: [
    ...teamFlags,
    { name: "name", value: "name", summary: "with run: what the team is called" },
    { name: "merge", summary: "with run and resume: bring the work into the project when all went well" },
    { name: "no-board", summary: "with run and resume: line by line, also on a terminal" },
    { name: "messages", summary: "with status: all of them" },
    { name: "all", summary: "with list: of all projects" },
    { name: "limit", value: "n", summary: "with list: at most so many; 20 if not said" },
    { name: "names", summary: "with list: only names, or short ids, one to a line: what the shell completes" },
    { name: "to", value: "who", repeat: true, summary: "with message: a member's name or id, a role, all" },
    { name: "kind", value: "kind", summary: "with message: what it is meant as; announcement if not said" },
    { name: "priority", value: "priority", choices: priorities, summary: "with message: how soon it matters" },
    { name: "subject", value: "text", summary: "with message: what it is about, in a line" },
    { name: "expect-reply", summary: "with message: ask for an answer" },
    { name: "stat", summary: "with merge: only which files change" },
    { name: "yes", short: "y", summary: "with merge: without asking" },
    { name: "dry-run", summary: "with merge and clean: only show what would happen" },
    { name: "older-than", value: "time", summary: "with clean: what has rested that long (default 7d)" },
    { name: "force", summary: "with clean: also work that is not merged; with stop: do not ask its process" },
    ...runFlags.filter(({ name }) => [...turnFlags, ...followFlags].includes(name)),
  ],
  notes: `Verbs: run, status, list, message, stop, resume, merge, clean, list-roles.

A team is a session; its members are sub-sessions, each in a git worktree of
its own (or where --workspace says). Their work is joined phase by phase and
stays apart from the project until \`merge\` brings it in. Without a team's name
the latest of the project is meant. \`ps\`, \`attach\`, \`logs\`, \`pause\` and
\`show\` work with each member. docs/TEAMS.md tells more.

Examples:
  skein team run "add a rate limit" --agents architect,engineer:claude,reviewer
  skein team run "find out why the build is slow" --max-budget-usd 2
  skein team status
  skein team message --to engineer "use the config module"
  skein team merge`,
  run: runVerb,
};

async function runVerb(args: Args, ctx: CommandContext): Promise<number> {
  const name = args.positionals[0] as string;
  const verb = verbs[name] as Verb;
  const odd = Object.keys(args.flags).find((flag) => !verb.flags.includes(flag));
  if (odd !== undefined) throw new Fault("usage", `--${odd} does not go with team ${name}`, { hint: usageLine(team) });
  const extra = args.positionals[verb.words];
  if (extra !== undefined) throw new Fault("usage", `team ${name}: "${extra}" is too much`, { hint: usageLine(team) });
  return (await verb.load())(args, ctx);
}
