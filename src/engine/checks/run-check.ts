// Runs a check: a shell command in the sandbox and the directory of a turn. Only its exit code decides; no model is asked.
// The whole output is stored and is the handle of the result.
import type { Handle } from "../../protocol/tree/handle.ts";
import { maxResultBytes, type NewNode } from "../../protocol/tree/node.ts";
import type { CommandRunner, CommandTurn } from "../../protocol/api/ports.ts";
import type { CheckOutcome } from "../../protocol/tree/turn.ts";
import { cutText } from "../../kit/text/cut-text.ts";
import type { Lease, Store } from "../../store/store.ts";
import { OutputDigest } from "./output-digest.ts";

/** Even an empty output is stored: its handle has the exit code. */
const storeAlways = -1;

export type CheckRequest = {
  command: string;
  /** After this time the command and all its processes are stopped, and the check has failed. */
  timeoutMs: number;
  turn: CommandTurn;
  signal: AbortSignal;
  /** Called with each chunk of output. */
  onOutput?: (chunk: Uint8Array) => void;
};

export type CheckResult = CheckOutcome & {
  /** The head and the tail of the output, and how the command ended. */
  excerpt: string;
  handle: Handle;
};

/** The lease is that of the session that the output belongs to. */
export type CheckDeps = { runCommand: CommandRunner; store: Pick<Store, "openOutput">; lease: Lease };

/** A command that can't be started has failed too; the excerpt says why. Throws only if the output can't be stored. */
export async function runCheck({ runCommand, store, lease }: CheckDeps, request: CheckRequest): Promise<CheckResult> {
  const { command, timeoutMs, turn, signal } = request;
  const sink = store.openOutput(lease, "check", "bash");
  const digest = new OutputDigest();
  const outcome = await runCommand(turn, {
    command,
    timeoutMs,
    signal,
    onOutput: (chunk) => {
      sink.write(chunk);
      digest.push(chunk);
      request.onOutput?.(chunk);
    },
  });
  const { exitCode = null, durationMs = 0 } = outcome;
  const handle = await sink.close({ command, exitCode, durationMs }, storeAlways);
  return {
    command,
    passed: exitCode === 0 && !outcome.isError,
    exitCode,
    durationMs,
    // The exit code is part of the digest: a killed check differs from a failed one.
    digest: `${exitCode ?? "none"}:${digest.digest()}`,
    excerpt: cutText(outcome.text, maxResultBytes, { keep: "both" }).text,
    handle: handle!,
  };
}

/** The node that records a check. It is shown and never sent to a model; the next prompt has the output. */
export function checkNode({ excerpt, handle, ...outcome }: CheckResult): NewNode {
  const text = `$ ${outcome.command.replaceAll("\n", " ")}\n${excerpt}`;
  return { author: "note", note: { about: "check", check: outcome }, parts: [{ kind: "handle", handle, excerpt: text }] };
}
