// Reads the shell blocks of the documents. A block that can't run has a comment with the reason before it.
import { Glob } from "bun";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..", "..");

export const pages = ["README.md", ...[...new Glob("docs/*.md").scanSync({ cwd: root })].sort()];

export type ShellBlock = {
  /** The number of its first line in the page. */
  line: number;
  text: string;
  /** Why the block can't run. Null if it runs. */
  notRun: string | null;
};

export function pageText(page: string): string {
  return readFileSync(join(root, page), "utf8");
}

export function shellBlocks(text: string): ShellBlock[] {
  const fences = text.matchAll(/(?:^<!-- not run: (?<notRun>.+) -->\n)?^```(?<language>\w*)\n(?<body>[^]*?)^```$/gm);
  return [...fences]
    .filter(({ groups }) => groups?.["language"] === "sh")
    .map((match) => ({
      line: text.slice(0, match.index).split("\n").length + 1,
      text: match.groups?.["body"] ?? "",
      notRun: match.groups?.["notRun"] ?? null,
    }));
}

/** Blocks without a language that contain commands: nothing would run or parse them. */
export function unmarkedCommands(text: string): string[] {
  const fences = text.matchAll(/^```(\w*)\n([^]*?)^```$/gm);
  return [...fences].filter(([, language, body = ""]) => language === "" && /^skein /m.test(body)).map(([, , body = ""]) => body);
}

/** The arguments of each call of skein in a text of shell commands. */
export function skeinCalls(text: string): string[][] {
  const lines = text.replaceAll(/\\\n\s*/g, " ").split("\n");
  return lines
    .flatMap((line) => commandsOf(wordsOf(line)))
    .filter(([name]) => name === "skein")
    .map(([, ...args]) => args);
}

/** Splits words at pipes and lists. */
function commandsOf(words: string[]): string[][] {
  const commands: string[][] = [[]];
  for (const word of words) {
    if (["|", "||", "&&", ";"].includes(word)) commands.push([]);
    else commands.at(-1)!.push(word);
  }
  return commands;
}

/** The words of a line without comments and redirections. Quotes keep blanks together. */
function wordsOf(line: string): string[] {
  const words: string[] = [];
  for (const [, double, single, plain = ""] of line.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g)) {
    if (double === undefined && single === undefined && plain.startsWith("#")) break;
    words.push(double ?? single ?? plain);
  }
  const redirection = words.findIndex((word) => /^\d?>/.test(word));
  return redirection < 0 ? words : words.slice(0, redirection);
}
