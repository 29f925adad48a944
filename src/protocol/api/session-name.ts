// A session's name is typed and shown, so it has at least one visible character.
import { Fault } from "./error.ts";

/** False for a name of blanks, control characters and invisible format characters only. */
export function isSessionName(name: string): boolean {
  return /[^\p{C}\p{Z}]/u.test(name);
}

export function checkSessionName(name: string): void {
  if (!isSessionName(name))
    throw new Fault("usage", "a session's name can't be empty", { hint: "leave the name out, or give one that can be read" });
}

/** An id or the end of one can't be the name of a new session; a date can. */
export function looksLikeSessionId(text: string): boolean {
  return /^([0-9a-f]{8,12}|[0-9a-f-]{0,23}-[0-9a-f]{12})$/.test(text) && /\d/.test(text);
}
