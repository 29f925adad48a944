// Leaves a turn to the hub: waits for its start, then prints how to find it.
import type { Api } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { Event } from "../../../protocol/tree/event.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { detachedRecord } from "../../../protocol/json/records.ts";
import type { CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { printWarning, type OutputFormat } from "../../print/printer.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";

/** Connects to an Api in the hub with this command's environment. Starts the hub if it does not run. */
export async function connectHubFor(ctx: CommandContext, { cwd, trust }: { cwd: string; trust?: boolean }): Promise<Api> {
  const { connectHub } = await import("../../../hub/find-hub.ts");
  const caller = { directory: cwd, ...(trust === undefined ? {} : { trust }) };
  return (await connectHub(ctx, caller, { start: true })).api;
}

/** Returns when the turn is recorded. An error before that is thrown here. */
export async function detachTurn(events: AsyncIterable<Event>, api: Api, ctx: CommandContext, format: OutputFormat): Promise<number> {
  try {
    for await (const event of events) {
      printWarning(ctx, event);
      if (event.type !== "turn.started") continue;
      const hub = await api.health.check();
      if (format === "json") ctx.out.write(jsonText(detachedRecord(event.turn, hub)));
      else {
        ctx.out.write(`${event.sessionId}\n`);
        ctx.err.write(styleOf(ctx.err).dim(nextCommands(stripControls(event.session.name ?? shortId(event.sessionId)), hub.pid)));
      }
      return 0;
    }
  } finally {
    await api.close();
  }
  throw new Fault("internal", "the turn ended before it had started");
}

function nextCommands(name: string, pid: number): string {
  return `runs in the hub (process ${pid})
  skein attach ${name}    watches it, sends messages, answers questions
  skein logs -f ${name}   only watches
  skein kill ${name}      stops it
`;
}
