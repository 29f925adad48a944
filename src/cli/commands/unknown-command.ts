// A first word that is no command and no other program's word: a directory to work in, or a refusal with a hint.
import { statSync } from "node:fs";
import { nearestWord } from "../../kit/text/nearest-word.ts";
import { absolutePath } from "../../kit/files/absolute-path.ts";
import { shellQuote } from "../../kit/text/shell-quote.ts";
import { Fault } from "../../protocol/api/error.ts";
import { commandNames } from "./index.ts";
import type { CommandContext } from "../parse/command.ts";
import { otherWords } from "../parse/other-words.ts";

type Dispatch = (argv: string[], ctx: CommandContext) => Promise<number>;

/** `skein .` opens the screen in that directory. Any other unknown word is refused. */
export async function runUnknownWord(argv: string[], ctx: CommandContext, dispatch: Dispatch): Promise<number> {
  const [word = "", ...rest] = argv;
  const isPath = /^[.~]|\//.test(word);
  const isDirectory = isPath && statSync(absolutePath(word, ctx), { throwIfNoEntry: false })?.isDirectory() === true;
  if (isDirectory) return dispatch(["--cd", word, ...rest], ctx);
  throw unknownCommand(argv);
}

export function unknownCommand(argv: readonly string[]): Fault {
  const [name = ""] = argv;
  const words = argv.filter((word) => !word.startsWith("-"));
  const nearest = nearestWord(name, [...commandNames, ...otherWords.flatMap(({ typed }) => typed.filter((word) => !word.includes(" ")))]);
  const asTask = `to send it as a task: skein ${words.length > 1 ? shellQuote(words.join(" ")) : `run ${shellQuote(name)}`}`;
  const hint = nearest === null ? `\`skein --help\` lists the commands; ${asTask}` : `did you mean "skein ${nearest}"?`;
  return new Fault("usage", `no command "${name}"`, { hint });
}
