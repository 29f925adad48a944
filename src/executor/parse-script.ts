// Takes a bash script apart into its simple commands, roughly: quotes, substitutions, redirections and here-documents
// are understood, control structures are not. It runs and expands nothing.

export type SimpleCommand = {
  /** A character that quotes keep from being special has `literal` before it. */
  words: string[];
  /** Where its output is redirected to. */
  writes: string[];
  /** What it is given on stdin in the script itself. */
  inputs: string[];
};

export type ParsedScript = {
  commands: SimpleCommand[];
  /** The script without what is quoted, commented or in a here-document. */
  bare: string;
};

export const literal = "\0";
/** Stands for what is only known when the script runs. */
export const unknownValue = "\x01";

export function parseScript(text: string): ParsedScript {
  const reader = new ScriptReader(text);
  reader.readAll();
  return { commands: reader.commands, bare: reader.bare.join("") };
}

/** The word as a program would be given it. */
export function plainWord(word: string): string {
  return word.replaceAll(literal, "");
}

type HereDocument = { end: string; isIndented: boolean; command: SimpleCommand };
type Next = "word" | "write" | "read" | "here" | "here-indented" | "here-string";

/** Deeper substitutions are read as if they were not nested. */
const deepest = 100;
const special = new Set("~*?[{$");

class ScriptReader {
  readonly commands: SimpleCommand[] = [];
  readonly bare: string[] = [];
  readonly #text: string;
  #at = 0;
  #depth = 0;
  #awaited: HereDocument[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  readAll(): void {
    // A stray closing bracket ends a level; what follows is read all the same.
    while (this.#at < this.#text.length) this.#readUntil(null);
  }

