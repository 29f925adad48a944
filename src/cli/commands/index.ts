// The table of commands, by the groups of the help. A command's file is loaded only when the command is used.
import type { Command } from "../parse/command.ts";

type CommandEntry = { names: string[]; load: () => Promise<Command> };

/** The commands of the group without a title are for agents inside a team. The help lists them only with --all. */
const commandGroups: readonly { title: string | null; entries: readonly CommandEntry[] }[] = [
  {
    title: "work",
    entries: [
      { names: ["tui"], load: async () => (await import("./tui/tui.ts")).tui },
      { names: ["run", "spawn"], load: async () => (await import("./run/run.ts")).run },
      { names: ["loop"], load: async () => (await import("./run/loop.ts")).loop },
      { names: ["chat"], load: async () => (await import("./run/chat.ts")).chat },
      { names: ["exec"], load: async () => (await import("./run/exec.ts")).exec },
      { names: ["undo"], load: async () => (await import("./tree/undo.ts")).undo },
      { names: ["redo"], load: async () => (await import("./tree/undo.ts")).redo },
      { names: ["merge"], load: async () => (await import("./worktrees/merge.ts")).merge },
      { names: ["worktrees"], load: async () => (await import("./worktrees/worktrees.ts")).worktrees },
      { names: ["demo"], load: async () => (await import("./run/demo.ts")).demo },
    ],
  },
  {
    title: "sessions and tree",
    entries: [
      { names: ["list"], load: async () => (await import("./tree/list.ts")).list },
      { names: ["show"], load: async () => (await import("./tree/show.ts")).show },
      { names: ["new"], load: async () => (await import("./tree/session-commands.ts")).create },
      { names: ["use"], load: async () => (await import("./tree/session-commands.ts")).use },
      { names: ["fork"], load: async () => (await import("./tree/fork.ts")).fork },
      { names: ["context"], load: async () => (await import("./tree/context.ts")).context },
      { names: ["add"], load: async () => (await import("./tree/add.ts")).add },
      { names: ["search"], load: async () => (await import("./tree/search.ts")).search },
      { names: ["diff"], load: async () => (await import("./tree/diff.ts")).diff },
      { names: ["files"], load: async () => (await import("./tree/files.ts")).files },
      { names: ["blame"], load: async () => (await import("./record/blame.ts")).blame },
      { names: ["graft"], load: async () => (await import("./tree/session-commands.ts")).graft },
      { names: ["export"], load: async () => (await import("./tree/export.ts")).exportCommand },
      { names: ["import"], load: async () => (await import("./tree/import.ts")).importCommand },
      { names: ["rename"], load: async () => (await import("./tree/session-commands.ts")).rename },
      { names: ["delete"], load: async () => (await import("./tree/session-commands.ts")).remove },
      { names: ["restore"], load: async () => (await import("./tree/session-commands.ts")).restore },
      { names: ["purge"], load: async () => (await import("./tree/purge.ts")).purge },
    ],
  },
  {
    title: "what runs",
    entries: [
      { names: ["ps"], load: async () => (await import("./control/ps.ts")).ps },
      { names: ["attach"], load: async () => (await import("./run/attach.ts")).attach },
      { names: ["logs"], load: async () => (await import("./run/logs.ts")).logs },
      { names: ["catch-up"], load: async () => (await import("./record/catch-up.ts")).catchUp },
      { names: ["replay"], load: async () => (await import("./record/replay.ts")).replay },
      { names: ["asks"], load: async () => (await import("./control/asks.ts")).asks },
      { names: ["answer"], load: async () => (await import("./control/asks.ts")).answer },
      { names: ["pause"], load: async () => (await import("./control/turn-commands.ts")).pause },
      { names: ["resume"], load: async () => (await import("./control/resume.ts")).resume },
      { names: ["kill"], load: async () => (await import("./control/turn-commands.ts")).kill },
    ],
  },
  {
    title: "agents and models",
    entries: [
      { names: ["agents"], load: async () => (await import("./setup/agents.ts")).agents },
      { names: ["models"], load: async () => (await import("./setup/models.ts")).models },
      { names: ["roles"], load: async () => (await import("./setup/roles.ts")).roles },
      { names: ["skills"], load: async () => (await import("./setup/skills.ts")).skills },
      { names: ["usage"], load: async () => (await import("./record/usage.ts")).usage },
    ],
  },
  {
    title: "several agents",
    entries: [
      { names: ["team"], load: async () => (await import("./team/team.ts")).team },
      { names: ["race"], load: async () => (await import("./race/race.ts")).race },
    ],
  },
  {
    title: "servers",
    entries: [
      { names: ["hub"], load: async () => (await import("./serve/hub.ts")).hub },
      { names: ["web"], load: async () => (await import("./serve/web.ts")).web },
      { names: ["mcp"], load: async () => (await import("./serve/mcp.ts")).mcp },
      { names: ["fleet"], load: async () => (await import("./fleet/fleet.ts")).fleet },
      { names: ["worker"], load: async () => (await import("./fleet/worker.ts")).worker },
      { names: ["acp"], load: async () => (await import("./serve/acp.ts")).acp },
    ],
  },
  {
    title: "setup",
    entries: [
      { names: ["init"], load: async () => (await import("./setup/init.ts")).init },
      { names: ["auth"], load: async () => (await import("./setup/auth.ts")).auth },
      { names: ["config"], load: async () => (await import("./setup/config.ts")).config },
      { names: ["hooks"], load: async () => (await import("./setup/hooks.ts")).hooks },
      { names: ["trust"], load: async () => (await import("./setup/trust.ts")).trust },
      { names: ["doctor"], load: async () => (await import("./setup/doctor.ts")).doctor },
      { names: ["update"], load: async () => (await import("./setup/update.ts")).update },
      { names: ["verify"], load: async () => (await import("./tree/verify.ts")).verify },
      { names: ["completions"], load: async () => (await import("./setup/completions.ts")).completions },
      { names: ["man"], load: async () => (await import("./setup/man.ts")).man },
    ],
  },
  {
    title: null,
    entries: [
      { names: ["msg"], load: async () => (await import("./team/msg.ts")).msg },
      { names: ["report"], load: async () => (await import("./team/report.ts")).report },
    ],
  },
];

export const commandTable: readonly CommandEntry[] = commandGroups.flatMap(({ entries }) => entries);

export const commandNames: readonly string[] = commandTable.flatMap((entry) => entry.names);

export async function findCommand(name: string): Promise<Command | null> {
  const entry = commandTable.find((candidate) => candidate.names.includes(name));
  return entry === undefined ? null : entry.load();
}

export async function allCommands(): Promise<Command[]> {
  return Promise.all(commandTable.map((entry) => entry.load()));
}

export type CommandGroup = { title: string | null; commands: Command[] };

export async function groupedCommands(): Promise<CommandGroup[]> {
  const load = async (entries: readonly CommandEntry[]) => Promise.all(entries.map((entry) => entry.load()));
  return Promise.all(commandGroups.map(async ({ title, entries }) => ({ title, commands: await load(entries) })));
}
