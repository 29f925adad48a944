// Where a prompt goes: one argument may have 128 KB on Linux, and behind walls the whole command is one, as JSON; stdin has
// no such bound.
import { byteLength } from "../../../kit/text/cut-text.ts";
import type { CliLaunch } from "./adapter.ts";

const longestArgument = 60_000;

export function isLongText(text: string): boolean {
  return text.length > longestArgument || byteLength(JSON.stringify(text)) > longestArgument;
}

export function isLongPrompt(launch: CliLaunch): boolean {
  return isLongText(launch.prompt);
}

export function promptOnStdin(launch: CliLaunch): string | null {
  return isLongPrompt(launch) ? launch.prompt : null;
}
