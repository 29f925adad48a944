// Writes one branch of a session, from its first message to its tip. The ending of the file decides the format.
import { extname } from "node:path";
import { absolutePath } from "../../kit/files/absolute-path.ts";
import type { Api, TreeView } from "../../protocol/api/api.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { ExportFormat } from "../commands/tree/export.ts";
import type { CommandContext } from "../parse/command.ts";
import { pathTo } from "./navigate.ts";

const formats: Record<string, ExportFormat> = { ".md": "md", ".html": "html", ".json": "json", ".jsonl": "jsonl" };

type Branch = { api: Api; session: Session; view: TreeView };

/** An empty file is stdout. A relative one starts at the directory. */
export async function writeBranch(
  { api, session, view }: Branch,
  file: string,
  target: { ctx: CommandContext; directory: string },
): Promise<void> {
  const { ctx, directory } = target;
  const nodes = pathTo(view, session.tip);
  const turns = new Set(nodes.map((node) => node.turn));
  const branch = { nodes, sessions: [session], turns: view.turns.filter((turn) => turns.has(turn.id)) };
  const { writeTree } = await import("../commands/tree/export.ts");
  const path = file === "" ? null : absolutePath(file, { cwd: directory, home: ctx.home });
  await writeTree({ session, view: branch }, { api, format: formats[extname(file).toLowerCase()] ?? "text", file: path }, ctx);
}
