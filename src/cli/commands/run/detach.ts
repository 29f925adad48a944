// Leaves a turn to the hub: waits for its start, then prints how to find it.
import type { Api, TurnStartParams } from "../../../protocol/api/api.ts";
import type { PendingTurn } from "../../../protocol/api/control.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { Event } from "../../../protocol/tree/event.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { detachedRecord, queuedRecord } from "../../../protocol/json/records.ts";
import type { AppOverrides, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { printWarning, type OutputFormat } from "../../print/printer.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";

/** Connects to an Api in the hub with this command's environment. Starts the hub if it does not run. */
export async function connectHubFor(ctx: CommandContext, { cwd, trust }: { cwd: string } & Pick<AppOverrides, "trust">): Promise<Api> {
  const { connectHub } = await import("../../../hub/find-hub.ts");
  const caller = { directory: cwd, ...(typeof trust === "boolean" ? { trust } : {}) };
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

/** Leaves a turn to the hub, which runs it after the session's other turns. Returns at once. */
export async function queueTurn(api: Api, params: TurnStartParams, ctx: CommandContext, format: OutputFormat): Promise<number> {
  try {
    const pending = await api.turn.queue(params);
    const hub = await api.health.check();
    if (format === "json") ctx.out.write(jsonText(queuedRecord(pending, hub)));
    else {
      ctx.out.write(`${pending.id}\n`);
      ctx.err.write(styleOf(ctx.err).dim(queuedText(pending, hub.pid)));
    }
    return 0;
  } finally {
    await api.close();
  }
}

function queuedText({ id, session, place }: PendingTurn, pid: number): string {
  return `number ${place} in the queue of session ${shortId(session)}, run by the hub (process ${pid})
  skein logs -f ${shortId(session)}   watches the session
  skein kill ${shortId(id)}      withdraws this turn
`;
}

function nextCommands(name: string, pid: number): string {
  return `runs in the hub (process ${pid})
  skein attach ${name}    watches it, sends messages, answers questions
  skein logs -f ${name}   only watches
  skein kill ${name}      stops it
`;
}
