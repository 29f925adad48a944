// One line on a terminal while something takes long, gone when it is over. Nothing where stderr is not a terminal.
import type { CommandContext } from "../parse/command.ts";
import { stripControls } from "./style.ts";
import { fit } from "./table.ts";

export type ProgressLine = { show: (text: string) => void; clear: () => void };

export function progressLine({ err }: Pick<CommandContext, "err">): ProgressLine {
  let isShown = false;
  return {
    show(text) {
      if (!err.isTty) return;
      isShown = true;
      err.write(`\r${fit(stripControls(text), err.columns - 1)}\x1b[K`);
    },
    clear() {
      if (isShown) err.write("\r\x1b[K");
      isShown = false;
    },
  };
}

const patienceMs = 1_000;

/** Says what is going on when it takes longer than a moment. */
export async function whileWaiting<Result>(ctx: Pick<CommandContext, "err">, text: string, act: () => Promise<Result>): Promise<Result> {
  const line = progressLine(ctx);
  const timer = setTimeout(() => line.show(`${text} ...`), patienceMs);
  try {
    return await act();
  } finally {
    clearTimeout(timer);
    line.clear();
  }
}
