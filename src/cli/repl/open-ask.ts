// Finds and prints the question that the next entry answers.
import type { Ask } from "../../protocol/api/control.ts";
import { askLines } from "../print/event-lines.ts";
import { questionLines } from "../print/screen-reader.ts";
import { styleOf } from "../terminal/style.ts";
import type { Repl } from "./repl.ts";

/** The oldest open question of the turn at the session's tip. The next entry answers it. */
export async function askAtTip({ api, session }: Repl): Promise<Ask | null> {
  if (session === null) return null;
  const open = await api.ask.list({ session: session.id });
  if (open.length === 0) return null;
  const { tip } = await api.session.find({ wanted: session.id, directory: session.directory });
  const turn = tip === null ? null : (await api.node.find({ wanted: tip })).turn;
  return open.find((ask) => ask.turn === turn) ?? null;
}

export function printAsk({ ctx: { out, err }, isForScreenReader }: Repl, ask: Ask): void {
  const lines = isForScreenReader ? questionLines(ask) : askLines(ask, { style: styleOf(err), columns: err.columns }, "typed");
  (isForScreenReader ? out : err).write(`${lines.join("\n")}\n`);
}
