// One line of a CLI that prints JSON: what is in it, or that it is none. Never throws, keeps nothing.
import { cutText } from "../../../../kit/text/cut-text.ts";
import type { CliEvent } from "../adapter.ts";

/** Undefined when it is no JSON, as when it was cut. */
export function parseJsonLine(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const garbageBytes = 2000;

/** Only its beginning: whoever wants it whole has the log. */
export function garbageEvent(text: string): CliEvent[] {
  return text.trim() === "" ? [] : [{ type: "garbage", text: cutText(text, garbageBytes, { keep: "head" }).text }];
}
