// The part of a stream reader that all wires share. Each wire reads its own events.
import type { Opaque, Part } from "../../protocol/tree/node.ts";
import { zeroUsage, type Usage } from "../../protocol/tree/usage.ts";
import type { Json } from "../../kit/text/json.ts";
import type { ServerEvent, StopReason, VendorError, WireEvent, WireName, WireReader } from "../model.ts";
import { parseJson } from "./json.ts";

export abstract class JsonReader implements WireReader {
  protected usage: Usage = zeroUsage;
  /** Null until the vendor has sent why the answer ended. */
  protected stop: StopReason | null = null;
  readonly #wire: WireName;
  readonly #model: string;

  constructor(wire: WireName, model: string) {
    this.#wire = wire;
    this.#model = model;
  }

  /** `event` is the name of the event, or empty. */
  protected abstract readEvent(data: Json, event: string): WireEvent[];

  /** Leaves out calls whose arguments are incomplete, unless the answer is finished. */
  protected abstract parts(isFinished: boolean): Part[];

  push({ event, data }: ServerEvent): WireEvent[] {
    const json = parseJson(data);
    if (json) return this.readEvent(json, event);
    return failed({ status: null, code: "invalid-json", message: "the answer had an event that is not JSON" });
  }

  finish(): ReturnType<WireReader["finish"]> {
    if (this.stop === null) return null;
    const parts = this.parts(true);
    const hasCalls = parts.some((part) => part.kind === "call");
    return { parts, usage: this.usage, stop: this.stop === "end" && hasCalls ? "calls" : this.stop };
  }

  partial(): { parts: Part[]; usage: Usage } {
    return { parts: this.parts(false), usage: this.usage };
  }

  ended(): boolean {
    return this.stop !== null;
  }

  /** Most vendors count cached tokens as part of the prompt. */
  protected countTokens(prompt: number, output: number, cached: { read?: number; write?: number }): void {
    const { read = 0, write = 0 } = cached;
    this.usage = { input: Math.max(0, prompt - read - write), output, cacheRead: read, cacheWrite: write };
  }

  protected opaque(data: Json): Opaque {
    return { wire: this.#wire, model: this.#model, data };
  }
}

export function failed(problem: VendorError): WireEvent[] {
  return [{ type: "failed", problem }];
}
