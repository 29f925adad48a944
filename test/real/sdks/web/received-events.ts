// Collects the durable events that a page receives over its WebSockets, as the page counts them: a snapshot has all events up
// to its own `seq`, and an event that is not newer than the last one is left out.
import type { Page } from "playwright-core";

type Frame = {
  method?: string;
  params?: { item?: { type?: string; seq?: number; n?: number } };
  result?: { nodes?: unknown; seq?: number };
};

/** The numbers of the events so far. Must be called before the page is loaded. */
export function collectEvents(page: Page): number[] {
  const seqs: number[] = [];
  page.on("websocket", (socket) =>
    socket.on("framereceived", ({ payload }) => {
      const { method, params, result } = JSON.parse(String(payload)) as Frame;
      if (result?.nodes !== undefined && typeof result.seq === "number")
        for (let seq = (seqs.at(-1) ?? 0) + 1; seq <= result.seq; seq += 1) seqs.push(seq);
      const { item } = params ?? {};
      const isDurable = method === "feed.item" && item?.type !== undefined && item.n === undefined;
      if (isDurable && item.seq !== undefined && item.seq > (seqs.at(-1) ?? 0)) seqs.push(item.seq);
    }),
  );
  return seqs;
}
