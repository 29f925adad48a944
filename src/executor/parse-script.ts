// Splits a bash script into its simple commands. It reads quotes, substitutions, redirections and here-documents, but
// no control structures. It runs and expands nothing. The result is only good enough for the command guard.

export type SimpleCommand = {
  /** A quoted special character has `quotedMark` before it. */
  words: string[];
  /** Targets of output redirections. */
  outputTargets: string[];
  /** Here-documents and here-strings. */
  hereDocuments: string[];
};

export type ParsedScript = {
  commands: SimpleCommand[];
  /** The script without quoted text, comments and here-documents. */
  unquoted: string;
};

export const quotedMark = "\0";
/** Stands for a value that is known only at run time. */
export const unknownValue = "\x01";

export function parseScript(text: string): ParsedScript {
  const reader = new ScriptReader(text);
  reader.readAll();
  return { commands: reader.commands, unquoted: reader.bare.join("") };
}

/** The word as the program gets it. */
export function withoutQuotedMarks(word: string): string {
  return word.replaceAll(quotedMark, "");
}

type HereDocument = { end: string; isIndented: boolean; command: SimpleCommand };
type Next = "word" | "write" | "read" | "here" | "here-indented" | "here-string";

/** Deeper substitutions are read as if they were not nested. */
const maxDepth = 100;
const specialCharacters = new Set("~*?[{$");

class ScriptReader {
  readonly commands: SimpleCommand[] = [];
  readonly bare: string[] = [];
  readonly #text: string;
  #position = 0;
  #depth = 0;
  #pendingDocuments: HereDocument[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  readAll(): void {
    // A stray closing bracket ends a level. The text after it is read too.
    while (this.#position < this.#text.length) this.#readUntil(null);
  }

