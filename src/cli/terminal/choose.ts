// Lets the user choose one row of a numbered list in the terminal. Without a terminal nothing can be chosen.
import { Fault } from "../../protocol/api/error.ts";
import { TerminalInput } from "../line-editor/terminal-input.ts";
import type { CommandContext } from "../parse/command.ts";
import { styleOf } from "./style.ts";
import { tableText } from "./table.ts";

export type Choice = {
  /** The cells of the row. */
  cells: readonly string[];
  /** Typing this chooses the row too. */
  name: string;
};

type ChooseOptions = {
  title: string;
  choices: readonly Choice[];
  /** A name that is not in the list is accepted too. */
  acceptsOther?: boolean;
};

/** Returns the name of the chosen row. Enter alone chooses the first one. Throws a fault if the user leaves. */
export async function choose(ctx: CommandContext, { title, choices, acceptsOther = false }: ChooseOptions): Promise<string> {
  const style = styleOf(ctx.out);
  const rows = choices.map(({ cells }, index) => [style.dim(String(index + 1)), ...cells]);
  const columns = rows[0]!.map((_, index) => (index === 0 ? { align: "right" as const } : {}));
  ctx.out.write(`${title}\n${tableText(rows, { columns, width: ctx.out.columns })}`);
  const input = await TerminalInput.open(ctx, {
    history: { entries: [], add: () => {} },
    complete: async () => ({ insertion: "", choices: choices.map(({ name }) => name) }),
  });
  try {
    for (;;) {
      const typed = await input.answers.next(`number or name [1]: `);
      if (typed === null) throw new Fault("usage", "nothing was chosen");
      const name = typed.trim() === "" ? choices[0]!.name : nameOf(typed.trim(), choices);
      if (name !== null) return name;
      if (acceptsOther && !/^\d+$/.test(typed.trim())) return typed.trim();
      ctx.out.write(`there is no "${typed.trim()}" in the list\n`);
    }
  } finally {
    input.close();
  }
}

/** The name of the row with this number or name, or with this part of a name if only one row has it. */
function nameOf(typed: string, choices: readonly Choice[]): string | null {
  if (/^\d+$/.test(typed)) return choices[Number(typed) - 1]?.name ?? null;
  if (choices.some(({ name }) => name === typed)) return typed;
  const [match, ...more] = choices.filter(({ name }) => name.includes(typed));
  return match === undefined || more.length > 0 ? null : match.name;
}
