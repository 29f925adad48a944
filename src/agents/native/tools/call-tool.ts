// One tool call: validate → run → bound → a node. Whatever goes wrong is a result that the model can act on.
import { cutText } from "../../../kit/text/cut-text.ts";
import { messageOf } from "../../../protocol/api/error.ts";
import type { Handle } from "../../../protocol/tree/handle.ts";
import type { CallPart, ImageData, NewNode, Node, Part, ResultPart } from "../../../protocol/tree/node.ts";
import type { Executor, OutputSink, ToolDefinition, ToolOutcome, TurnContext, TurnInput } from "../../../protocol/api/ports.ts";
import type { TransientEventBody } from "../../../protocol/tree/event.ts";
import { runAskUser, askUserTool, type OpenQuestion } from "./ask-user.ts";
import { runSpawnSession } from "./run-spawn-session.ts";
import { outputEvents } from "./output-events.ts";
import { readOutputPath } from "./read-output.ts";
import { callTeamTool } from "./team-tools.ts";

/** What a model is given of one result; the rest stays behind a handle. */
export const maxResultBytes = 32 * 1024;

export type ToolCallContext = {
  input: TurnInput;
  path: () => Node[];
  tools: ToolDefinition[];
  executor: Executor;
  toolEnv: Record<string, string>;
  context: TurnContext;
  emit: (event: TransientEventBody) => void;
};

/** `failed` marks calls that could not even be tried, so that the loop can stop a model that repeats them. */
export async function callTool(call: CallPart, to: ToolCallContext): Promise<{ node: NewNode; failed: boolean } | OpenQuestion> {
  const refusal = refuse(call, to.tools);
  if (refusal !== null) return { node: resultNode(call, { text: refusal, isError: true }, null), failed: true };
  to.emit({ type: "tool.started", call: call.id, name: call.name, input: call.input });
  try {
    const asked = call.name === askUserTool.name ? await runAskUser(call, to.context) : null;
    if (asked !== null && "ask" in asked) return asked;
    const { outcome, handle } = asked === null ? await run(call, to) : { outcome: asked, handle: null };
    return { node: resultNode(call, outcome, handle), failed: false };
  } catch (error) {
    return { node: resultNode(call, { text: messageOf(error), isError: true }, null), failed: false };
  }
}

/** Some servers give the calls of one message the same id; each needs its own, or a result would be lost. */
export function distinctCalls(parts: Part[]): Part[] {
  const taken = new Set<string>();
  return parts.map((part) => {
    if (part.kind !== "call") return part;
    let id = part.id;
    for (let n = 2; taken.has(id); n++) id = `${part.id}-${n}`;
    taken.add(id);
    return id === part.id ? part : { ...part, id };
  });
}

function refuse(call: CallPart, tools: ToolDefinition[]): string | null {
  if (call.malformed !== undefined) {
    return `The arguments of ${call.name} were not a JSON object: ${cutText(call.malformed, 200, { keep: "head" }).text}. Send them again.`;
  }
  const names = tools.map((tool) => tool.name);
  return names.includes(call.name) ? null : `unknown tool: ${call.name}. The tools are: ${names.join(", ") || "none"}`;
}

async function run(call: CallPart, to: ToolCallContext): Promise<{ outcome: ToolOutcome; handle: Handle | null }> {
  if (call.name === "spawn_session") return { outcome: await runSpawnSession(call, to), handle: null };
  const mailed = await callTeamTool(call, to.context);
  if (mailed !== null) return { outcome: mailed, handle: null };
  const stored = readOutputPath(call, to.path());
  if (stored !== null) return { outcome: await stored.read(to.context), handle: null };

  const events = outputEvents((text) => to.emit({ type: "tool.output", call: call.id, text }));
  let sink: OutputSink | null = null;
  const outcome = await to.executor.callTool(call.name, call.input, {
    session: to.input.session,
    turn: to.input.turn,
    cwd: to.input.directory,
    env: { ...to.toolEnv, ...to.input.env, SKEIN_SESSION_ID: to.input.session },
    signal: to.context.signal,
    pausable: to.context.registerPausable,
    onOutput: (chunk) => {
      sink ??= to.context.keepOutput(call.id, call.name);
      sink.write(chunk);
      events.push(chunk);
    },
  });
  events.flush();
  for (const denial of outcome.denied ?? []) to.emit({ type: "tool.denied", call: call.id, ...denial });
  const metadata = { command: call.input["command"] as string, exitCode: outcome.exitCode ?? null, durationMs: outcome.durationMs ?? 0 };
  if (sink === null) return { outcome, handle: null };
  try {
    return { outcome, handle: await (sink as OutputSink).close(metadata, maxResultBytes) };
  } catch (error) {
    // The call has run, and that is what counts.
    return { outcome: { ...outcome, text: `${outcome.text}\n[the whole output is not kept: ${messageOf(error)}]` }, handle: null };
  }
}

type Answer = { text: string; isError: boolean; images?: ImageData[]; display?: string };

function resultNode(call: CallPart, outcome: Answer, handle: Handle | null): NewNode {
  const whole =
    handle === null ? "" : `\n[whole output, ${handle.metadata.bytes} bytes: read path "${handle.source}:${handle.identifier}"]`;
  const cut = cutText(outcome.text, maxResultBytes, { keep: "both" });
  const part: ResultPart = { kind: "result", call: call.id, name: call.name, text: cut.text + whole, isError: outcome.isError };
  if (outcome.images !== undefined) part.images = outcome.images;
  if (outcome.display !== undefined) part.display = outcome.display;
  if (handle !== null) part.handle = handle;
  return { author: "tool", parts: [part] };
}
