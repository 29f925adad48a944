// /export: the path to here, by the same command that exports whole trees: it is shown this branch and nothing else.
import { extname } from "node:path";
import type { CommandContext } from "../parse/command.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Repl } from "./repl.ts";
import { pathTo } from "./navigate.ts";

const formats: Record<string, string> = { ".md": "md", ".html": "html", ".json": "json", ".jsonl": "jsonl" };

export async function exportBranch(repl: Repl, file: string): Promise<void> {
  const { api, door, session } = repl;
  if (session === null) throw new Fault("usage", "nothing was said yet", { hint: "type a message first" });
  const { exportCommand } = await import("../commands/tree/export.ts");
  const narrow: CommandContext = {
    ...door,
    cwd: repl.directory,
    api: async () => ({ ...api, session: { ...api.session, tree: () => branchOf(repl, session.id) } }),
  };
  const format = formats[extname(file).toLowerCase()] ?? "text";
  await exportCommand.run({ positionals: [session.id], flags: { format, ...(file === "" ? {} : { output: file }) } }, narrow);
  if (file !== "") door.out.write(`Wrote ${file}\n`);
}

async function branchOf({ api }: Repl, id: string) {
  const view = await api.session.tree({ session: id });
  const sessions = view.sessions.filter((session) => session.id === id);
  const nodes = pathTo(view, sessions[0]?.tip ?? null);
  const turns = new Set(nodes.map((node) => node.turn));
  return { nodes, sessions, turns: view.turns.filter((turn) => turns.has(turn.id)) };
}
