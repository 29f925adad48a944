// The table of commands. A command's file is loaded only when it is asked for.
import type { Command } from "./command.ts";

type Row = { names: string[]; load: () => Promise<Command> };

export const commandTable: readonly Row[] = [
  { names: ["run", "spawn"], load: async () => (await import("./commands/run.ts")).run },
  { names: ["tui"], load: async () => (await import("./commands/tui.ts")).tui },
  { names: ["chat"], load: async () => (await import("./commands/chat.ts")).chat },
  { names: ["ps"], load: async () => (await import("./commands/ps.ts")).ps },
  { names: ["attach"], load: async () => (await import("./commands/attach.ts")).attach },
  { names: ["logs"], load: async () => (await import("./commands/logs.ts")).logs },
  { names: ["asks"], load: async () => (await import("./commands/asks.ts")).asks },
  { names: ["answer"], load: async () => (await import("./commands/answer.ts")).answer },
  { names: ["pause"], load: async () => (await import("./commands/pause.ts")).pause },
  { names: ["resume"], load: async () => (await import("./commands/resume.ts")).resume },
  { names: ["kill"], load: async () => (await import("./commands/kill.ts")).kill },
  { names: ["msg"], load: async () => (await import("./commands/msg.ts")).msg },
  { names: ["report"], load: async () => (await import("./commands/report.ts")).report },
  { names: ["mcp"], load: async () => (await import("./commands/mcp.ts")).mcp },
  { names: ["hub"], load: async () => (await import("./commands/hub.ts")).hub },
  { names: ["demo"], load: async () => (await import("./commands/demo.ts")).demo },
  { names: ["list"], load: async () => (await import("./commands/list.ts")).list },
  { names: ["show"], load: async () => (await import("./commands/show.ts")).show },
  { names: ["new"], load: async () => (await import("./commands/create.ts")).create },
  { names: ["use"], load: async () => (await import("./commands/session-verbs.ts")).use },
  { names: ["context"], load: async () => (await import("./commands/context.ts")).context },
  { names: ["add"], load: async () => (await import("./commands/add.ts")).add },
  { names: ["exec"], load: async () => (await import("./commands/exec.ts")).exec },
  { names: ["team"], load: async () => (await import("./commands/team.ts")).team },
  { names: ["search"], load: async () => (await import("./commands/search.ts")).search },
  { names: ["diff"], load: async () => (await import("./commands/diff.ts")).diff },
  { names: ["files"], load: async () => (await import("./commands/files.ts")).files },
  { names: ["graft"], load: async () => (await import("./commands/graft.ts")).graft },
  { names: ["export"], load: async () => (await import("./commands/export.ts")).exportCommand },
  { names: ["import"], load: async () => (await import("./commands/import.ts")).importCommand },
  { names: ["rename"], load: async () => (await import("./commands/session-verbs.ts")).rename },
  { names: ["delete"], load: async () => (await import("./commands/session-verbs.ts")).remove },
  { names: ["restore"], load: async () => (await import("./commands/session-verbs.ts")).restore },
  { names: ["purge"], load: async () => (await import("./commands/purge.ts")).purge },
  { names: ["verify"], load: async () => (await import("./commands/verify.ts")).verify },
  { names: ["init"], load: async () => (await import("./commands/init.ts")).init },
  { names: ["agents"], load: async () => (await import("./commands/agents.ts")).agents },
  { names: ["models"], load: async () => (await import("./commands/models.ts")).models },
  { names: ["skills"], load: async () => (await import("./commands/skills.ts")).skills },
  { names: ["roles"], load: async () => (await import("./commands/roles.ts")).roles },
  { names: ["usage"], load: async () => (await import("./commands/usage.ts")).usage },
  { names: ["auth"], load: async () => (await import("./commands/auth.ts")).auth },
  { names: ["config"], load: async () => (await import("./commands/config.ts")).config },
  { names: ["trust"], load: async () => (await import("./commands/trust.ts")).trust },
  { names: ["doctor"], load: async () => (await import("./commands/doctor.ts")).doctor },
  { names: ["completions"], load: async () => (await import("./commands/completions.ts")).completions },
];

export const commandNames: readonly string[] = commandTable.flatMap((row) => row.names);

export async function findCommand(name: string): Promise<Command | null> {
  const row = commandTable.find((candidate) => candidate.names.includes(name));
  return row === undefined ? null : row.load();
}

export async function allCommands(): Promise<Command[]> {
  return Promise.all(commandTable.map((row) => row.load()));
}
