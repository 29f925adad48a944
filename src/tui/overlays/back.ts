// Goes back to an earlier message: a picker of the user's messages on this path. The choice forks before that message and
// puts its text back into the prompt. Pure.
import { oneLine } from "../../kit/text/cut-text.ts";
import { openPicker } from "../keys/command-actions.ts";
import { step, withNotice, type State, type UpdateResult } from "../model/state.ts";
import { leaveVisit } from "./agents.ts";
import type { PickerItem } from "./picker.ts";

/** While a session is watched, goes back to the own one. With a number, goes back that many messages without a picker. */
export function goBack(state: State, argument = ""): UpdateResult {
  if (state.visit !== null) return leaveVisit(state);
  const items = earlierMessages(state);
  if (items.length === 0) return step(withNotice(state, "there is no earlier message"));
  if (argument === "") return step(openPicker(state, "messages", items));
  const count = Number(argument);
  const item = Number.isSafeInteger(count) && count > 0 ? items[Math.min(count, items.length) - 1] : undefined;
  if (item === undefined) return step(withNotice(state, `back takes a number of messages, not "${oneLine(argument, 40)}"`, "error"));
  return step(state, { type: "go back", node: item.id });
}

/** The user's messages, the newest first. The id of an item is that of its node. */
function earlierMessages({ transcript }: State): PickerItem[] {
  const items = new Map<string, PickerItem>();
  for (const block of transcript.settled) {
    const node = block.id.slice(0, block.id.lastIndexOf("."));
    if (block.kind === "user" && node !== "" && !items.has(node))
      items.set(node, { id: node, label: oneLine(block.text, 200), detail: "", preview: block.text });
  }
  return [...items.values()].toReversed();
}

export function hasEarlierMessages({ transcript }: State): boolean {
  return transcript.settled.some(({ kind }) => kind === "user");
}
