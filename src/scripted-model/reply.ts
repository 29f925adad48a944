// Sends an answer over HTTP: all at once, or event by event if there is a delay or a fault.
import { eventText, type ScriptedAnswer, type ServerWire } from "./wires/wire.ts";
import type { ServerFault } from "./script.ts";

export type Delivery = { stream: boolean; chunkDelayMs: number; fault: ServerFault | null; signal: AbortSignal };

export function sendAnswer(wire: ServerWire, answer: ScriptedAnswer, delivery: Delivery): Response {
  if (!delivery.stream) return Response.json(wire.fullBody(answer));
  const events = wire.events(answer).map(eventText);
  const { fault } = delivery;
  const delayMs = fault?.type === "slow" ? fault.delayMs : delivery.chunkDelayMs;
  if (fault === null || !isInterrupting(fault)) return stream(delayMs === 0 ? [events.join("")] : events, delayMs, "end", delivery.signal);
  const sent = events.slice(0, fault.afterEvents ?? Math.ceil(events.length / 2));
  if (fault.type !== "error-event") return stream(sent, delayMs, fault.type, delivery.signal);
  const errors = wire.errorEvents(fault.message ?? "scripted error").map(eventText);
  return stream([...sent, ...errors], delayMs, "end", delivery.signal);
}

export function sendFailure(wire: ServerWire, fault: Extract<ServerFault, { type: "status" }>): Response {
  const headers: Record<string, string> = fault.retryAfter === undefined ? {} : { "retry-after": fault.retryAfter };
  return Response.json(wire.failure(fault.status, fault.message ?? `scripted ${fault.status}`), { status: fault.status, headers });
}

export function isInterrupting(fault: ServerFault): fault is Extract<ServerFault, { type: "drop" | "stall" | "error-event" }> {
  return fault.type === "drop" || fault.type === "stall" || fault.type === "error-event";
}

function stream(texts: string[], delayMs: number, ending: "end" | "drop" | "stall", signal: AbortSignal): Response {
  const headers = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" };
  if (delayMs === 0 && ending === "end") return new Response(texts.join(""), { headers });
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      for (const text of texts) {
        if (signal.aborted) return;
        controller.enqueue(encoder.encode(text));
        await Bun.sleep(delayMs);
      }
      if (ending === "stall" || signal.aborted) return;
      // `undefined` resets the connection and prints nothing.
      if (ending === "drop") controller.error(undefined);
      else controller.close();
    },
  });
  return new Response(body, { headers });
}
