// Decides whether a prompt is an argument or goes to stdin. On Linux an argument has at most 128 KB, and for the sandbox
// the whole command is one argument, as JSON.
import { byteLength } from "../../../kit/text/cut-text.ts";
import type { CliLaunch } from "./adapter.ts";

const maxArgumentBytes = 60_000;

export function isLongText(text: string): boolean {
  return text.length > maxArgumentBytes || byteLength(JSON.stringify(text)) > maxArgumentBytes;
}

export function isLongPrompt(launch: CliLaunch): boolean {
  return isLongText(launch.prompt);
}

export function promptOnStdin(launch: CliLaunch): string | null {
  return isLongPrompt(launch) ? launch.prompt : null;
}
