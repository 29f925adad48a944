// Decides whether a prompt is an argument or goes to stdin. On Linux an argument has at most 128 KB, and for the sandbox
// the whole command is one argument, as JSON.
import { byteLength } from "../../../kit/text/cut-text.ts";

const maxArgumentBytes = 60_000;

export function isLongPrompt(prompt: string): boolean {
  return prompt.length > maxArgumentBytes || byteLength(JSON.stringify(prompt)) > maxArgumentBytes;
}

/** Returns null for a prompt that is short enough for an argument. */
export function promptOnStdin(prompt: string): string | null {
  return isLongPrompt(prompt) ? prompt : null;
}
