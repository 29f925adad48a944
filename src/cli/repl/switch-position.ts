// Going to another place of the tree: what a word names, and whose session one is in afterwards.
// Files are not touched, and it says so.
import { oneLine } from "../../kit/text/cut-text.ts";
import { Fault } from "../../protocol/api/error.ts";
import { shortId, type Node } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { styleOf } from "../terminal/style.ts";
import { sessionLabel } from "./listings.ts";
import type { Repl } from "./repl.ts";
import { nodeExcerpt, type TreePosition } from "./navigate.ts";

/** A number of the last listing, a session by name, id or tail, or a node of this tree by id or tail. */
export async function findPosition(repl: Repl, wanted: string): Promise<TreePosition> {
  if (/^\d{1,3}$/.test(wanted)) return numbered(repl, Number(wanted));
  const { api, directory, session } = repl;
  const view = session === null ? null : await api.session.tree({ session: session.id });
  const node = isTail(wanted) ? nodeByTail(view?.nodes ?? [], wanted) : undefined;
  if (node !== undefined) {
    const resting = view?.sessions.filter((candidate) => candidate.tip === node.id) ?? [];
    const own = resting.find((candidate) => candidate.id === session?.id);
    return { node: node.id, session: own ?? resting[0] ?? null, isOurs: own !== undefined, excerpt: nodeExcerpt(node) };
  }
  try {
    const found = await api.session.find({ wanted, directory });
    return { node: found.tip, session: found, isOurs: found.id === session?.id, excerpt: null };
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "session-unknown") throw error;
    throw new Fault("node-unknown", `no node of this tree and no session is named "${wanted}"`, {
      hint: "/tree shows the nodes, /leaves and /branches number them",
      cause: error,
    });
  }
}

/** Goes on in the session that rests there; where none does, ours moves. */
export async function goToPosition(repl: Repl, position: TreePosition): Promise<void> {
  const { api, door, session } = repl;
  if (position.session !== null && position.session.id !== session?.id) {
    const there = await api.session.find({ wanted: position.session.id, directory: repl.directory });
    await api.session.use({ session: there.id, directory: repl.directory });
    repl.session = there;
    repl.announced = false;
    const path = there.tip === null ? [] : await api.node.path({ node: there.tip });
    tellPlace(repl, `Now in session ${sessionLabel(there)}`, path.at(-1) ?? null);
    return;
  }
  if (session === null) throw new Fault("usage", "nothing was said yet", { hint: "type a message first" });
  if (session.tip === position.node) {
    door.out.write("You are here already.\n");
    return;
  }
  const [node] = position.node === null ? [null] : (await api.node.path({ node: position.node })).slice(-1);
  if (node != null && node.tree !== session.tree)
    throw new Fault("node-unknown", `node ${shortId(node.id)} is in another tree`, {
      hint: "/leaves and /branches list the places of this one",
    });
  await moveSession(repl, session, position.node, "Moved", node ?? null);
}

/** Moves our session to a node of its tree. */
export async function moveSession(repl: Repl, session: Session, node: string | null, what: string, there: Node | null): Promise<void> {
  repl.session = await repl.api.session.move({ session: session.id, node });
  tellPlace(repl, what, there);
}

function tellPlace(repl: Repl, what: string, node: Node | null): void {
  const { out } = repl.door;
  const style = styleOf(out);
  const where = node === null ? "the beginning, before the first message" : `${shortId(node.id)} (${whoOf(node)})`;
  const saying = node === null ? "" : `: ${oneLine(nodeExcerpt(node), Math.max(20, out.columns - what.length - where.length - 10))}`;
  out.write(`${what}, at ${where}${saying}\n${style.dim("Files stay as they are; only the conversation moved.")}\n`);
}

function whoOf(node: Node): string {
  return { user: "you", agent: "agent", tool: "tool", note: "note" }[node.author];
}

function numbered(repl: Repl, number: number): TreePosition {
  const place = repl.listing[number - 1];
  if (place !== undefined) return place;
  const { length } = repl.listing;
  throw new Fault("usage", length === 0 ? "there is no listing to take a number from" : `the last listing goes from 1 to ${length}`, {
    hint: "/leaves and /branches make one",
  });
}

function isTail(wanted: string): boolean {
  return /^[0-9a-f-]{4,36}$/.test(wanted);
}

function nodeByTail(nodes: readonly Node[], wanted: string): Node | undefined {
  const found = nodes.filter((node) => node.id.endsWith(wanted));
  if (found.length < 2) return found[0];
  throw new Fault("session-ambiguous", `"${wanted}" ends the ids of ${found.length} nodes`, {
    hint: found
      .slice(0, 4)
      .map((node) => node.id)
      .join(", "),
  });
}
