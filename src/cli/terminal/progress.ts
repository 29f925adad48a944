// Shows one line on a terminal during a long operation, and clears it afterwards. Prints nothing without a terminal.
import type { CommandContext } from "../parse/command.ts";
import { stripControls } from "./style.ts";
import { cutToWidth } from "./table.ts";

export type ProgressLine = { show: (text: string) => void; clear: () => void };

export function progressLine({ err }: Pick<CommandContext, "err">): ProgressLine {
  let isShown = false;
  return {
    show(text) {
      if (!err.isTty) return;
      isShown = true;
      err.write(`\r${cutToWidth(stripControls(text), err.columns - 1)}\x1b[K`);
    },
    clear() {
      if (isShown) err.write("\r\x1b[K");
      isShown = false;
    },
  };
}

const showAfterMs = 1_000;

/** Shows `text` if `act` takes longer than a second. */
export async function whileWaiting<Result>(ctx: Pick<CommandContext, "err">, text: string, act: () => Promise<Result>): Promise<Result> {
  const line = progressLine(ctx);
  const timer = setTimeout(() => line.show(`${text} ...`), showAfterMs);
  try {
    return await act();
  } finally {
    clearTimeout(timer);
    line.clear();
  }
}
