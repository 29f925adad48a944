// The to-do list of an agent as a plan of the protocol. Claude Code, opencode and Gemini write it with a tool that has `todos`,
// Codex prints `items`, and others have `plan`.
import type { PlanEntry } from "@agentclientprotocol/sdk";
import { isRecord, type Json } from "../../kit/text/json.ts";

/** Null if the call writes no to-do list. */
export function planEntries(name: string, input: Json): PlanEntry[] | null {
  if (!/todo|plan/i.test(name)) return null;
  const list = [input["todos"], input["items"], input["plan"], input["entries"]].find((value) => Array.isArray(value));
  if (list === undefined) return null;
  return list.filter(isRecord).flatMap((item): PlanEntry[] => {
    const content = [item["content"], item["text"], item["step"], item["description"], item["title"]].find(
      (value) => typeof value === "string" && value !== "",
    );
    if (typeof content !== "string") return [];
    return [{ content, status: statusOf(item), priority: priorityOf(item["priority"]) }];
  });
}

function statusOf({ status, completed }: Json): PlanEntry["status"] {
  if (completed === true || status === "completed" || status === "done") return "completed";
  return status === "in_progress" || status === "in-progress" ? "in_progress" : "pending";
}

function priorityOf(priority: unknown): PlanEntry["priority"] {
  return priority === "high" || priority === "low" ? priority : "medium";
}
