// Grafts the conclusion of one branch into another as one node with its origin. If the session
// moves back before that node, later turns do not get it.
import { cutText } from "../../kit/text/cut-text.ts";
import { Fault } from "../../protocol/api/error.ts";
import { shortId, textOf, type NewNode, type Node } from "../../protocol/tree/node.ts";
import { sessionLabel, type Session } from "../../protocol/tree/turn.ts";
import type { EngineDeps } from "../engine.ts";
import { branchFiles } from "../files/branch-files.ts";
import { branchFilesText } from "../files/branch-text.ts";
import { addNode } from "./tree-ops.ts";

const answerBytes = 16 * 1024;
const promptBytes = 4 * 1024;

export async function graft(deps: EngineDeps, params: { from: string; into: string }): Promise<Node> {
  if (params.from === params.into)
    throw new Fault("usage", "a session can't be grafted into itself", { hint: "name the other one: skein graft <from> --into <to>" });
  const store = await deps.store();
  const [from, into] = [await store.requireSession(params.from), await store.requireSession(params.into)];
  if (from.tip === null) throw new Fault("usage", `${sessionLabel(from)} is empty: there is nothing to graft`);
  const branch = await store.path(from.tip);
  const trunk = new Set((await store.path(into.tip)).map((node) => node.id));
  const added = branch.filter((node) => !trunk.has(node.id));
  if (added.length === 0) throw new Fault("usage", `${sessionLabel(into)} already has all of ${sessionLabel(from)}`);
  const files = await branchFiles(store, deps.snapshots, { path: branch, start: branch.length - added.length });
  return addNode(deps, into.id, graftNode(from, from.tip, added, branchFilesText(files)));
}

/** Adds the last answer of another session as a handle, without any node of its branch. */
export async function addSession(deps: EngineDeps, params: { session: string; from: string }): Promise<Node> {
  const store = await deps.store();
  const from = await store.requireSession(params.from);
  const answer = lastAnswer(await store.path(from.tip));
  if (answer === undefined) throw new Fault("usage", "that session has no answer yet");
  const text = `[session ${sessionLabel(from)}]\n${cutText(textOf(answer), answerBytes, { keep: "both" }).text}`;
  const handle = { source: "session", sourceVersion: "1.0.0", identifier: from.id, metadata: { node: answer.id } };
  return addNode(deps, params.session, { author: "user", parts: [{ kind: "handle", handle, excerpt: text }] });
}

/** The last agent node with text. */
export function lastAnswer(nodes: Node[]): Node | undefined {
  return nodes.findLast((node) => node.author === "agent" && textOf(node) !== "");
}

function graftNode(from: Session, tip: string, nodes: Node[], files: string[]): NewNode {
  const prompts = nodes
    .filter((node) => node.author === "user")
    .map((node) => `- ${cutText(textOf(node), promptBytes, { keep: "head" }).text}`);
  const answer = lastAnswer(nodes);
  const lines = [
    `[Grafted from the branch ${sessionLabel(from)}, node ${shortId(tip)}: its result, for this conversation to build on.]`,
    ...(prompts.length === 0 ? [] : ["", "Prompts there:", ...prompts]),
    "",
    "Its answer:",
    answer === undefined ? "(no answer yet)" : cutText(textOf(answer), answerBytes, { keep: "both" }).text,
    ...files,
  ];
  return {
    author: "note",
    note: { about: "graft", from: { session: from.id, node: tip } },
    parts: [{ kind: "text", text: lines.join("\n") }],
  };
}
