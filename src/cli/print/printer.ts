// The interface of printers, one per output format. A printer gets every event and, at the end, the result.
import type { Event } from "../../protocol/tree/event.ts";
import { eventRecord, type ResultRecord } from "../../protocol/json/records.ts";
import type { CommandContext } from "../parse/command.ts";
import type { WatchEvents } from "../live/watch-sub-session.ts";
import { warningText } from "./print-fault.ts";

export const outputFormats = ["text", "json", "stream-json", "events"] as const;
export type OutputFormat = (typeof outputFormats)[number];

export type Printer = {
  event: (event: Event) => void;
  finish: (result: ResultRecord) => void;
  /** Called once at the end, also if the turn had no result. */
  close?: () => void;
};

export type PrintOptions = {
  stream: boolean;
  tools: string[];
  /** Prints only the answer and errors. */
  quiet?: boolean;
  /** Set for a turn of a conversation. Only the first prints the agent, and a cancelled turn is not an error. */
  conversation?: "first" | "next";
  /** The directory from which the user started the turn. A printer shows the session's directory if it is another one. */
  directory?: string;
  /** Watches the sub-sessions, to show what they do. */
  watch?: WatchEvents;
};

export async function printerFor(format: OutputFormat, ctx: CommandContext, options: PrintOptions): Promise<Printer> {
  switch (format) {
    case "text":
      return (await import("./text.ts")).textPrinter(ctx, options);
    case "json":
      return { event: (event) => printWarning(ctx, event), finish: (result) => printRecord(ctx, result) };
    case "events":
      return { event: recordPrinter(ctx), finish: (result) => printRecord(ctx, result) };
    case "stream-json":
      return (await import("./stream-json.ts")).streamJsonPrinter(ctx, options);
  }
}

/** Prints warnings to stderr for formats whose stdout has no record for them. */
export function printWarning(ctx: CommandContext, event: Event): void {
  if (event.type === "warning.raised") ctx.err.write(warningText(event.message));
}

export function recordPrinter(ctx: CommandContext): (event: Event) => void {
  return (event) => printRecord(ctx, eventRecord(event));
}

export function printRecord(ctx: CommandContext, value: unknown): void {
  ctx.out.write(`${JSON.stringify(value)}\n`);
}