  /** Reads commands up to the end of a substitution, or of the script. */
  #readUntil(end: ")" | "`" | null): void {
    const level = new Level(this.commands);
    let open = 0;
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at]!;
      if (char === end && open === 0) {
        this.#at += 1;
        break;
      }
      if (char === "(") open += 1;
      if (char === ")") open = Math.max(0, open - 1);
      this.#readPiece(char, level);
    }
    level.endCommand();
  }

  #readPiece(char: string, level: Level): void {
    const next = this.#text[this.#at + 1];
    if (char === "\\") return this.#readEscaped(level);
    if (char === "'") return this.#readSingle(level, 1);
    if (char === '"') return this.#readDouble(level);
    if (char === "$" || char === "`") return this.#readDollar(level);
    if (char === "#" && level.word === null) return this.#skipComment();
    if ((char === "<" || char === ">") && next === "(") {
      this.#at += 2;
      return this.#substitute(level, ")");
    }
    if (char === "<" || char === ">" || (char === "&" && next === ">")) return this.#readRedirection(level);
    this.#at += 1;
    this.bare.push(char);
    if (char === "\n") {
      level.endCommand(this.#awaited);
      this.#readHereDocuments();
    } else if (char === " " || char === "\t" || char === "\r") level.endWord(this.#awaited);
    else if (";&|()".includes(char)) level.endCommand(this.#awaited);
    else level.add(char);
  }

  #readEscaped(level: Level): void {
    const escaped = this.#text[this.#at + 1] ?? "";
    this.#at += 2;
    this.bare.push("_");
    if (escaped !== "\n") level.add(quoted(escaped));
  }

  #readSingle(level: Level, opening: number): void {
    const from = this.#at + opening;
    let to = this.#text.indexOf("'", from);
    // In $'...' a backslash keeps the quote from closing.
    while (opening === 2 && to > 0 && this.#text[to - 1] === "\\") to = this.#text.indexOf("'", to + 1);
    if (to === -1) to = this.#text.length;
    this.#at = to + 1;
    this.bare.push("_");
    level.add(this.#text.slice(from, to).replace(/[~*?[{$]/g, quoted));
  }

  #readDouble(level: Level): void {
    this.#at += 1;
    this.bare.push("_");
    level.add("");
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at]!;
      if (char === '"') break;
      if (char === "$" || char === "`") this.#readDollar(level);
      else if (char === "\\" && '$`"\\\n'.includes(this.#text[this.#at + 1] ?? " ")) this.#readEscaped(level);
      else {
        level.add(quoted(char));
        this.#at += 1;
      }
    }
    this.#at += 1;
  }

  #readDollar(level: Level): void {
    const rest = this.#text.slice(this.#at, this.#at + 256);
    if (rest.startsWith("`")) {
      this.#at += 1;
      return this.#substitute(level, "`");
    }
    if (rest.startsWith("$(")) {
      this.#at += 2;
      return this.#substitute(level, ")");
    }
    if (rest.startsWith("$'")) return this.#readSingle(level, 2);
    const name = /^\$(?:\{(\w+)[^}]*\}|(\w+|[@*#?$!-]))/.exec(rest);
    this.bare.push("_");
    this.#at += name?.[0].length ?? 1;
    if (!name) return level.add(rest[1] === '"' ? "" : quoted("$"));
    level.add((name[1] ?? name[2]) === "HOME" ? "$HOME" : unknownValue);
  }

  #substitute(level: Level, end: ")" | "`"): void {
    level.add(unknownValue);
    this.bare.push("_");
    if (this.#depth >= deepest) return;
    this.#depth += 1;
    this.#readUntil(end);
    this.#depth -= 1;
  }

  #skipComment(): void {
    const end = this.#text.indexOf("\n", this.#at);
    this.#at = end === -1 ? this.#text.length : end;
  }

  #readRedirection(level: Level): void {
    const [sign] = /^(?:<<<|<<-|<<|<>|<&|<|&>>|&>|>>|>\||>&|>)/.exec(this.#text.slice(this.#at, this.#at + 3))!;
    this.#at += sign.length;
    this.bare.push(" ");
    const next: Next =
      sign === "<<<" ? "here-string" : sign === "<<-" ? "here-indented" : sign === "<<" ? "here" : /^<&?$/.test(sign) ? "read" : "write";
    level.redirect(next, this.#awaited);
  }

  #readHereDocuments(): void {
    const awaited = this.#awaited;
    this.#awaited = [];
    for (const { end, isIndented, command } of awaited) {
      const from = this.#at;
      for (;;) {
        const lineEnd = this.#text.indexOf("\n", this.#at);
        const line = this.#text.slice(this.#at, lineEnd === -1 ? undefined : lineEnd);
        const isEnd = (isIndented ? line.replace(/^\t+/, "") : line) === end;
        if (isEnd || lineEnd === -1) command.inputs.push(this.#text.slice(from, isEnd ? this.#at : undefined));
        this.#at = lineEnd === -1 ? this.#text.length : lineEnd + 1;
        if (isEnd || lineEnd === -1) break;
      }
    }
  }
}

/** The command that is being read, at one depth of substitution. */
class Level {
  word: string | null = null;
  readonly #commands: SimpleCommand[];
  #command: SimpleCommand = { words: [], writes: [], inputs: [] };
  #next: Next = "word";

  constructor(commands: SimpleCommand[]) {
    this.#commands = commands;
  }

  add(text: string): void {
    this.word = (this.word ?? "") + text;
  }

  redirect(next: Next, awaited: HereDocument[]): void {
    // The number of a descriptor belongs to the sign.
    if (this.word !== null && /^\d+$/.test(this.word)) this.word = null;
    this.endWord(awaited);
    this.#next = next;
  }

  endWord(awaited: HereDocument[] = []): void {
    const { word } = this;
    if (word === null) return;
    this.word = null;
    const next = this.#next;
    this.#next = "word";
    if (next === "word") this.#command.words.push(word);
    else if (next === "write") this.#command.writes.push(word);
    else if (next === "here-string") this.#command.inputs.push(plainWord(word));
    else if (next !== "read") awaited.push({ end: plainWord(word), isIndented: next === "here-indented", command: this.#command });
  }

  endCommand(awaited: HereDocument[] = []): void {
    this.endWord(awaited);
    const { words, writes, inputs } = this.#command;
    if (words.length > 0 || writes.length > 0 || inputs.length > 0) this.#commands.push(this.#command);
    this.#command = { words: [], writes: [], inputs: [] };
    this.#next = "word";
  }
}

function quoted(char: string): string {
  return special.has(char) ? literal + char : char;
}
