// skein team: the table of its verbs. Each verb is in its own file of src/cli/commands/team.
import { priorities } from "../../../protocol/team/mail.ts";
import { checkVerb } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { runFlags } from "../run/run-flags.ts";
import { teamFlags } from "./team-flags.ts";

const followFlags = ["json", "output-format", "no-board", "merge", "detach"];
const limitFlags = ["policy", "sandbox", "net", "max-budget-usd", "max-tokens", "timeout"];
const fleetFlagNames = ["fleet", "needs", "priority"];
const turnFlags = ["model", "agent", "cd", "trust", "no-trust", ...limitFlags];

type Verb = { positionals: number; flags: readonly string[]; load: () => Promise<(args: Args, ctx: CommandContext) => Promise<number>> };

const verbs: Record<string, Verb> = {
  run: {
    positionals: 2,
    flags: ["name", ...teamFlags.map(({ name }) => name), ...turnFlags, ...followFlags, ...fleetFlagNames],
    load: async () => (await import("./run-team.ts")).runTeam,
  },
  status: { positionals: 2, flags: ["messages", "json"], load: async () => (await import("./team-status.ts")).showTeam },
  list: { positionals: 1, flags: ["all", "limit", "names", "json"], load: async () => (await import("./list-teams.ts")).listTeams },
  message: {
    positionals: 3,
    flags: ["to", "kind", "priority", "subject", "expect-reply", "json"],
    load: async () => (await import("./message-team.ts")).messageTeam,
  },
  stop: { positionals: 2, flags: ["force", "json"], load: async () => (await import("./message-team.ts")).stopTeam },
  resume: {
    positionals: 2,
    flags: ["model", "agent", ...limitFlags, ...followFlags],
    load: async () => (await import("./run-team.ts")).resumeTeam,
  },
  merge: { positionals: 2, flags: ["dry-run", "yes", "stat", "json"], load: async () => (await import("./merge-team.ts")).mergeTeam },
  clean: {
    positionals: 2,
    flags: ["older-than", "dry-run", "force", "json"],
    load: async () => (await import("./message-team.ts")).cleanTeams,
  },
  "list-roles": {
    positionals: 1,
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
    { name: "name", value: "name", summary: "with run: the name of the team" },
    { name: "merge", summary: "with run and resume: merge the work into the project if the team succeeds" },
    { name: "no-board", summary: "with run and resume: print lines even on a terminal" },
    { name: "messages", summary: "with status: show all messages" },
    { name: "all", summary: "with list: teams of all projects" },
    { name: "limit", value: "n", summary: "with list: at most n teams (default 20)" },
    { name: "names", summary: "with list: only names or short ids, one per line (for shell completion)" },
    { name: "to", value: "who", repeat: true, summary: "with message: a member's name or id, a role, all" },
    { name: "kind", value: "kind", summary: "with message: the kind of message (default announcement)" },
    { name: "priority", value: "priority", choices: priorities, summary: "with message: the urgency of the message" },
    { name: "subject", value: "text", summary: "with message: the subject in one line" },
    { name: "expect-reply", summary: "with message: ask for an answer" },
    { name: "stat", summary: "with merge: list only the changed files" },
    { name: "yes", short: "y", summary: "with merge: do not ask for confirmation" },
    { name: "dry-run", summary: "with merge and clean: only show what would happen" },
    { name: "older-than", value: "time", summary: "with clean: teams that were idle that long (default 7d)" },
    { name: "force", summary: "with clean: also delete unmerged work; with stop: kill its process" },
    ...runFlags.filter(({ name }) => [...turnFlags, ...followFlags, ...fleetFlagNames].includes(name)),
  ],
  notes: `Verbs: run, status, list, message, stop, resume, merge, clean, list-roles.

A team is a session; its members are sub-sessions, each in its own git worktree
(see --workspace). Their work is combined after each phase. It does not change
the project until \`merge\`. Without a team's name, a command uses the latest team
of the project. \`ps\`, \`attach\`, \`logs\`, \`pause\` and \`show\` work with each
member. docs/TEAMS.md has the details.

Examples:
  skein team run "add a rate limit" --agents architect,engineer:claude,reviewer
  skein team run "find out why the build is slow" --max-budget-usd 2
  skein team status
  skein team message --to engineer "use the config module"
  skein team merge`,
  run: runVerb,
};

async function runVerb(args: Args, ctx: CommandContext): Promise<number> {
  const verb = verbs[args.positionals[0]!]!;
  checkVerb(team, args, verb);
  return (await verb.load())(args, ctx);
}
