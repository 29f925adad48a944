// Reads a recorded run of an agent's CLI with its adapter. Prints each event as one short line, for tables in tests.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Adapter, CliEvent } from "../../src/agents/external/adapters/adapter.ts";
import type { Part } from "../../src/protocol/tree/node.ts";

export type Recording = {
  stdout: string;
  stderr: string;
  exitCode: number | null;
  signal: string | null;
  requests: number;
  args: string[];
};

export function recordingOf(cli: string, scenario: string): Recording {
  const file = (end: string): string => join(import.meta.dir, "..", "fixtures", "clis", cli, `${scenario}.${end}`);
  const text = (end: string): string => (existsSync(file(end)) ? readFileSync(file(end), "utf8") : "");
  const facts = JSON.parse(readFileSync(file("json"), "utf8")) as Omit<Recording, "stdout" | "stderr">;
  return { ...facts, stdout: text("jsonl"), stderr: text("stderr") };
}

export function eventsOf(adapter: Adapter, stdout: string): CliEvent[] {
  const reader = adapter.reader();
  const lines = stdout.split("\n").filter((line) => line !== "");
  return [...lines.flatMap((line) => reader.line(line)), ...reader.end()];
}

/** `~` is a delta. An answer shows its parts and its tokens. */
export function lineOf(event: CliEvent): string {
  switch (event.type) {
    case "session":
      return `session ${event.id}${event.model === undefined ? "" : ` ${event.model}`}`;
    case "text.delta":
      return `~ ${event.text}`;
    case "thinking.delta":
      return `~ <${event.text}>`;
    case "answer":
      return `answer ${event.parts.map(partOf).join(" ")}${event.usage === undefined ? "" : ` ${Object.values(event.usage).join("+")}`}`;
    case "result":
      return `result ${event.call} ${event.name}${event.isError ? " failed" : ""}: ${event.text.trim()}`;
    case "sub-agent":
      return `below ${event.call} ${lineOf(event.event)}`;
    case "usage":
      return `usage ${Object.values(event.usage).join("+")}${event.costUsd === undefined ? "" : ` $${event.costUsd.toFixed(4)}`}`;
    case "retry":
      return `retry ${event.message}`;
    case "limit":
      return `limit until ${new Date(event.resetAt).toISOString()}`;
    case "failed":
      return `failed ${event.kind ?? "unknown"}: ${event.message}`;
    case "done":
    case "garbage":
      return event.type;
  }
}

function partOf(part: Part): string {
  if (part.kind === "text") return part.text;
  if (part.kind === "thinking") return `<${part.text}>`;
  return part.kind === "call" ? `${part.id}=${part.name}(${JSON.stringify(part.input)})` : part.kind;
}
