// Reads and checks the value of one flag. Every problem is a usage fault that names the flag.
import { accessSync, constants, existsSync, readFileSync, statSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import { parseDuration } from "../../../kit/text/duration.ts";
import { absolutePath } from "../../../kit/files/absolute-path.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import type { CommandContext } from "../../parse/command.ts";

/** The directories that relative paths and `~` on the command line refer to. */
export type FlagDirectories = Pick<CommandContext, "cwd" | "home">;

/** A flag of the command line. A switch has an empty text and no list. */
export class FlagValue {
  readonly name: string;
  readonly text: string;
  readonly list: readonly string[];
  readonly #directories: FlagDirectories;

  constructor(name: string, value: string | true | string[], directories: FlagDirectories) {
    this.name = name;
    this.text = typeof value === "string" ? value : "";
    this.list = Array.isArray(value) ? value : [];
    this.#directories = directories;
  }

  path(text = this.text): string {
    return absolutePath(text, this.#directories);
  }

  paths(): string[] {
    return this.list.map((text) => this.path(text));
  }

  count(): number {
    return this.#positive("a whole number", Number.isSafeInteger);
  }

  amount(): number {
    return this.#positive("a number", Number.isFinite);
  }

  duration(): number {
    const ms = parseDuration(this.text);
    if (ms !== null && ms > 0) return ms;
    throw this.#fault(`takes seconds or 90s, 10m, 2h, not "${this.text}"`);
  }

  uuid(): string {
    if (/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(this.text)) return this.text;
    throw this.#fault(`takes a lower-case UUID, not "${this.text}"`);
  }

  /** Names with commas between them. */
  names(emptyHint: string): string[] {
    const names = this.text.split(",").flatMap((name) => name.trim() || []);
    if (names.length > 0) return names;
    throw new Fault("usage", `--${this.name} takes names with commas between them, not "${this.text}"`, { hint: emptyHint });
  }

  jsonObject(): Record<string, unknown> {
    const path = this.path();
    if (!existsSync(path)) throw this.#problem(`no file ${path}`);
    try {
      const value: unknown = JSON.parse(readFileSync(path, "utf8"));
      if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    } catch (error) {
      throw this.#problem(`${path} is not JSON: ${messageOf(error)}`);
    }
    throw this.#problem(`${path} does not hold a JSON object`);
  }

  /** A file that can be created or overwritten. */
  writableFile(): string {
    const file = this.path();
    if (statOrNull(file)?.isDirectory()) throw this.#problem(`${file} is a directory`);
    this.writableDirectory(dirname(file));
    return file;
  }

  /** Missing directories will be created, so the nearest existing one must be writable. */
  writableDirectory(directory = this.path()): string {
    let nearest = directory;
    while (!existsSync(nearest) && nearest !== dirname(nearest)) nearest = dirname(nearest);
    if (!statOrNull(nearest)?.isDirectory()) throw this.#problem(`${nearest} is not a directory`);
    try {
      accessSync(nearest, constants.W_OK);
    } catch (error) {
      throw new Fault("usage", `--${this.name}: can't write to ${nearest}`, { cause: error });
    }
    return directory;
  }

  existingDirectory(): string {
    const directory = this.path();
    if (!statOrNull(directory)?.isDirectory()) throw this.#problem(`no directory ${directory}`);
    return directory;
  }

  #positive(expected: string, isAllowed: (number: number) => boolean): number {
    const number = /^\d+(\.\d+)?$/.test(this.text) ? Number(this.text) : Number.NaN;
    if (number > 0 && isAllowed(number)) return number;
    throw this.#fault(`takes ${expected} above 0, not "${this.text}"`);
  }

  #problem(why: string): Fault {
    return new Fault("usage", `--${this.name}: ${why}`);
  }

  #fault(rule: string): Fault {
    return new Fault("usage", `--${this.name} ${rule}`);
  }
}

function statOrNull(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}
