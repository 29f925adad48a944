// Runs the tool calls of one answer and turns each result into a node. A failure becomes a result that the model can read.
// Refuses unknown names and malformed arguments; each tool checks its own input.
import { createFeed } from "../../../kit/flow/feed.ts";
import { cutText } from "../../../kit/text/cut-text.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import type { Handle } from "../../../protocol/tree/handle.ts";
import { mcpToolName } from "../../../protocol/api/tool-table.ts";
import { maxResultBytes, type CallPart, type NewNode, type ResultPart } from "../../../protocol/tree/node.ts";
import type { AgentEvent, Executor, OutputSink, ToolDefinition, ToolOutcome } from "../../../protocol/api/ports.ts";
import type { TransientEventBody } from "../../../protocol/tree/event.ts";
import { addNode, type LoopState } from "../turn-state.ts";
import { runAskUser, askUserTool, type OpenQuestion } from "./ask-user.ts";
import { outputEvents } from "../../../kit/flow/output-events.ts";
import { runMcp } from "./mcp.ts";
import { readOutputPath } from "./read-output.ts";
import { runSpawnSession, spawnSessionTool } from "./spawn-session.ts";
import { callTeamTool } from "./team-tools.ts";

export type ToolCallContext = Pick<LoopState, "input" | "path" | "tools" | "servers" | "context"> & {
  executor: Executor;
  toolEnv: Record<string, string>;
  emit: (event: TransientEventBody) => void;
};

/** `allInvalid` is true if every call had an unknown name or malformed arguments. Calls of open questions have no result yet. */
type CallsResult = { allInvalid: boolean; openQuestions: OpenQuestion[] };

/** Runs the calls in parallel, and stores each result as soon as its call has ended. */
export async function* runCalls(state: LoopState, calls: CallPart[]): AsyncGenerator<AgentEvent, CallsResult> {
  const feed = createFeed<{ node: NewNode } | { event: TransientEventBody }>();
  const { executor, toolEnv } = state.deps;
  const ctx: ToolCallContext = { ...state, executor: executor(state.input), toolEnv, emit: (event) => feed.push({ event }) };
  let invalidCount = 0;
  const openQuestions: OpenQuestion[] = [];
  await state.context.keepFiles();
  const running = calls.map(async (call) => {
    const result = await callTool(call, ctx);
    if ("ask" in result) return openQuestions.push(result);
    if (result.isInvalid) invalidCount++;
    return feed.push({ node: result.node });
  });
  void Promise.allSettled(running).then(() => feed.end());
  for await (const item of feed) {
    if ("node" in item) yield* addNode(state, item.node);
    else yield { type: "transient", event: item.event };
  }
  if (state.context.signal.aborted) throw new Fault("internal", "the turn was stopped");
  return { allInvalid: invalidCount === calls.length, openQuestions };
}

/** `isInvalid` marks a call that was not run. A model that repeats such calls is stopped. */
export async function callTool(call: CallPart, ctx: ToolCallContext): Promise<{ node: NewNode; isInvalid: boolean } | OpenQuestion> {
  const problem = findProblem(call, ctx.tools);
  if (problem !== null) return { node: resultNode(call, { text: problem, isError: true }), isInvalid: true };
  ctx.emit({ type: "tool.started", call: call.id, name: call.name, input: call.input });
  try {
    const result = await runCall(call, ctx);
    return "ask" in result ? result : { node: resultNode(call, result), isInvalid: false };
  } catch (error) {
    return { node: resultNode(call, { text: errorText(error), isError: true }), isInvalid: false };
  }
}

/** With the hint, which lists the choices if a name is unknown. */
function errorText(error: unknown): string {
  const hint = error instanceof Fault ? error.hint : undefined;
  return hint === undefined ? messageOf(error) : `${messageOf(error)} (${hint})`;
}

function findProblem(call: CallPart, tools: ToolDefinition[]): string | null {
  if (call.malformed !== undefined) {
    return `The arguments of ${call.name} were not a JSON object: ${cutText(call.malformed, 200, { keep: "head" }).text}. Send them again.`;
  }
  const names = tools.map((tool) => tool.name);
  return names.includes(call.name) ? null : `unknown tool: ${call.name}. The tools are: ${names.join(", ") || "none"}`;
}

/** `handle` points at the stored output; it is missing if the tool printed nothing. */
type CallResult = ToolOutcome & { handle?: Handle };

/** Some tools run in this process: a tool in the executor can't start turns, ask the user or send mail. */
async function runCall(call: CallPart, ctx: ToolCallContext): Promise<CallResult | OpenQuestion> {
  if (call.name === askUserTool.name) return runAskUser(call, ctx.context);
  if (call.name === spawnSessionTool.name) return runSpawnSession(call, ctx);
  if (call.name === mcpToolName) return runMcp(call, ctx);
  return (await callTeamTool(call, ctx.context)) ?? (await readOutputPath(call, ctx.path, ctx.context)) ?? runInExecutor(call, ctx);
}

async function runInExecutor(call: CallPart, { input, executor, toolEnv, context, emit }: ToolCallContext): Promise<CallResult> {
  const events = outputEvents((text) => emit({ type: "tool.output", call: call.id, text }));
  let sink: OutputSink | null = null;
  const outcome = await executor.callTool(call.name, call.input, {
    session: input.session,
    cwd: input.directory,
    env: { ...toolEnv, ...input.env },
    signal: context.signal,
    pausable: context.registerPausable,
    onOutput: (chunk) => {
      sink ??= context.keepOutput(call.id, call.name);
      sink.write(chunk);
      events.push(chunk);
    },
  });
  events.flush();
  for (const { what, text } of outcome.denied ?? []) emit({ type: "tool.denied", call: call.id, what, text });
  const metadata = { command: call.input["command"] as string, exitCode: outcome.exitCode ?? null, durationMs: outcome.durationMs ?? 0 };
  if (sink === null) return outcome;
  try {
    const handle = await (sink as OutputSink).close(metadata, maxResultBytes);
    return handle === null ? outcome : { ...outcome, handle };
  } catch (error) {
    // The call has run, so its result must be reported even without its full output.
    return { ...outcome, text: `${outcome.text}\n[the whole output is not stored: ${messageOf(error)}]` };
  }
}

function resultNode(call: CallPart, { text, isError, images, display, handle }: CallResult): NewNode {
  const pointer =
    handle === undefined ? "" : `\n[whole output, ${handle.metadata.bytes} bytes: read path "${handle.source}:${handle.identifier}"]`;
  const excerpt = cutText(text, maxResultBytes, { keep: "both" }).text;
  const part: ResultPart = { kind: "result", call: call.id, name: call.name, text: excerpt + pointer, isError };
  if (images !== undefined) part.images = images;
  if (display !== undefined) part.display = display;
  if (handle !== undefined) part.handle = handle;
  return { author: "tool", parts: [part] };
}
