// Parses one line of a CLI that prints JSON. Never throws, and has no state.
import { cutText } from "../../../../kit/text/cut-text.ts";
import type { CliEvent } from "../adapter.ts";

/** Returns undefined for text that is not JSON, such as a shortened line. */
export function parseJsonLine(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const maxGarbageBytes = 2000;

/** Keeps the beginning of the line. The log has it in full. */
export function garbageEvent(text: string): CliEvent[] {
  return text.trim() === "" ? [] : [{ type: "garbage", text: cutText(text, maxGarbageBytes, { keep: "head" }).text }];
}
