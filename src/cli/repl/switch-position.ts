// Finds a position in the tree by the user's argument, and moves the conversation there.
// Files are not changed; the output reports that.
import { nodeExcerpt } from "../../protocol/tree/node-summary.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import { Fault } from "../../protocol/api/error.ts";
import { shortId, type Node } from "../../protocol/tree/node.ts";
import { homeProject, type Session } from "../../protocol/tree/turn.ts";
import { printableLabel } from "../print/session-label.ts";
import { styleOf } from "../terminal/style.ts";
import { nodePosition, type TreePosition } from "./navigate.ts";
import type { Repl } from "./repl.ts";

/** Accepts a number of the last listing, the name of a session, or the id (or its end) of a session or of a node of this tree. */
export async function findPosition(repl: Repl, query: string): Promise<TreePosition> {
  if (/^\d{1,3}$/.test(query)) return listedPosition(repl, Number(query));
  const { api, directory, session: current } = repl;
  const view = current === null ? null : await api.session.tree({ session: current.id });
  const node = /^[0-9a-f-]{4,36}$/.test(query) ? findNodeByTail(view?.nodes ?? [], query) : undefined;
  if (node !== undefined) return nodePosition(view?.sessions ?? [], node, current);
  try {
    const session = await api.session.find({ wanted: query, directory });
    return { node: session.tip, session, isCurrent: session.id === current?.id, excerpt: null };
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "session-unknown") throw error;
    throw new Fault("node-unknown", `no node of this tree and no session is named "${query}"`, {
      hint: "/tree shows the nodes, /leaves and /branches number them",
      cause: error,
    });
  }
}

/** Continues in the session at the position. If there is none, moves the current session there. */
export async function goToPosition(repl: Repl, position: TreePosition): Promise<void> {
  const { api, ctx, session } = repl;
  if (position.session !== null && position.session.id !== session?.id) {
    const next = await api.session.find({ wanted: position.session.id, directory: repl.directory });
    await useHere(repl, next);
    repl.session = next;
    repl.isAnnounced = false;
    const path = next.tip === null ? [] : await api.node.path({ node: next.tip });
    return printPosition(repl, `Now in session ${printableLabel(next)}`, path.at(-1) ?? null);
  }
  if (session === null) throw noMessages();
  if (session.tip === position.node) return ctx.out.write("You are already here.\n");
  const node = position.node === null ? null : ((await api.node.path({ node: position.node })).at(-1) ?? null);
  if (node !== null && node.tree !== session.tree)
    throw new Fault("node-unknown", `node ${shortId(node.id)} is in another tree`, {
      hint: "/leaves and /branches list the positions of this one",
    });
  await moveSession(repl, session, { node, text: "Moved" });
}

/** Makes the session the project's current one. A session of another project is current only there. */
export async function useHere({ api, ctx, directory }: Repl, session: Session): Promise<void> {
  if (homeProject(session) === ctx.projectOf(directory)) await api.session.use({ session: session.id, directory });
}

/** Moves the session to a node of its tree; null is the beginning. */
export async function moveSession(repl: Repl, session: Session, move: { node: Node | null; text: string }): Promise<void> {
  repl.session = await repl.api.session.move({ session: session.id, node: move.node?.id ?? null });
  printPosition(repl, move.text, move.node);
}

function printPosition({ ctx: { out } }: Repl, text: string, node: Node | null): void {
  const place =
    node === null ? "the beginning, before the first message" : `${shortId(node.id)} (${node.author === "user" ? "you" : node.author})`;
  const excerpt = node === null ? "" : `: ${oneLine(nodeExcerpt(node), Math.max(20, out.columns - text.length - place.length - 10))}`;
  out.write(`${text}, at ${place}${excerpt}\n${styleOf(out).dim("Files stay as they are; only the conversation moved.")}\n`);
}

function listedPosition({ listing }: Repl, number: number): TreePosition {
  const position = listing[number - 1];
  if (position !== undefined) return position;
  const message = listing.length === 0 ? "a number needs a listing first" : `the last listing goes from 1 to ${listing.length}`;
  throw new Fault("usage", message, { hint: "/leaves and /branches print one" });
}

function findNodeByTail(nodes: readonly Node[], tail: string): Node | undefined {
  const matches = nodes.filter((node) => node.id.endsWith(tail));
  if (matches.length < 2) return matches[0];
  const ids = matches.slice(0, 4).map((node) => node.id);
  throw new Fault("session-ambiguous", `"${tail}" ends the ids of ${matches.length} nodes`, { hint: ids.join(", ") });
}

export function noMessages(): Fault {
  return new Fault("usage", "there are no messages yet", { hint: "type a message first" });
}
