// Parses one line of a CLI that prints JSON. Never throws, and has no state.
import { hasTooManyValues, type Json } from "../../../../kit/text/json.ts";
import { parseJson, textAt } from "../../../../models/wire/json.ts";
import type { CliEvent } from "../adapter.ts";

/** Returns undefined for text that is not JSON, such as a shortened line. */
export function parseJsonLine(text: string): unknown {
  if (hasTooManyValues(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reads a line that must be an object with a `type`. */
export function readEventLine(text: string, read: (event: Json) => CliEvent[]): CliEvent[] {
  const event = parseJson(text);
  return event === null || textAt(event, "type") === "" ? garbageEvent(text) : read(event);
}

/** The log has the text of the line. */
export function garbageEvent(text: string): CliEvent[] {
  return text.trim() === "" ? [] : [{ type: "garbage" }];
}
