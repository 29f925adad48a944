// Parses a command line into flags and positionals by the command's table. Does not use the parser of node:util, which
// takes 3 ms to load.
import { parseDuration } from "../../kit/text/duration.ts";
import { nearestWord } from "../../kit/text/nearest-word.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Args, Command, Flag } from "./command.ts";

/** The flag --json of most commands. */
export const jsonFlag: Flag = { name: "json", summary: "print one JSON document" };

export function parseArgs(command: Command, argv: readonly string[]): Args {
  const args: Args = { positionals: [], flags: {} };
  const words = [...argv];
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === "--") args.positionals.push(...words.splice(0));
    else if (word.startsWith("--")) parseLongFlag(command, args, word, words);
    else if (word.startsWith("-") && word !== "-") parseShortFlags(command, args, word, words);
    else args.positionals.push(word);
  }
  checkPositionals(command, args.positionals);
  return args;
}

export function usageLine(command: Command): string {
  return `skein ${command.name} ${command.usage}`.trimEnd();
}

/** The whole number of a flag; `defaultCount` without the flag. */
export function countFlag<Default>(args: Args, name: string, defaultCount: Default, max?: number): number | Default {
  const value = args.flags[name];
  return value === undefined ? defaultCount : parseCount(name, String(value), max);
}

/** The time of a flag in milliseconds; null without the flag. */
export function durationFlag(args: Args, name: string): number | null {
  const value = args.flags[name];
  return value === undefined ? null : parseTime(name, String(value));
}

/** A whole number from 1 to `max`. */
export function parseCount(flag: string, text: string, max = Number.MAX_SAFE_INTEGER): number {
  const count = /^\d+$/.test(text) ? Number(text) : 0;
  if (count > 0 && count <= max) return count;
  const range = max === Number.MAX_SAFE_INTEGER ? "above 0" : `from 1 to ${max}`;
  throw new Fault("usage", `--${flag} takes a whole number ${range}, not "${text}"`);
}

/** A time in milliseconds, at least `min`. */
export function parseTime(flag: string, text: string, min = 0): number {
  const ms = parseDuration(text);
  if (ms !== null && ms >= min) return ms;
  throw new Fault("usage", `--${flag} takes seconds or 90s, 10m, 2h, 30d, not "${text}"`);
}

function parseLongFlag(command: Command, args: Args, word: string, nextWords: string[]): void {
  const equals = word.indexOf("=");
  const name = word.slice(2, equals < 0 ? undefined : equals);
  const flag = command.flags.find((candidate) => candidate.name === name);
  if (!flag) throw new UnknownFlagFault(command, `--${name}`);
  if (flag.value === undefined) {
    if (equals >= 0) throw new Fault("usage", `--${name} takes no value`, { hint: usageLine(command) });
    setFlag(args, flag, true);
  } else {
    setFlag(args, flag, equals < 0 ? nextValue(command, flag, nextWords) : word.slice(equals + 1));
  }
}

/** `-abc` is `-a -b -c`. The first flag with a value takes the rest of the word, or else the next word. */
function parseShortFlags(command: Command, args: Args, word: string, nextWords: string[]): void {
  if (command.flags.some((flag) => flag.name.length > 1 && flag.name === word.slice(1))) throw new UnknownFlagFault(command, word);
  const letters = Array.from(word).slice(1);
  for (const [index, letter] of letters.entries()) {
    const flag = command.flags.find((candidate) => candidate.short === letter);
    if (!flag) throw new UnknownFlagFault(command, index === 0 ? word : `-${letter}`);
    if (flag.value === undefined) {
      if (letters[index + 1] === "=") throw new Fault("usage", `-${letter} takes no value`, { hint: usageLine(command) });
      setFlag(args, flag, true);
      continue;
    }
    const attached = letters
      .slice(index + 1)
      .join("")
      .replace(/^=/, "");
    setFlag(args, flag, letters.length > index + 1 ? attached : nextValue(command, flag, nextWords));
    return;
  }
}

function nextValue(command: Command, flag: Flag, nextWords: string[]): string | true {
  const next = nextWords[0];
  if (next !== undefined && flag.valuePattern?.test(next) === false) return true;
  if (next === undefined || next === "--" || looksLikeFlag(command, next)) {
    if (flag.isValueOptional === true) return true;
    const hint = flag.hints?.[""] ?? (next === undefined ? usageLine(command) : `if "${next}" is the value, write --${flag.name}=${next}`);
    throw new Fault("usage", `--${flag.name} needs a value: --${flag.name} <${flag.value}>`, { hint });
  }
  return nextWords.shift() as string;
}

/** A negative number, a single dash, or a sentence that starts with a dash may be a value. */
function looksLikeFlag(command: Command, word: string): boolean {
  return (
    /^--[a-z][a-z-]*(=|$)/i.test(word) ||
    (/^-[a-z]/i.test(word) && !/\s/.test(word) && command.flags.some((flag) => flag.short === word[1]))
  );
}

