// Runs the command of a shell turn. Its output becomes a user node with a handle, so that the next request includes it.
import type { OutputStream } from "../kit/process/output-reader.ts";
import { cutText, oneLine } from "../kit/text/cut-text.ts";
import { Fault } from "../protocol/api/error.ts";
import type { Handle } from "../protocol/tree/handle.ts";
import { maxResultBytes, type NewNode } from "../protocol/tree/node.ts";
import type { OutputListener, ToolCallOptions, ToolOutcome, TurnContext, TurnInput } from "../protocol/api/ports.ts";
import type { TurnEnd } from "../protocol/tree/turn.ts";
import { outputEvents } from "../kit/flow/output-events.ts";
import type { ShellAgentDeps } from "./shell.ts";
import type { Emit } from "./stream-turn.ts";

const call = "exec";
/** Even an empty output is stored: its handle has the exit code. */
const storeAlways = -1;
const maxReasonLength = 400;

type CommandTurn = { input: TurnInput; context: TurnContext; emit: Emit };

export async function runCommand(deps: ShellAgentDeps, { input, context, emit }: CommandTurn): Promise<TurnEnd> {
  const command = input.command ?? "";
  await context.keepFiles();
  emit({ type: "transient", event: { type: "tool.started", call, name: "bash", input: { command } } });
  const output = commandOutput({ input, context, emit });
  const sink = context.keepOutput(call, "bash");
  const options: ToolCallOptions = {
    session: input.session,
    cwd: input.directory,
    env: { ...deps.toolEnv, ...input.env },
    signal: context.signal,
    pausable: context.registerPausable,
    separateStreams: output.isSeparate,
    onOutput: (chunk, stream) => {
      sink.write(chunk);
      return output.push(chunk, stream);
    },
  };
  const outcome = await deps.executor(input).callTool("bash", { command }, options);
  output.flush();
  // The command did not end by itself, so its output does not give the reason.
  if (outcome.isError && outcome.exitCode === undefined)
    emit({ type: "transient", event: { type: "warning.raised", message: oneLine(outcome.text, maxReasonLength) } });
  for (const { what, text } of outcome.denied ?? []) emit({ type: "transient", event: { type: "tool.denied", call, what, text } });
  const { exitCode = null, signal = null, durationMs = 0 } = outcome;
  emit({ type: "transient", event: { type: "tool.exited", call, exitCode, signal, durationMs } });
  const metadata = { command, exitCode, durationMs };
  const handle = await sink.close(metadata, storeAlways);
  emit({ type: "node", node: outputNode(input, outcome, handle), recorded: () => {} });
  return { status: context.signal.aborted ? "cancelled" : "ok" };
}

type CommandOutput = { isSeparate: boolean; push: OutputListener; flush: () => void };

/**
 * Passes the output to watchers, and the whole of it to the caller. Only the streams of a command of the user are kept
 * apart: a model that reads the output of a check needs the lines in their order.
 */
function commandOutput({ input, context, emit }: CommandTurn): CommandOutput {
  const isSeparate = input.copies === undefined && input.session === input.root;
  const eventsOf = (stream: OutputStream) =>
    outputEvents((text) => emit({ type: "transient", event: { type: "tool.output", call, text, ...(isSeparate ? { stream } : {}) } }));
  const events = { stdout: eventsOf("stdout"), stderr: eventsOf("stderr") };
  const stopped = new Promise<void>((resolve) => context.signal.addEventListener("abort", () => resolve(), { once: true }));
  return {
    isSeparate,
    push(chunk, stream) {
      events[stream].push(chunk);
      // A reader that never reads must not delay the end of a command that is being stopped.
      if (input.onOutput !== undefined && !context.signal.aborted) return Promise.race([input.onOutput(chunk, stream), stopped]);
    },
    flush() {
      events.stdout.flush();
      events.stderr.flush();
    },
  };
}

function outputNode({ command, copies }: TurnInput, { text, isError }: ToolOutcome, handle: Handle | null): NewNode {
  if (copies !== undefined && isError) throw new Fault("file-unreadable", `${copies.source} ${copies.identifier}: ${lastLine(text)}`);
  const title = copies === undefined ? `$ ${command ?? ""}` : `[${copies.source} ${copies.identifier}]`;
  const sentBytes = copies?.sentBytes ?? maxResultBytes;
  const excerpt = `${title}\n${cutText(text, sentBytes, { keep: "both" }).text}`;
  if (handle === null) return { author: "user", parts: [{ kind: "text", text: excerpt }] };
  const shownHandle = copies === undefined ? handle : copyOf(handle, copies);
  return { author: "user", parts: [{ kind: "handle", handle: shownHandle, excerpt: excerpt + fullOutputText(handle, sentBytes) }] };
}

/** Points at the source file, but keeps the identifier of the stored copy, so that the copy can still be read. */
function copyOf(handle: Handle, { source, identifier }: Pick<Handle, "source" | "identifier">): Handle {
  return { ...handle, source, identifier, metadata: { ...handle.metadata, stored: handle.identifier } };
}

function fullOutputText(handle: Handle, sentBytes: number): string {
  return (handle.metadata.bytes ?? 0) <= sentBytes
    ? ""
    : `\n[whole output, ${handle.metadata.bytes} bytes: read path "bash:${handle.identifier}"]`;
}

/** The last line that the program printed. The line after it only has the exit code. */
function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-2) ?? text;
}
