// The drafts of killed turns as nodes, so that readers see the text before the session is used again. They are not stored.
import type { InterruptedTurn, TreeView } from "../schema/results.ts";
import { callsOf, type Node } from "./node.ts";

/** The tree with one more node for each killed turn that had streamed text. */
export function withInterrupted<View extends TreeView>(view: View): View {
  const added = (view.interrupted ?? []).flatMap((turn) => interruptedNode(view, turn) ?? []);
  return added.length === 0 ? view : { ...view, nodes: [...view.nodes, ...added] };
}

/** Drafts as one text that starts with a mark; null without drafts. */
export function interruptedText(
  { drafts }: Pick<InterruptedTurn, "drafts">,
  calls: ReadonlyMap<string, string> = new Map(),
): string | null {
  const texts = drafts.flatMap(({ key, text }) => {
    if (text === "") return [];
    if (key === "text") return [text];
    return [key === "thinking" ? `(thinking) ${text}` : `${calls.get(key) ?? "a call"} had printed:\n${text}`];
  });
  return texts.length === 0 ? null : `[interrupted] ${texts.join("\n\n")}`;
}

/** Its id has dashes where ids end, because no command accepts it. */
function interruptedNode({ nodes, sessions }: TreeView, interrupted: InterruptedTurn): Node | null {
  const session = sessions.find(({ id }) => id === interrupted.session);
  const parent = nodes.find(({ id }) => id === interrupted.parent);
  const calls = parent === undefined ? [] : callsOf(parent).map(({ id, name }) => [id, name] as const);
  const text = interruptedText(interrupted, new Map(calls));
  if (text === null || session === undefined) return null;
  return {
    id: `${interrupted.turn} --------`,
    parent: interrupted.parent,
    tree: session.tree,
    session: session.id,
    turn: interrupted.turn,
    at: session.updatedAt,
    author: "agent",
    parts: [{ kind: "text", text }],
  };
}
