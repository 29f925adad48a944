// The slash commands that show the tree, move in it, or add to it. None of them changes files.
import type { Api } from "../../protocol/api/api.ts";
import { extname } from "node:path";
import { oneLine, pluralize } from "../../kit/text/cut-text.ts";
import type { ContextView, TreeView } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { CommandContext, TextOutput } from "../parse/command.ts";
import { printableLabel } from "../print/session-label.ts";
import { treeText } from "../print/tree.ts";
import { printable, styleOf } from "../terminal/style.ts";
import { tableText } from "../terminal/table.ts";
import { findBranches, listLeaves, findMessageBack, pathTo, type TreePosition } from "./navigate.ts";
import type { Repl } from "./repl.ts";
import { findPosition, goToPosition, moveSession, noMessages } from "./switch-position.ts";

export async function tree(repl: Repl): Promise<void> {
  const { view, session } = await readTree(repl);
  repl.ctx.out.write(`${treeText(view, repl.ctx.out, session.id)}\n`);
}

export async function fork(repl: Repl, name: string): Promise<void> {
  const { session } = await readTree(repl);
  const forked = await repl.api.session.fork({ session: session.id, at: null, name: name === "" ? null : name });
  await repl.api.session.use({ session: forked.id, directory: repl.directory });
  repl.session = forked;
  const position = forked.tip === null ? "" : ` at ${shortId(forked.tip)}`;
  repl.ctx.out.write(`Created branch${position}: now in session ${printableLabel(forked)}; ${printableLabel(session)} keeps its place.\n`);
}

export async function back(repl: Repl, argument: string): Promise<void> {
  const count = argument === "" ? 1 : Number(argument);
  if (!/^\d*$/.test(argument) || count < 1) throw new Fault("usage", `/back takes a number of messages, not "${argument}"`);
  const { view, session } = await readTree(repl);
  const { node, distance } = findMessageBack(view, session.tip, count);
  if (distance === 0) throw new Fault("usage", "there is nothing before the first message");
  const note = distance < count ? ", all there are" : "";
  await moveSession(repl, session, { node, text: `Back ${pluralize(distance, "message")}${note}` });
}

export async function branches(repl: Repl): Promise<void> {
  const { view, session } = await readTree(repl);
  const nearest = findBranches(view, session);
  const { out } = repl.ctx;
  if (nearest === null) {
    repl.listing = [];
    out.write("No branches: from the first message to here it is one line. /fork or /back and a new message make one.\n");
    return;
  }
  const { fork: forkNode, positions } = nearest;
  repl.listing = positions;
  const label = forkNode === null ? "The beginning" : forkNode.id === session.tip ? "The current node" : `Node ${shortId(forkNode.id)}`;
  out.write(`${label} has ${positions.length} branches:\n${positionsText(positions, out, "→ ")}`);
}

export async function leaves(repl: Repl): Promise<void> {
  const { view, session } = await readTree(repl);
  repl.listing = listLeaves(view, session);
  repl.ctx.out.write(positionsText(repl.listing, repl.ctx.out, ""));
}

export async function switchTo(repl: Repl, argument: string): Promise<void> {
  if (argument === "")
    throw new Fault("usage", "/switch takes a node, a session, or a number of the last listing", {
      hint: "/leaves and /branches list positions",
    });
  await goToPosition(repl, await findPosition(repl, argument));
}

export async function context(repl: Repl): Promise<void> {
  const { session } = await readTree(repl);
  const rendered = await repl.api.context.render({ session: session.id, node: null });
  repl.ctx.out.write(contextText(rendered, repl.ctx.out));
}

export async function graft(repl: Repl, argument: string): Promise<void> {
  const { session } = await readTree(repl);
  if (argument === "")
    throw new Fault("usage", "/graft takes a session, or a number of the last listing", { hint: "/leaves lists the branches" });
  const { session: from, node } = await findPosition(repl, argument);
  if (from === null)
    throw new Fault("usage", `no session is at ${node === null ? "the beginning" : shortId(node)}`, {
      hint: "/switch there, /fork it, and graft that session",
    });
  const grafted = await repl.api.graft.make({ from: from.id, into: session.id });
  await readTree(repl);
  repl.ctx.out.write(`Grafted ${printableLabel(from)} here as ${shortId(grafted.id)}; the next turn gets it, /back removes it.\n`);
}

const exportFormats: Record<string, string> = { ".md": "md", ".html": "html", ".json": "json", ".jsonl": "jsonl" };

/** The same Api with another `session.tree`. The Api of another process has no fields to copy, so it is the prototype. */
function withTree(api: Api, tree: Api["session"]["tree"]): Api {
  const session = Object.assign(Object.create(api.session) as Api["session"], { tree });
  return Object.assign(Object.create(api) as Api, { session });
}

/** Runs `skein export` on an Api that shows it only the current branch. */
export async function exportBranch(repl: Repl, file: string): Promise<void> {
  const { api, ctx, session } = repl;
  if (session === null) throw noMessages();
  const { exportCommand } = await import("../commands/tree/export.ts");
  const branchContext: CommandContext = {
    ...ctx,
    cwd: repl.directory,
    api: async () => withTree(api, () => readBranch(repl, session.id)),
  };
  const format = exportFormats[extname(file).toLowerCase()] ?? "text";
  await exportCommand.run({ positionals: [session.id], flags: { format, ...(file === "" ? {} : { output: file }) } }, branchContext);
  if (file !== "") ctx.out.write(`Wrote ${file}\n`);
}

async function readBranch({ api }: Repl, id: string): Promise<TreeView> {
  const view = await api.session.tree({ session: id });
  const sessions = view.sessions.filter((session) => session.id === id);
  const nodes = pathTo(view, sessions[0]?.tip ?? null);
  const turns = new Set(nodes.map((node) => node.turn));
  return { nodes, sessions, turns: view.turns.filter((turn) => turns.has(turn.id)) };
}

/** Reads the tree anew: another process may have added to it. */
async function readTree(repl: Repl): Promise<{ view: TreeView; session: Session }> {
  if (repl.session === null) throw noMessages();
  const view = await repl.api.session.tree({ session: repl.session.id });
  const session = view.sessions.find((candidate) => candidate.id === repl.session?.id) ?? repl.session;
  repl.session = session;
  return { view, session };
}

function positionsText(positions: readonly TreePosition[], screen: TextOutput, arrow: string): string {
  const style = styleOf(screen);
  const rows = positions.map(({ node, session, isCurrent, excerpt }, index) => [
    `${index + 1}.`,
    style.dim(node === null ? "(root)" : shortId(node)),
    isCurrent ? style.green("[current]") : "",
    session === null ? "" : style.cyan(printableLabel(session)),
    excerpt === null
      ? style.dim(`${arrow}${isCurrent ? "(you are here)" : "(continues from here)"}`)
      : `${arrow}"${oneLine(excerpt, 200)}"`,
  ]);
  return tableText(rows, { columns: [{ align: "right" }, {}, {}, {}, {}], width: screen.columns });
}

function contextText(view: ContextView, screen: TextOutput): string {
  const style = styleOf(screen);
  const { system, tools, messages } = view.tokens;
  const total = system + tools + messages;
  const head = `${view.model ?? "no model"}: about ${total} tokens (system ${system}, tools ${tools}, messages ${messages})`;
  const blocks = view.messages.map(({ role, text, tokens }) => {
    const body = text.trimEnd().split("\n").map(printable).join("\n");
    return `\n${style.bold(role)} ${style.dim(`~${tokens}`)}\n${body}\n`;
  });
  return `${head}\n${blocks.join("")}`;
}
