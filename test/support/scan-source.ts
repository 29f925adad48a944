// Reads TypeScript files as text for test/architecture.test.ts: comments and strings blanked, functions with too many
// parameters, comments, words, texts of faults, starts of programs. Text is enough here, and faster than a compiler.

/** The code with the contents of comments, strings and regular expressions replaced by blanks; offsets stay the same. */
export function blankText(code: string): string {
  const pattern =
    /\/\/[^\n]*|\/\*[^]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|\$\{(?:[^{}]|\{[^{}]*\})*\}|[^`\\])*`|(?<=[(=,:!&|?{};\n]\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[dgimsuvy]*/g;
  return code.replaceAll(pattern, (text) => text.replaceAll(/[^\n]/g, " "));
}

/** `line: text` of each list of more than `max` parameters, in functions, methods, arrow functions and function types. */
export function longParameterLists(code: string, max: number): string[] {
  const text = blankText(code);
  return [...text.matchAll(/\(/g)].flatMap(({ index }) => {
    const end = closingBracket(text, index);
    if (end === null || !isParameterList(text, index, end)) return [];
    const count = countItems(text.slice(index + 1, end));
    if (count <= max) return [];
    const line = text.slice(0, index).split("\n").length;
    return [`${line}: ${count} parameters, ${code.split("\n")[line - 1]?.trim().slice(0, 80)}`];
  });
}

/** Comments of a file, each as one text without its marks. */
export function commentsOf(code: string): string[] {
  return [...code.matchAll(/(?:^[ \t]*\/\/[^\n]*\n?)+|\/\*\*[^]*?\*\//gm)].map(([text]) =>
    text
      .replaceAll(/^\s*(\/\/|\/\*\*|\*\/|\*)|\*\/$/gm, " ")
      .replaceAll(/\s+/g, " ")
      .trim(),
  );
}

function isParameterList(text: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - 120), start);
  const after = text.slice(end + 1, end + 200);
  if (/^\s*=>/.test(after) || /\bfunction\*?\s*\w*\s*(<[^()]*>)?$/.test(before)) return true;
  if (/^\s*:[^;=]*=>/.test(after) && /[=(,:]\s*(async\s*)?(<[^()]*>)?$/.test(before)) return true;
  // A method: a name at the start of a line, a list, then a body.
  const isControl = /\b(if|for|while|switch|catch|return|await|new)\s*$/.test(before);
  return !isControl && /\n\s*(async |static |get |set |\*)*#?\w+\s*(<[^()]*>)?$/.test(before) && /^(\s*:[^={;]+)?\s*\{/.test(after);
}

function closingBracket(text: string, start: number): number | null {
  let depth = 0;
  for (let index = start; index < text.length; index += 1) {
    if ("([{".includes(text[index]!)) depth += 1;
    else if (")]}".includes(text[index]!) && (depth -= 1) === 0) return index;
  }
  return null;
}

function countItems(list: string): number {
  let depth = 0;
  let count = list.trim() === "" ? 0 : 1;
  const trimmed = list.trimEnd().replace(/,$/, "");
  for (let index = 0; index < trimmed.length; index += 1) {
    const character = trimmed[index]!;
    if ("([{<".includes(character)) depth += 1;
    else if (")]}".includes(character) || (character === ">" && trimmed[index - 1] !== "=")) depth -= 1;
    else if (character === "," && depth === 0) count += 1;
  }
  return count;
}

/**
 * Words that code, comments, messages and documents do not use. `told` and `mend` are ordinary English, but programs send,
 * report and repair. Stored fields keep their names, among them `wish` and `said` of a note.
 */
const privateWords = [
  "house",
  "estate",
  "walls",
  "walled",
  "crew",
  "seat",
  "seats",
  "told",
  "whoever",
  "whomever",
  "somebody",
  "lasting",
  "standstill",
  "mend",
  "mends",
  "mended",
  "stands still",
  "stand still",
  "stood still",
  "gives back",
  "goes on with",
  "by force",
];

const privatePattern = new RegExp(
  privateWords.map((word) => `(?<![A-Za-z])${word}(?![a-z])|${word[0]!.toUpperCase()}${word.slice(1)}(?![a-z])`).join("|"),
  "g",
);

/** `line: word` of each private word in a text, also inside an identifier such as `isWalled`. */
export function privateWordsIn(text: string): string[] {
  return text.split("\n").flatMap((line, index) => [...line.matchAll(privatePattern)].map(([word]) => `${index + 1}: ${word}`));
}

/** Comments that begin with a clause or a preposition in place of a subject. */
export function clauseComments(code: string): string[] {
  return commentsOf(code).filter((comment) =>
    /^(What|Where|Of|Who|Whose|Whom|By which|Whatever|Whoever|That which|Those|Such) /.test(comment),
  );
}

/** Texts of faults that start with a capital letter or end with a full stop. The caller of a fault adds its own punctuation. */
export function misformedFaultTexts(code: string): string[] {
  const text = blankText(code);
  return [...text.matchAll(/\bnew Fault\(/g)].flatMap(({ 0: call, index }) => {
    const end = closingBracket(text, index + call.length - 1) ?? code.length;
    const literals = code.slice(index, end).match(/"(?:\\.|[^"\\\n])*"|`(?:\\.|\$\{(?:[^{}]|\{[^{}]*\})*\}|[^`\\])*`/g) ?? [];
    return literals.map((literal) => literal.slice(1, -1)).filter((words) => /^(?!Space )[A-Z][a-z]/.test(words) || /[^.]\.$/.test(words));
  });
}

/** `absolute` names the program in place; `computed` gets it from a value; `by name` lets PATH decide. */
export type ProgramStart = { line: number; how: "absolute" | "computed" | "by name" };

/** The starts of programs in a file, and every lookup in PATH. Only `absolute` is safe without a look at the code. */
export function programStarts(code: string): ProgramStart[] {
  const text = blankText(code);
  const lineAt = (index: number) => text.slice(0, index).split("\n").length;
  const calls = [...text.matchAll(/\bBun\s*\.\s*spawn(?:Sync)?\b/g)].map(({ 0: call, index }): ProgramStart => {
    const first = /^\s*\(\s*\[\s*(["'`])([^"'`]*)\1/.exec(code.slice(index + call.length));
    return { line: lineAt(index), how: first === null ? "computed" : first[2]!.startsWith("/") ? "absolute" : "by name" };
  });
  const lookups = [
    // Bun as a value, or its shell, would hide a start from the pattern above. So would a module whose name is computed.
    ...text.matchAll(/\bBun\s*\.\s*(?:which\b|\$)|\bBun\b(?!\s*\.)|\bglobalThis\s*\[|\bgetBuiltinModule\b|\bbinding\s*\(/g),
    ...code.matchAll(
      /^(?:import|export)\b[^;]*?["'](?:node:)?(?:bun|child_process|cluster|worker_threads)["']|\b(?:import|require)\(\s*["'](?:node:)?(?:bun|child_process|cluster|worker_threads)["']/gm,
    ),
  ].map(({ index }): ProgramStart => ({ line: lineAt(index), how: "by name" }));
  return [...calls, ...lookups];
}

/** Functions of node:fs that open a file by its path. */
const opener = /(?:open|openAsBlob|readFile|writeFile|appendFile|copyFile|cp|truncate)(?:Sync)?|create(?:Read|Write)Stream|promises/.source;
const openerName = new RegExp(`\\b(?:${opener})\\b`);
const openerUse = new RegExp(
  `\\b(?:${opener.replaceAll("(?:Sync)?", "Sync")})\\(|\\bBun\\s*\\.\\s*(?:file|write|mmap)\\b|["']bun:sqlite["']|["'](?:node:)?fs/promises["']|\\b(?:import|require)\\s*\\(\\s*["'](?:node:)?fs["']`,
  "g",
);

/** These patterns find functions of Bun and node:fs that open files by path. They also find their imports, because an alias would hide the calls. */
export function plainOpens(code: string): string[] {
  const imports = [...code.matchAll(/^import\s+(?!type\b)([^;"']*?)\s*from\s*["'](?:node:)?fs["']/gm)]
    .filter(([, names = ""]) => !names.startsWith("{") || openerName.test(names))
    .map(([statement]) => statement.replaceAll(/\s+/g, " "));
  return [...imports, ...[...code.matchAll(openerUse)].map(([use]) => use)];
}

/** Imports of modules whose names are computed, and of functions of C: both could do what the patterns above look for. */
export function hiddenImports(code: string): string[] {
  const text = blankText(code);
  const computed = [...text.matchAll(/(?<![.\w])(?:import|require)\s*\(/g)].filter(
    ({ 0: call, index }) => !/^\s*(?:["'][^"'`+]*["']\s*[,)]|\w+\s*:)/.test(code.slice(index + call.length)),
  );
  return [
    ...computed.map(({ 0: call, index }) => call + code.slice(index + call.length, index + call.length + 30)),
    ...(/["']bun:ffi["']/.exec(code) ?? []),
  ];
}
