// The slash commands that show the tree, move in it, or add to it. Only undo and redo change files.
import { oneLine, pluralize } from "../../kit/text/cut-text.ts";
import type { TreeView } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { messageText, tokenCounts } from "../commands/tree/context.ts";
import { stepText } from "../commands/tree/undo.ts";
import type { TextOutput } from "../parse/command.ts";
import { printableLabel } from "../print/session-label.ts";
import { treeText } from "../print/tree.ts";
import { printableText, styleOf } from "../terminal/style.ts";
import { tableText } from "../terminal/table.ts";
import { writeBranch } from "./export-branch.ts";
import { findBranches, listLeaves, findMessageBack, type TreePosition } from "./navigate.ts";
import type { Repl } from "./repl.ts";
import { findPosition, goToPosition, moveSession, noMessages, useHere } from "./switch-position.ts";

export async function tree(repl: Repl): Promise<void> {
  const { view, session } = await readTree(repl);
  repl.ctx.out.write(`${treeText(view, repl.ctx.out, session.id)}\n`);
}

export async function fork(repl: Repl, name: string): Promise<void> {
  const { session } = await readTree(repl);
  const forked = await repl.api.session.fork({ session: session.id, at: null, name: name === "" ? null : name });
  await useHere(repl, forked);
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
    out.write("There are no branches yet. /fork starts one, and so does a new message after /back.\n");
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

/** Takes back the last turn with its files, or puts it back. */
export async function takeStep(repl: Repl, step: "undo" | "redo"): Promise<void> {
  const { session } = await readTree(repl);
  const report = await repl.api.session[step]({ session: session.id, dryRun: false });
  repl.session = report.session;
  const text = stepText(report, { step, dryRun: false, label: printableLabel(session) }, styleOf(repl.ctx.out));
  repl.ctx.out.write(step === "undo" ? `${text}/redo puts it back\n` : text);
}

export async function context(repl: Repl): Promise<void> {
  const { session } = await readTree(repl);
  const rendered = await repl.api.context.render({ session: session.id, node: null });
  const style = styleOf(repl.ctx.out);
  const messages = rendered.messages.map(({ text, ...message }) => messageText({ ...message, text: printableText(text.trimEnd()) }, style));
  repl.ctx.out.write(`${tokenCounts(rendered)}\n\n${messages.join("\n")}`);
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

/** Exports the nodes from the first message to here. */
export async function exportBranch(repl: Repl, file: string): Promise<void> {
  const { api, ctx, directory } = repl;
  const { view, session } = await readTree(repl);
  await writeBranch({ api, session, view }, file, { ctx, directory });
  if (file !== "") ctx.out.write(`Wrote ${file}\n`);
}

/** Reads the tree again, because another process may have added to it. */
async function readTree(repl: Repl): Promise<{ view: TreeView; session: Session }> {
  if (repl.session === null) throw noMessages();
  const view = await repl.api.session.tree({ session: repl.session.id });
  const session = view.sessions.find((candidate) => candidate.id === repl.session?.id) ?? repl.session;
  repl.session = session;
  return { view, session };
}

function positionsText(positions: readonly TreePosition[], out: TextOutput, arrow: string): string {
  const style = styleOf(out);
  const rows = positions.map(({ node, session, isCurrent, excerpt }, index) => [
    `${index + 1}.`,
    style.dim(node === null ? "(root)" : shortId(node)),
    isCurrent ? style.green("[current]") : "",
    session === null ? "" : style.cyan(printableLabel(session)),
    excerpt === null
      ? style.dim(`${arrow}${isCurrent ? "(you are here)" : "(continues from here)"}`)
      : `${arrow}"${oneLine(excerpt, 200)}"`,
  ]);
  return tableText(rows, { columns: [{ align: "right" }, {}, {}, {}, {}], width: out.columns });
}
