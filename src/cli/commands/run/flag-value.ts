// Reads and checks the values of flags. Every problem is a usage fault that names the flag.
import { accessSync, constants, existsSync, lstatSync, statSync, type Stats } from "node:fs";
import { basename, dirname, join } from "node:path";
import { absolutePath } from "../../../kit/files/absolute-path.ts";
import { resolveLinks } from "../../../kit/files/path-status.ts";
import { readRegularFile } from "../../../kit/files/safe-file.ts";
import { isRecord } from "../../../kit/text/json.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import { parseAtLimit, type AtLimit } from "../../../protocol/limits/at-limit.ts";
import { parseCount, parseTime } from "../../parse/args.ts";
import type { Args, CommandContext } from "../../parse/command.ts";

/** The directories that relative paths and `~` on the command line refer to. */
export type FlagDirectories = Pick<CommandContext, "cwd" | "home">;

/** Access to the flags of a command line by name. Null for a flag that is not set. */
export type FlagReader = ReturnType<typeof flagReader>;

export function flagReader({ flags }: Args, directories: FlagDirectories) {
  return {
    on: (name: string): boolean => flags[name] === true,
    text: (name: string): string | null => (typeof flags[name] === "string" ? flags[name] : null),
    read: <T>(name: string, convert: (value: FlagValue) => T): T | null => {
      const value = flags[name];
      return value === undefined ? null : convert(new FlagValue(name, value, directories));
    },
  };
}

const maxJsonBytes = 16 << 20;

/** A flag of the command line. A switch has an empty text and no list. */
export class FlagValue {
  readonly text: string;
  readonly list: readonly string[];
  readonly #name: string;
  readonly #directories: FlagDirectories;

  constructor(name: string, value: string | true | string[], directories: FlagDirectories) {
    this.text = typeof value === "string" ? value : "";
    this.list = Array.isArray(value) ? value : [];
    this.#name = name;
    this.#directories = directories;
  }

  path(text = this.text): string {
    return absolutePath(text, this.#directories);
  }

  paths(): string[] {
    return this.list.map((text) => this.path(text));
  }

  count(): number {
    return parseCount(this.#name, this.text);
  }

  amount(): number {
    const amount = /^\d+(\.\d+)?$/.test(this.text) ? Number(this.text) : 0;
    if (amount > 0 && Number.isFinite(amount)) return amount;
    throw this.#fault(` takes a number above 0, not "${this.text}"`);
  }

  nonEmpty(): string {
    if (this.text.trim() !== "") return this.text;
    throw this.#fault(" must not be empty");
  }

  duration(): number {
    return parseTime(this.#name, this.text, 1);
  }

  atLimit(): AtLimit {
    try {
      return parseAtLimit(this.text);
    } catch (error) {
      throw this.#fault(` ${messageOf(error)}`, { ...(error instanceof Fault && { hint: error.hint }), cause: error });
    }
  }

  uuid(): string {
    if (/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(this.text)) return this.text;
    throw this.#fault(` takes a lower-case UUID, not "${this.text}"`);
  }

  /** Names with commas between them. */
  names(emptyHint: string): string[] {
    const names = this.text.split(",").flatMap((name) => name.trim() || []);
    if (names.length > 0) return names;
    throw this.#fault(` takes names with commas between them, not "${this.text}"`, { hint: emptyHint });
  }

  jsonObject(): Record<string, unknown> {
    const path = this.path();
    if (!existsSync(path)) throw this.#fault(`: no file ${path}`);
    try {
      const value: unknown = JSON.parse(String(readRegularFile(path, { maxBytes: maxJsonBytes })));
      if (isRecord(value)) return value;
    } catch (error) {
      throw this.#fault(`: ${path} is not JSON: ${messageOf(error)}`);
    }
    throw this.#fault(`: ${path} does not hold a JSON object`);
  }

  /** A file that can be created or overwritten. Links of its directory are resolved now, before tools can change them. */
  writableFile(): string {
    const file = this.path();
    const directory = this.writableDirectory(dirname(file));
    const stat = lstatSync(file, { throwIfNoEntry: false });
    if (stat?.isDirectory()) throw this.#fault(`: ${file} is a directory`);
    if (stat !== undefined && !stat.isFile()) throw this.#fault(`: ${file} is not a regular file`);
    return join(directory, basename(file));
  }

  /** Missing directories will be created, so the nearest existing one must be writable. Returns the path without links. */
  writableDirectory(directory = this.path()): string {
    let nearest = directory;
    while (!existsSync(nearest) && nearest !== dirname(nearest)) nearest = dirname(nearest);
    if (!statOrNull(nearest)?.isDirectory()) throw this.#fault(`: ${nearest} is not a directory`);
    try {
      accessSync(nearest, constants.W_OK);
    } catch (cause) {
      throw this.#fault(`: can't write to ${nearest}`, { cause });
    }
    return resolveLinks(directory);
  }

  existingDirectory(): string {
    const directory = this.path();
    if (!statOrNull(directory)?.isDirectory()) throw this.#fault(`: no directory ${directory}`);
    return directory;
  }

  /** The paths of the list, with their links: the sandbox checks where each link is before it follows it. */
  existingPaths(): string[] {
    const paths = this.paths();
    const missing = paths.find((path) => statOrNull(path) === null);
    if (missing !== undefined) throw this.#fault(`: ${missing} does not exist`, { hint: "create it before the run" });
    return paths;
  }

  existingDirectories(): string[] {
    const paths = this.existingPaths();
    const file = paths.find((path) => !statSync(path).isDirectory());
    if (file !== undefined) throw this.#fault(`: ${file} is not a directory`);
    return paths;
  }

  #fault(problem: string, details: { hint?: string | undefined; cause?: unknown } = {}): Fault {
    return new Fault("usage", `--${this.#name}${problem}`, details);
  }
}

/** Null if nothing is at the path, or if it can't be read. */
export function statOrNull(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}
