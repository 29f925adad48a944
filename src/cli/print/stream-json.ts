// Prints the line format of Claude Code: system/init, assistant, user, result. skein's own fields are under `skein`.
import type { Event } from "../../protocol/tree/event.ts";
import type { Node, Part, ResultPart } from "../../protocol/tree/node.ts";
import type { ResultRecord } from "../../protocol/json/records.ts";
import { zeroUsage, type Usage } from "../../protocol/tree/usage.ts";
import type { CommandContext } from "../parse/command.ts";
import { printRecord, printWarning, type Printer, type PrintOptions } from "./printer.ts";

export function streamJsonPrinter(ctx: CommandContext, options: PrintOptions): Printer {
  let turn: string | null = null;
  function event(event: Event): void {
    printWarning(ctx, event);
    if (event.type === "turn.started") {
      turn = event.turnId;
      printRecord(ctx, initLine(event, options, ctx));
    }
    if (event.type !== "node.added" || event.turnId !== turn) return;
    if (event.node.author === "agent") printRecord(ctx, assistantLine(event.node));
    if (event.node.author === "tool") printRecord(ctx, userLine(event.node));
  }
  return { event, finish: (result) => printRecord(ctx, resultLine(result)) };
}

function initLine(event: Extract<Event, { type: "turn.started" }>, options: PrintOptions, ctx: CommandContext) {
  return {
    type: "system",
    subtype: "init",
    cwd: event.session.directory,
    session_id: event.sessionId,
    // The tools of another agent are its own, and not known before it runs.
    tools: event.turn.agent === "native" ? options.tools : [],
    mcp_servers: [],
    model: event.turn.model,
    permissionMode: "bypassPermissions",
    apiKeySource: "none",
    skein: { version: ctx.version, turn_id: event.turnId, agent: event.turn.agent, transcript_path: event.session.transcript },
  };
}

function assistantLine(node: Node) {
  return {
    type: "assistant",
    message: {
      id: node.id,
      type: "message",
      role: "assistant",
      model: node.model ?? null,
      content: node.parts.flatMap(contentBlock),
      stop_reason: null,
      usage: usageFields(node.usage),
    },
    parent_tool_use_id: null,
    session_id: node.session,
  };
}

function userLine(node: Node) {
  const content = node.parts
    .filter((part): part is ResultPart => part.kind === "result")
    .map((part) => ({ type: "tool_result", tool_use_id: part.call, content: part.text, is_error: part.isError }));
  return { type: "user", message: { role: "user", content }, parent_tool_use_id: null, session_id: node.session };
}

function contentBlock(part: Part): Record<string, unknown>[] {
  if (part.kind === "text") return [{ type: "text", text: part.text }];
  if (part.kind === "thinking") return [{ type: "thinking", thinking: part.text }];
  if (part.kind === "call") return [{ type: "tool_use", id: part.id, name: part.name, input: part.input }];
  return [];
}

function resultLine(result: ResultRecord) {
  const { usage } = result;
  const isError = result.status !== "ok";
  return {
    type: "result",
    subtype: subtypeOf(result),
    is_error: isError,
    result: isError && result.result === "" ? (result.error?.message ?? "") : result.result,
    num_turns: result.steps,
    duration_ms: result.duration_ms,
    total_cost_usd: result.cost_usd ?? 0,
    usage: usageFields({ ...usage, cacheRead: usage.cache_read, cacheWrite: usage.cache_write }),
    session_id: result.session_id,
    skein: result,
  };
}

function subtypeOf(result: ResultRecord): string {
  if (result.status === "ok") return "success";
  if (result.error?.limit === "steps") return "error_max_turns";
  if (result.error?.limit === "money") return "error_max_budget_usd";
  return "error_during_execution";
}

function usageFields({ input, output, cacheRead, cacheWrite }: Usage = zeroUsage) {
  return {
    input_tokens: input,
    output_tokens: output,
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite,
  };
}