  /** Reads commands up to the end of a substitution, or of the script. */
  #readUntil(end: ")" | "`" | null): void {
    const level = new Level(this.commands);
    let openBrackets = 0;
    while (this.#position < this.#text.length) {
      const char = this.#text[this.#position]!;
      if (char === end && openBrackets === 0) {
        this.#position += 1;
        break;
      }
      if (char === "(") openBrackets += 1;
      if (char === ")") openBrackets = Math.max(0, openBrackets - 1);
      this.#readPiece(char, level);
    }
    level.endCommand();
  }

  #readPiece(char: string, level: Level): void {
    const next = this.#text[this.#position + 1];
    if (char === "\\") return this.#readEscaped(level);
    if (char === "'") return this.#readSingle(level, 1);
    if (char === '"') return this.#readDouble(level);
    if (char === "$" || char === "`") return this.#readDollar(level);
    if (char === "#" && level.word === null) return this.#skipComment();
    if ((char === "<" || char === ">") && next === "(") {
      this.#position += 2;
      return this.#substitute(level, ")");
    }
    if (char === "<" || char === ">" || (char === "&" && next === ">")) return this.#readRedirection(level);
    this.#position += 1;
    this.bare.push(char);
    if (char === "\n") {
      level.endCommand(this.#pendingDocuments);
      this.#readHereDocuments();
    } else if (char === " " || char === "\t" || char === "\r") level.endWord(this.#pendingDocuments);
    else if (";&|()".includes(char)) level.endCommand(this.#pendingDocuments);
    else level.add(char);
  }

  #readEscaped(level: Level): void {
    const escaped = this.#text[this.#position + 1] ?? "";
    this.#position += 2;
    this.bare.push("_");
    if (escaped !== "\n") level.add(quote(escaped));
  }

  #readSingle(level: Level, opening: number): void {
    const start = this.#position + opening;
    let end = this.#text.indexOf("'", start);
    // In $'...' a backslash escapes the quote.
    while (opening === 2 && end > 0 && this.#text[end - 1] === "\\") end = this.#text.indexOf("'", end + 1);
    if (end === -1) end = this.#text.length;
    this.#position = end + 1;
    this.bare.push("_");
    level.add(this.#text.slice(start, end).replace(/[~*?[{$]/g, quote));
  }

  #readDouble(level: Level): void {
    this.#position += 1;
    this.bare.push("_");
    level.add("");
    while (this.#position < this.#text.length) {
      const char = this.#text[this.#position]!;
      if (char === '"') break;
      if (char === "$" || char === "`") this.#readDollar(level);
      else if (char === "\\" && '$`"\\\n'.includes(this.#text[this.#position + 1] ?? " ")) this.#readEscaped(level);
      else {
        level.add(quote(char));
        this.#position += 1;
      }
    }
    this.#position += 1;
  }

  #readDollar(level: Level): void {
    const upcoming = this.#text.slice(this.#position, this.#position + 256);
    if (upcoming.startsWith("`")) {
      this.#position += 1;
      return this.#substitute(level, "`");
    }
    if (upcoming.startsWith("$(")) {
      this.#position += 2;
      return this.#substitute(level, ")");
    }
    if (upcoming.startsWith("$'")) return this.#readSingle(level, 2);
    const name = /^\$(?:\{(\w+)[^}]*\}|(\w+|[@*#?$!-]))/.exec(upcoming);
    this.bare.push("_");
    this.#position += name?.[0].length ?? 1;
    if (!name) return level.add(upcoming[1] === '"' ? "" : quote("$"));
    level.add((name[1] ?? name[2]) === "HOME" ? "$HOME" : unknownValue);
  }

  #substitute(level: Level, end: ")" | "`"): void {
    level.add(unknownValue);
    this.bare.push("_");
    if (this.#depth >= maxDepth) return;
    this.#depth += 1;
    this.#readUntil(end);
    this.#depth -= 1;
  }

  #skipComment(): void {
    const end = this.#text.indexOf("\n", this.#position);
    this.#position = end === -1 ? this.#text.length : end;
  }

  #readRedirection(level: Level): void {
    const [operator] = /^(?:<<<|<<-|<<|<>|<&|<|&>>|&>|>>|>\||>&|>)/.exec(this.#text.slice(this.#position, this.#position + 3))!;
    this.#position += operator.length;
    this.bare.push(" ");
    const next: Next =
      operator === "<<<"
        ? "here-string"
        : operator === "<<-"
          ? "here-indented"
          : operator === "<<"
            ? "here"
            : /^<&?$/.test(operator)
              ? "read"
              : "write";
    level.redirect(next, this.#pendingDocuments);
  }

  #readHereDocuments(): void {
    const pending = this.#pendingDocuments;
    this.#pendingDocuments = [];
    for (const { end, isIndented, command } of pending) {
      const start = this.#position;
      for (;;) {
        const lineEnd = this.#text.indexOf("\n", this.#position);
        const line = this.#text.slice(this.#position, lineEnd === -1 ? undefined : lineEnd);
        const isEnd = (isIndented ? line.replace(/^\t+/, "") : line) === end;
        if (isEnd || lineEnd === -1) command.hereDocuments.push(this.#text.slice(start, isEnd ? this.#position : undefined));
        this.#position = lineEnd === -1 ? this.#text.length : lineEnd + 1;
        if (isEnd || lineEnd === -1) break;
      }
    }
  }
}

/** The current command at one depth of substitution. */
class Level {
  word: string | null = null;
  readonly #commands: SimpleCommand[];
  #command: SimpleCommand = { words: [], outputTargets: [], hereDocuments: [] };
  #next: Next = "word";

  constructor(commands: SimpleCommand[]) {
    this.#commands = commands;
  }

  add(text: string): void {
    this.word = (this.word ?? "") + text;
  }

  redirect(next: Next, pending: HereDocument[]): void {
    // A number before the operator is a file descriptor.
    if (this.word !== null && /^\d+$/.test(this.word)) this.word = null;
    this.endWord(pending);
    this.#next = next;
  }

  endWord(pending: HereDocument[] = []): void {
    const { word } = this;
    if (word === null) return;
    this.word = null;
    const next = this.#next;
    this.#next = "word";
    if (next === "word") this.#command.words.push(word);
    else if (next === "write") this.#command.outputTargets.push(word);
    else if (next === "here-string") this.#command.hereDocuments.push(withoutQuotedMarks(word));
    else if (next !== "read") pending.push({ end: withoutQuotedMarks(word), isIndented: next === "here-indented", command: this.#command });
  }

  endCommand(pending: HereDocument[] = []): void {
    this.endWord(pending);
    const { words, outputTargets, hereDocuments } = this.#command;
    if (words.length > 0 || outputTargets.length > 0 || hereDocuments.length > 0) this.#commands.push(this.#command);
    this.#command = { words: [], outputTargets: [], hereDocuments: [] };
    this.#next = "word";
  }
}

function quote(char: string): string {
  return specialCharacters.has(char) ? quotedMark + char : char;
}
