// skein exec: runs a command in a session's directory. Its output becomes a node that the agent gets.
import { exitCodes } from "../../../protocol/api/error.ts";
import { bareTurn } from "../../../protocol/api/turn-options.ts";
import type { Node } from "../../../protocol/tree/node.ts";
import { nodeRecord } from "../../../protocol/json/records.ts";
import { durationFlag, jsonFlag } from "../../parse/args.ts";
import type { Command } from "../../parse/command.ts";
import { findSession } from "../../parse/find-session.ts";
import { jsonText } from "../../print/json.ts";
import { policyFlags, resolvePolicy, readPolicyFlags } from "./policy-flags.ts";
import { warningText } from "../../print/print-fault.ts";
import { printWarning } from "../../print/printer.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";

export const exec: Command = {
  name: "exec",
  summary: "run a command and put its output into a session",
  usage: '<session> "command" [flags]',
  positionals: { min: 2, max: 2 },
  flags: [{ name: "timeout", value: "duration", summary: "stop the command after this time: 90, 90s, 10m, 2h" }, ...policyFlags, jsonFlag],
  notes:
    "The command runs in a new shell in the session's directory, under the configured policy or these flags. Its exit code is returned.",
  async run(args, ctx) {
    const timeoutMs = durationFlag(args, "timeout");
    const policyValues = readPolicyFlags(args, ctx);
    const api = await ctx.api();
    const session = await findSession(api, ctx, args.positionals[0]);
    const policy = resolvePolicy(policyValues, await api.config.values(), "minimal");
    const start = { ...bareTurn(session.id, policy), command: args.positionals[1] as string, timeoutMs };
    ctx.onStop(() => void api.turn.cancel({ session: session.id }));
    let addedNode: Node | null = null;
    let status: keyof typeof exitCodes = "broken";
    for await (const event of api.turn.start(start)) {
      if (event.type === "tool.output" && !args.flags["json"]) ctx.out.write(event.text);
      if (event.type === "tool.denied") ctx.err.write(`${styleOf(ctx.err).dim(`skein: ${stripControls(event.text)}`)}\n`);
      if (event.type === "node.added") addedNode = event.node;
      printWarning(ctx, event);
      if (event.type === "turn.ended") status = event.turn.status ?? "broken";
      if (event.type === "turn.ended" && event.turn.error !== null) ctx.err.write(warningText(event.turn.error.message));
    }
    if (args.flags["json"] && addedNode !== null) ctx.out.write(jsonText(nodeRecord(addedNode)));
    return status === "ok" ? exitCodeOf(addedNode) : exitCodes[status];
  },
};

function exitCodeOf(node: Node | null): number {
  const [part] = node?.parts ?? [];
  return (part?.kind === "handle" ? part.handle.metadata.exitCode : null) ?? 1;
}
