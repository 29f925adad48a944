// How a turn is shown: one printer per output format, each fed with the events and, at the end, the result.
import type { Event } from "../../protocol/event.ts";
import type { ResultRecord } from "../../protocol/records.ts";
import type { Door } from "../command.ts";
import { plain } from "../style.ts";

export const outputFormats = ["text", "json", "stream-json", "events"] as const;
export type OutputFormat = (typeof outputFormats)[number];

export type Printer = {
  event: (event: Event) => void;
  finish: (result: ResultRecord) => void;
};

export type PrintOptions = {
  stream: boolean;
  tools: string[];
  /** A turn of a conversation: who takes it is told once, and being stopped is no error. */
  talk?: "first" | "next";
};

export async function printerFor(format: OutputFormat, door: Door, options: PrintOptions): Promise<Printer> {
  switch (format) {
    case "text":
      return (await import("./text.ts")).textPrinter(door, options);
    case "json":
      return { event: (event) => warn(door, event), finish: (result) => record(door, result) };
    case "events": {
      const { eventRecord } = await import("../../protocol/records.ts");
      return { event: (event) => record(door, eventRecord(event)), finish: (result) => record(door, result) };
    }
    case "stream-json":
      return (await import("./stream-json.ts")).streamJsonPrinter(door, options);
  }
}

/** Where stdout has no record for a warning, a person still sees it. */
export function warn(door: Door, event: Event): void {
  if (event.type === "warning.raised") door.err.write(`skein: ${plain(event.message)}\n`);
}

export function record(door: Door, value: unknown): void {
  door.out.write(`${JSON.stringify(value)}\n`);
}
