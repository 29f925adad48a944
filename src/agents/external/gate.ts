// How a CLI's requests leave its walls: through our gateway, which alone knows the real key and counts what is spent.
// With the network off the gateway is all that can be reached.
import type { Endpoint, WireName } from "../../models/model.ts";
import { parseModelName } from "../../models/providers.ts";
import { Fault, type TurnError } from "../../protocol/error.ts";
import type { TurnInput } from "../../protocol/ports.ts";
import type { Spent, Usage } from "../../protocol/usage.ts";
import { offerPort, type PortOffer } from "../../sandbox/inner-port.ts";
import { checkBudget } from "../native/budget.ts";
import type { Adapter } from "./adapter.ts";
import { startGateway } from "./gateway.ts";

export type Gate = {
  /** Where the CLI sends its requests, as it sees it. */
  endpoint: { url: string; token: string; wires: readonly WireName[] };
  /** The one port that its walls leave open; null where the network is on. */
  port: number | null;
  /** How the port inside of its namespace gets to us; null where there is no namespace. */
  offer: PortOffer | null;
  isWalled: boolean;
  spent: () => Spent;
  close: () => Promise<void>;
};

export type GateParts = {
  /** Throws a fault that says which key is missing. */
  endpoint: (vendor: string) => Endpoint;
  price: (vendor: string, model: string, usage: Usage) => Promise<number | null>;
  /** What stands around such a turn. */
  wallsOf: (input: TurnInput) => { isWalled: boolean; hasOwnNetwork: boolean };
};

export type GateWatch = {
  /** What was spent around this turn. */
  elsewhere: () => { tokens: number; costUsd: number };
  /** The budget is used up: no further request is let through. */
  onOver: (error: TurnError) => void;
};

const innerPort = 8787;

export function openGate(parts: GateParts, adapter: Adapter, input: TurnInput, watch: GateWatch): Gate {
  const endpoints = adapter.asksAny ? anyEndpoints(parts, input.model) : [parts.endpoint(vendorOf(adapter, input.model).vendor)];
  const { isWalled, hasOwnNetwork } = parts.wallsOf(input);
  let requests = 0;
  const gateway = startGateway({
    listen: { port: 0 },
    vendors: (wire: WireName) => endpoints.find((endpoint) => endpoint.wire === wire) ?? null,
    price: parts.price,
    allow: (spent) => {
      // A request of unknown price must not make the others free.
      const costUsd = gateway.requests().reduce((sum, request) => sum + (request.costUsd ?? 0), 0);
      const over = checkBudget({ usage: spent.usage, costUsd, steps: requests }, input.limits, watch.elsewhere());
      if (over !== null) watch.onOver(over);
      else requests += 1;
      return over;
    },
    onRequest: () => {},
  });
  const offer = hasOwnNetwork ? offerPort() : null;
  const stop = new AbortController();
  if (offer !== null) void offer.take(stop.signal).then((file) => (file === null ? undefined : gateway.serve(file)));
  const port = offer === null ? Number(new URL(gateway.url!).port) : innerPort;
  return {
    endpoint: { url: `http://127.0.0.1:${port}`, token: gateway.token, wires: endpoints.map(({ wire }) => wire) },
    port: isWalled && input.policy.net === "off" ? port : null,
    offer,
    // Who asked for no walls is asked nothing either.
    isWalled: isWalled || input.policy.name === "full",
    spent: gateway.spent,
    close: async () => {
      stop.abort();
      offer?.close();
      await gateway.close();
    },
  };
}

/** The vendor that was named, and the usual ones that have a key; OpenAI speaks both of its protocols. */
function anyEndpoints(parts: GateParts, model: string | null): Endpoint[] {
  const named = model === null ? [] : [parts.endpoint(parseModelName(model).vendor)];
  const usual = ["anthropic", "openai", "gemini"].flatMap((vendor) => endpointWithKey(parts, vendor));
  const chat = usual.flatMap((endpoint) => (endpoint.wire === "openai-responses" ? [{ ...endpoint, wire: "openai-chat" as const }] : []));
  return [...named, ...usual, ...chat];
}

function endpointWithKey(parts: GateParts, vendor: string): Endpoint[] {
  try {
    return [parts.endpoint(vendor)];
  } catch (error) {
    if (error instanceof Fault && error.code === "auth") return [];
    throw error;
  }
}

export function vendorOf(adapter: Adapter, model: string | null): Pick<Adapter, "vendor" | "wire"> {
  if (model !== null && adapter.asksAny) return { vendor: parseModelName(model).vendor, wire: adapter.wire };
  if (model === null || adapter.vendorOf === undefined) return adapter;
  return adapter.vendorOf(parseModelName(model).model);
}