function setFlag(args: Args, flag: Flag, word: string | true): void {
  const value = typeof word === "string" ? (flag.synonyms?.[word] ?? word) : word;
  if (typeof value === "string") checkValue(flag, value);
  const current = args.flags[flag.name];
  if (flag.repeat && typeof value === "string") args.flags[flag.name] = [...(Array.isArray(current) ? current : []), value];
  else if (current === undefined) args.flags[flag.name] = value;
  else throw new Fault("usage", `--${flag.name} was given twice`);
}

function checkValue(flag: Flag, value: string): void {
  const known = flag.hints?.[value];
  if (value === "") throw new Fault("usage", `--${flag.name} needs a value that is not empty`, known === undefined ? {} : { hint: known });
  const isAllowed = !flag.choices || flag.takesOthers || flag.choices.includes(value);
  if (isAllowed && known === undefined) return;
  const nearest = nearestWord(value, flag.choices ?? []);
  const hint = known ?? (nearest === null ? undefined : `did you mean "${nearest}"?`);
  const choices = flag.choices === undefined ? "" : `: ${flag.choices.join(", ")}`;
  throw new Fault("usage", `--${flag.name} can't be "${value}"${choices}`, hint === undefined ? {} : { hint });
}

/** The flag may be another program's, which the entry of the command line looks up. */
export class UnknownFlagFault extends Fault {
  /** Replaces the check of `Fault`, which every fault passes. */
  static override [Symbol.hasInstance](value: unknown): value is UnknownFlagFault {
    return value instanceof Fault && "typed" in value;
  }

  readonly typed: string;

  constructor(command: Command, typed: string) {
    const nearest = nearestWord(typed.replace(/^-+/, ""), [...command.flags.map((flag) => flag.name), "help"]);
    const hint = nearest === null ? `\`skein ${command.name} --help\` lists its flags` : `did you mean "--${nearest}"?`;
    super("usage", `${command.name} has no flag "${typed}"`, { hint });
    this.typed = typed;
  }
}

function checkPositionals(command: Command, positionals: string[]): void {
  const { min, max } = command.positionals;
  const [first] = positionals;
  if (command.verbs && first !== undefined && !command.verbs.includes(first)) {
    const nearest = nearestWord(first, command.verbs);
    const hint = nearest === null ? usageLine(command) : `did you mean "skein ${command.name} ${nearest}"?`;
    throw new Fault("usage", `${command.name} takes ${command.verbs.join(", ")}, not "${first}"`, { hint });
  }
  if (positionals.length < min) throw missingArguments(command, first);
  if (positionals.length > max) {
    const extra = positionals[max] as string;
    throw new Fault("usage", `unexpected argument "${extra}": ${command.name} takes ${max === 0 ? "no arguments" : `at most ${max}`}`, {
      hint: surplusHintOf(command, positionals),
    });
  }
}

/** The hint for more arguments than the command takes. */
export function surplusHintOf(command: Command, positionals: readonly string[]): string {
  const { surplusHint = usageLine(command) } = command;
  return typeof surplusHint === "string" ? surplusHint : surplusHint(positionals);
}

/** Names the arguments, and the command that lists their values. `first` is the first argument, if there is one. */
function missingArguments(command: Command, first: string | undefined): Fault {
  if (command.verbs !== undefined && first !== undefined)
    return new Fault("usage", `${command.name} ${first} needs an argument`, { hint: usageLine(command) });
  const { min } = command.positionals;
  const [required = ""] = command.usage.split(" [");
  const names = command.verbs?.join(", ") ?? (required.match(/<[^>]+>|"[^"]+"/g) ?? []).slice(0, min).join(" ");
  const count = min === 1 || command.verbs !== undefined ? "an argument" : `${min} arguments`;
  const text = `${command.name} needs ${count}${names === "" ? "" : `: ${names}`}`;
  const listing = command.listing ?? listings.find(([name]) => names.startsWith(name))?.[1];
  return new Fault("usage", text, { hint: listing === undefined ? usageLine(command) : `${usageLine(command)}\n${listing}` });
}

const listings: readonly [name: string, listing: string][] = [
  ["<session", "`skein list` lists the sessions"],
  ["<ask", "`skein asks` lists the open questions"],
];

/** For a command with verbs: throws for a flag or an argument that the verb does not take. The verb counts as a positional. */
export function checkVerb(command: Command, args: Args, verb: { positionals: number; flags: readonly string[] }): void {
  const name = `${command.name} ${args.positionals[0]}`;
  const misplaced = Object.keys(args.flags).find((flag) => !verb.flags.includes(flag));
  if (misplaced !== undefined) throw new Fault("usage", `--${misplaced} does not go with ${name}`, { hint: usageLine(command) });
  const extra = args.positionals[verb.positionals];
  if (extra !== undefined) throw new Fault("usage", `${name}: unexpected argument "${extra}"`, { hint: usageLine(command) });
}
