// How a turn is shown: one printer per output format, each fed with the events and, at the end, the result.
import type { Event } from "../../protocol/tree/event.ts";
import type { ResultRecord } from "../../protocol/json/records.ts";
import type { CommandContext } from "../parse/command.ts";
import { stripControls } from "../terminal/style.ts";

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

export async function printerFor(format: OutputFormat, ctx: CommandContext, options: PrintOptions): Promise<Printer> {
  switch (format) {
    case "text":
      return (await import("./text.ts")).textPrinter(ctx, options);
    case "json":
      return { event: (event) => printWarning(ctx, event), finish: (result) => printRecord(ctx, result) };
    case "events": {
      const { eventRecord } = await import("../../protocol/json/records.ts");
      return { event: (event) => printRecord(ctx, eventRecord(event)), finish: (result) => printRecord(ctx, result) };
    }
    case "stream-json":
      return (await import("./stream-json.ts")).streamJsonPrinter(ctx, options);
  }
}

/** Where stdout has no record for a warning, a person still sees it. */
export function printWarning(ctx: CommandContext, event: Event): void {
  if (event.type === "warning.raised") ctx.err.write(`skein: ${stripControls(event.message)}\n`);
}

export function printRecord(ctx: CommandContext, value: unknown): void {
  ctx.out.write(`${JSON.stringify(value)}\n`);
}
