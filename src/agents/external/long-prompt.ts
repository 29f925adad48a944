// Where a prompt goes: one argument may have 128 KB on Linux, stdin has no such bound.
import type { CliLaunch } from "./adapter.ts";

const longestArgument = 100_000;

export function isLongPrompt(launch: CliLaunch): boolean {
  return Buffer.byteLength(launch.prompt) > longestArgument;
}

export function promptOnStdin(launch: CliLaunch): string | null {
  return isLongPrompt(launch) ? launch.prompt : null;
}
