// Decides whether the prompt of a configured agent is an argument or goes to stdin. On Linux an argument and a variable have
// at most 128 KB, and the sandbox gets the whole command in one variable, as JSON.
import { byteLength } from "../../../kit/text/cut-text.ts";

const maxArgumentBytes = 60_000;

export function isLongPrompt(prompt: string): boolean {
  return prompt.length > maxArgumentBytes || byteLength(JSON.stringify(prompt)) > maxArgumentBytes;
}

/** Returns null for a prompt that is short enough for an argument. */
export function promptOnStdin(prompt: string): string | null {
  return isLongPrompt(prompt) ? prompt : null;
}
