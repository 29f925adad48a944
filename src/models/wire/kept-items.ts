// Writes the messages of a request as JSON. A request that continues the one before keeps the text of its older messages, so
// that a call late in a long session costs no more than an early one. The text is the same with and without kept text.
import type { Json } from "../../kit/text/json.ts";
import type { Endpoint, KeptItems, ModelRequest, WireName } from "../model.ts";
import { groupBySide, type MessageSide } from "./parts.ts";

export type SideWriter = {
  wire: WireName;
  /** The items of a side. `ids` holds what the writer added for the sides before. */
  writeSide: (side: MessageSide, ids: Set<string>) => Json[];
  /** Called with the items of the last sides, at least the last two of each role. It may change them. */
  finish?: (items: Json[]) => void;
};

/** These are written anew for each request: the last side can grow, and vendors have marks in the last two of the user. */
const openSideCount = 4;

/** `text` has the items of all messages with commas between them. `lastSides` has at least the last two sides. */
export function writeItems(request: ModelRequest, endpoint: Endpoint, writer: SideWriter): { text: string; lastSides: MessageSide[] } {
  const kept = keptFor(request, `${writer.wire} ${endpoint.vendor} ${request.model}`);
  const newMessages = request.messages.slice(kept.messages.length);
  const sides = groupBySide(newMessages, { wire: writer.wire, model: request.model });
  const closedCount = request.kept === undefined ? 0 : Math.max(0, sides.length - openSideCount);
  const closed = sides.slice(0, closedCount);
  const open = sides.slice(closedCount);
  if (closed.length > 0) {
    kept.text = joinItems(
      kept.text,
      closed.flatMap((side) => writer.writeSide(side, kept.ids)),
    );
    kept.messages = request.messages.slice(0, kept.messages.length + open[0]!.firstMessage);
  }
  const ids = new Set(kept.ids);
  const items = open.flatMap((side) => writer.writeSide(side, ids));
  writer.finish?.(items);
  return { text: joinItems(kept.text, items), lastSides: open };
}

/** The JSON of a body with the list as its last field. */
export function bodyWithItems(fields: Json, name: string, items: string): string {
  return `${JSON.stringify({ ...fields, [name]: [] }).slice(0, -"]}".length)}${items}]}`;
}

export function joinItems(before: string, items: Json[]): string {
  const text = items.map((item) => JSON.stringify(item)).join(",");
  return before === "" || text === "" ? before + text : `${before},${text}`;
}

/** Nothing is kept of a request with other older messages, or of one for another model. */
function keptFor({ kept, messages }: ModelRequest, key: string): KeptItems {
  const items = kept?.items ?? null;
  if (items?.key === key && items.messages.every((message, index) => message === messages[index])) return items;
  const empty: KeptItems = { key, messages: [], text: "", ids: new Set() };
  if (kept !== undefined) kept.items = empty;
  return empty;
}
