// Renders the terminal sequence of a desktop notification. Used if OpenTUI can't notify in this terminal itself.
import { oneLine } from "../../kit/text/cut-text.ts";
import type { Settings } from "../../protocol/api/api.ts";

const bell = "\x07";

/** tmux passes a sequence on only in a wrapper with doubled ESC, and only if `allow-passthrough` is on. */
export function notificationSequence(method: Settings["notify"], text: string, env: Record<string, string | undefined>): string {
  if (method === "off") return "";
  if (method !== "osc") return bell;
  const sequence = `\x1b]9;skein: ${oneLine(text, 200)}\x07`;
  return env["TMUX"] === undefined ? sequence : `\x1bPtmux;${sequence.replaceAll("\x1b", "\x1b\x1b")}\x1b\\`;
}
