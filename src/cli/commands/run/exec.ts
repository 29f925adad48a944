// skein exec: runs a command in a session's directory, with its own stdout, stderr and exit code. An excerpt of the output
// becomes a node that the agent gets.
import { constants } from "node:os";
import { exitCodes, messageOf } from "../../../protocol/api/error.ts";
import type { OutputListener } from "../../../protocol/api/ports.ts";
import { refuseNesting } from "../../../protocol/api/nesting.ts";
import { bareTurn } from "../../../protocol/api/turn-options.ts";
import type { Node } from "../../../protocol/tree/node.ts";
import { nodeRecord } from "../../../protocol/json/records.ts";
import { durationFlag, jsonFlag } from "../../parse/args.ts";
import type { Command, CommandContext, TextOutput } from "../../parse/command.ts";
import { findSession } from "../../parse/find-session.ts";
import { jsonText } from "../../print/json.ts";
import { policyFlags, resolvePolicy, readPolicyFlags } from "./policy-flags.ts";
import { warningText } from "../../print/print-fault.ts";
import { printWarning } from "../../print/printer.ts";
import { incompleteSequence } from "../../../kit/text/terminal-text.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";

export const exec: Command = {
  name: "exec",
  summary: "run a command and put its output into a session",
  usage: '<session> "command" [flags]',
  positionals: { min: 2, max: 2 },
  listing: '`skein list` lists the sessions; to give an agent a task: skein run "task"',
  flags: [{ name: "timeout", value: "duration", summary: "stop the command after this time: 90, 90s, 10m, 2h" }, ...policyFlags, jsonFlag],
  notes: `The command runs in a new shell in the session's directory, under the configured policy or these flags. Its whole output goes to
stdout and stderr, and its exit code is returned (128 and the number of a signal that ended it). The session gets an excerpt.`,
  async run(args, ctx) {
    const timeoutMs = durationFlag(args, "timeout");
    const policyValues = readPolicyFlags(args, ctx);
    // Inside a session the store is hidden, and the search would only say that there is no session.
    refuseNesting(ctx.enclosingSession());
    const api = await ctx.api();
    const session = await findSession(api, ctx, args.positionals[0]);
    const policy = resolvePolicy(policyValues, await api.config.values(), "minimal");
    const output = args.flags["json"] === true ? null : createOutputPipe(ctx, () => void api.turn.cancel({ session: session.id }));
    let stopSignal: "SIGINT" | "SIGTERM" | null = null;
    ctx.onStop((signal) => {
      stopSignal = signal;
      void api.turn.cancel({ session: session.id });
    });
    const params = { ...bareTurn(session.id, policy), command: args.positionals[1] as string, timeoutMs };
    let addedNode: Node | null = null;
    let status: keyof typeof exitCodes = "broken";
    let exitCode = 1;
    for await (const event of api.turn.start(output === null ? params : { ...params, onOutput: output.write })) {
      if (event.type === "tool.exited") exitCode = event.exitCode ?? signalExitCode(event.signal);
      if (event.type === "node.added") addedNode = event.node;
      if (event.type === "turn.ended") status = event.turn.status ?? "broken";
      if (output?.isClosed() === true) continue;
      if (event.type === "tool.denied") ctx.err.write(`${styleOf(ctx.err).dim(`skein: ${stripControls(event.text)}`)}\n`);
      printWarning(ctx, event);
      if (event.type === "turn.ended" && event.turn.error !== null) ctx.err.write(warningText(event.turn.error.message));
    }
    if (output?.isClosed() === true) return closedPipeCode;
    output?.end();
    if (output === null && addedNode !== null) ctx.out.write(jsonText(nodeRecord(addedNode)));
    if (status === "ok") return exitCode;
    return stopSignal === "SIGTERM" && status === "cancelled" ? 143 : exitCodes[status];
  },
};

const closedPipeCode = 128 + constants.signals.SIGPIPE;

/** The exit code that a shell reports for a signal. A command without a signal was refused or could not run. */
function signalExitCode(signal: string | null): number {
  const number = Object.entries(constants.signals).find(([name]) => name === signal)?.[1];
  return number === undefined ? 1 : 128 + number;
}

type OutputPipe = {
  write: OutputListener;
  /** Writes the rest of a character or sequence that is incomplete. */
  end: () => void;
  /** True if a reader is gone. */
  isClosed: () => boolean;
};

/** Writes the output of the command to the same streams of this process. `onClosed` is called once, when a reader is gone. */
function createOutputPipe(ctx: CommandContext, onClosed: () => void): OutputPipe {
  const screens = { stdout: terminalWriter(ctx.out), stderr: terminalWriter(ctx.err) };
  let isClosed = false;
  return {
    async write(chunk, stream) {
      if (isClosed) return;
      const screen = screens[stream];
      if (screen !== null) return screen.write(chunk);
      try {
        await ctx.writeBytes(stream, chunk);
      } catch (error) {
        isClosed = true;
        if ((error as NodeJS.ErrnoException).code !== "EPIPE") ctx.err.write(warningText(`can't write the output: ${messageOf(error)}`));
        onClosed();
      }
    },
    end() {
      screens.stdout?.end();
      screens.stderr?.end();
    },
    isClosed: () => isClosed,
  };
}

/** A character or an escape sequence may be split between two chunks. A terminal gets it in one piece; null without one. */
function terminalWriter(screen: TextOutput): { write: (chunk: Uint8Array) => void; end: () => void } | null {
  if (!screen.isTty) return null;
  const decoder = new TextDecoder();
  let rest = "";
  function write(text: string): void {
    const all = rest + text;
    rest = incompleteSequence(all);
    screen.write(all.slice(0, all.length - rest.length));
  }
  return {
    write: (chunk) => write(decoder.decode(chunk, { stream: true })),
    end: () => write(decoder.decode()),
  };
}
