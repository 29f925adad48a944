// What makes a terminal tell the person that something happened while they looked elsewhere, where it is not known to have
// a way of its own.
import { oneLine } from "../../kit/text/cut-text.ts";
import type { Settings } from "../../protocol/api/api.ts";

const bell = "\x07";

/** tmux hands a sequence on only in an envelope, with each ESC twice, and only where `allow-passthrough` is on. */
export function notification(how: Settings["notify"], text: string, env: Record<string, string | undefined>): string {
  if (how === "off") return "";
  if (how !== "osc") return bell;
  const told = `\x1b]9;skein: ${oneLine(text, 200)}\x07`;
  return env["TMUX"] === undefined ? told : `\x1bPtmux;${told.replaceAll("\x1b", "\x1b\x1b")}\x1b\\`;
}
