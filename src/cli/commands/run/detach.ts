// A turn that is left to the hub: waited for until it has begun, then told where to find it.
import type { Api } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { Event } from "../../../protocol/tree/event.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { detachedRecord } from "../../../protocol/json/records.ts";
import type { CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { printWarning, type OutputFormat } from "../../print/printer.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";

/** The hub's house as ours would be, with our environment; the hub is started if it does not run. */
export async function connectHubFor(
  { state, home, selfCommand: self, version, env }: CommandContext,
  { cwd, trust }: { cwd: string; trust?: boolean },
): Promise<Api> {
  const { connectHubApi: connectHub } = await import("../../../hub/find-hub.ts");
  const caller = { directory: cwd, ...(trust === undefined ? {} : { trust }) };
  return connectHub({ state, home, selfCommand: self, version, env }, caller, { start: true });
}

/** From the moment it is recorded it is the hub's; what stops it before that is told here. */
export async function detachTurn(events: AsyncIterable<Event>, api: Api, ctx: CommandContext, format: OutputFormat): Promise<number> {
  try {
    for await (const event of events) {
      printWarning(ctx, event);
      if (event.type !== "turn.started") continue;
      const hub = await api.health.check();
      if (format === "json") ctx.out.write(jsonText(detachedRecord(event.turn, hub)));
      else {
        ctx.out.write(`${event.sessionId}\n`);
        ctx.err.write(styleOf(ctx.err).dim(waysBack(stripControls(event.session.name ?? shortId(event.sessionId)), hub.pid)));
      }
      return 0;
    }
  } finally {
    await api.close();
  }
  throw new Fault("internal", "the turn ended without having begun");
}

function waysBack(name: string, pid: number): string {
  return `runs in the hub (process ${pid})
  skein attach ${name}    watches it, talks to it, answers it
  skein logs -f ${name}   only watches
  skein kill ${name}      stops it
`;
}
