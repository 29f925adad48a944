// Notes of skein in a session as updates: hand-overs, grafts and warnings as messages, the course of a team or a race as thoughts.
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { textOf, type Node, type Note } from "../../protocol/tree/node.ts";

const shownAs: Record<Note["about"], "agent_message_chunk" | "agent_thought_chunk" | null> = {
  "hand-over": "agent_message_chunk",
  graft: "agent_message_chunk",
  warning: "agent_message_chunk",
  interruption: "agent_thought_chunk",
  correction: "agent_thought_chunk",
  compaction: "agent_thought_chunk",
  check: "agent_thought_chunk",
  group: "agent_thought_chunk",
  team: "agent_thought_chunk",
  race: "agent_thought_chunk",
  // Output of a sub-agent belongs to its call, which has a result of its own.
  below: null,
};

export function noteUpdates(node: Node): SessionUpdate[] {
  const sessionUpdate = node.note === undefined ? "agent_thought_chunk" : shownAs[node.note.about];
  const text = textOf(node);
  if (sessionUpdate === null || text === "") return [];
  return [{ sessionUpdate, content: { type: "text", text: `${text}\n\n` }, messageId: node.id }];
}
