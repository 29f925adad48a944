// Puts the server `skein` into a client's own configuration file, or takes it out: one entry, everything else as it was.
// What can't be read, or would not read afterwards as it should, is refused and left alone.
import { chmodSync, copyFileSync, existsSync, lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { replaceFile } from "../../kit/files/replace-file.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import { jsonEditor } from "./edit-json.ts";
import { tomlEditor } from "./edit-toml.ts";
import type { InstallClient, Entry, ServerCommand } from "./clients.ts";

/** Works on text; a broken one is a SyntaxError of `read`. */
export type TextEditor = {
  read: (text: string) => unknown;
  set: (text: string, path: string[], value: unknown) => string;
  /** Also takes the table it was in, if that is empty then. */
  take: (text: string, path: string[]) => string;
};

export type InstallOutcome = "added" | "changed" | "unchanged" | "removed" | "absent";

export type InstallPlan = {
  outcome: InstallOutcome;
  file: string;
  /** What is ours in the file, by itself; nothing of what a person added to it, which may be secret. */
  snippet: string;
  /** Null when there is no file yet. */
  before: string | null;
  after: string;
};

const serverName = "skein";

export async function planInstall(row: InstallClient, file: string, server: ServerCommand): Promise<InstallPlan> {
  const { editor, before, mark, text, value, path, there } = await open(row, file);
  const ours = row.entry(server);
  const wanted = merged(there, ours);
  let after = text;
  if (there === undefined) after = editor.set(text, path, wanted);
  else for (const [keys, leaf] of leavesOf(there, wanted)) after = editor.set(after, [...path, ...keys], leaf);
  const outcome = there === undefined ? "added" : after === text ? "unchanged" : "changed";
  hold(editor, file, after, withEntry(value, path, wanted));
  return { outcome, file, snippet: editor.set("", path, ours), before, after: `${mark}${after}` };
}

export async function planRemoval(row: InstallClient, file: string): Promise<InstallPlan> {
  const { editor, before, mark, text, value, path, there } = await open(row, file);
  if (there === undefined) return { outcome: "absent", file, snippet: "", before, after: before ?? "" };
  const after = editor.take(text, path);
  const rest = withEntry(value, path, undefined);
  if (!(row.servers in readWith(editor, file, after)) && Bun.deepEquals(rest[row.servers], {})) delete rest[row.servers];
  hold(editor, file, after, rest);
  return { outcome: "removed", file, snippet: `${path.join(".")}\n`, before, after: `${mark}${after}` };
}

/** Returns the copy of the file as it was before skein first changed it, if this was the first time. */
export function applyInstall({ outcome, file, before, after }: InstallPlan): { backup: string | null } {
  if (after === (before ?? "")) return { backup: null };
  try {
    const target = before === null ? file : realpathSync(file);
    const mode = before === null ? 0o600 : statSync(target).mode & 0o777;
    const backup = before === null || outcome === "removed" ? null : keepCopy(target, mode);
    if (readOr(file) !== before) throw new Fault("config", `${file} was changed meanwhile`, { hint: "run it again" });
    replaceFile(target, after, { file: mode, directory: 0o755 });
    return { backup };
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault("file-unwritable", `can't write ${file}: ${messageOf(error)}`, { cause: error });
  }
}

function keepCopy(target: string, mode: number): string | null {
  const copy = `${target}.before-skein`;
  if (existsSync(copy)) return null;
  copyFileSync(target, copy);
  chmodSync(copy, mode);
  return copy;
}

type Opened = {
  editor: TextEditor;
  before: string | null;
  /** The byte order mark, if the file has one, and the rest. */
  mark: string;
  text: string;
  value: Record<string, unknown>;
  path: string[];
  there: Entry | undefined;
};

async function open(row: InstallClient, file: string): Promise<Opened> {
  const editor = row.format === "toml" ? tomlEditor() : await jsonEditor();
  const before = readOr(file);
  const text = (before ?? "").replace(/^\uFEFF/, "");
  const mark = before?.startsWith("\uFEFF") ? "\uFEFF" : "";
  const value = readWith(editor, file, text);
  const path = [row.servers, serverName];
  const servers = row.servers in value ? value[row.servers] : {};
  if (!isTable(servers)) throw new Fault("config", `${file} is not laid out as ${row.title} reads it`, leftAlone);
  const there = servers[serverName];
  if (there !== undefined && !isOurs(there))
    throw new Fault("config", `${file} has another server called ${serverName}`, { hint: "rename it or take it out first" });
  return { editor, before, mark, text, value, path, there };
}

const leftAlone = { hint: "the file was left as it is" };

function readOr(file: string): string | null {
  try {
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) throw new Fault("config", `${file} is not a file`, leftAlone);
    const bytes = readFileSync(file);
    const text = bytes.toString();
    if (!Buffer.from(text).equals(bytes)) throw new Fault("config", `${file} is not UTF-8`, leftAlone);
    return text;
  } catch (error) {
    if (error instanceof Fault) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && lstatSync(file, { throwIfNoEntry: false }) === undefined) return null;
    throw new Fault("file-unreadable", `can't read ${file}: ${messageOf(error)}`, { cause: error });
  }
}

function readWith(editor: TextEditor, file: string, text: string): Record<string, unknown> {
  try {
    const value = editor.read(text);
    if (isTable(value)) return value;
  } catch (error) {
    throw new Fault("config", `${file} is broken: ${messageOf(error)}`, { ...leftAlone, cause: error });
  }
  throw new Fault("config", `${file} does not hold one object`, leftAlone);
}

/** Whatever the text went through, it must say what it said before and ours, nothing else. */
function hold(editor: TextEditor, file: string, after: string, expected: Record<string, unknown>): void {
  if (Bun.deepEquals(readWith(editor, file, after), expected)) return;
  throw new Fault("config", `${file} is written in a way that skein does not change`, {
    hint: "`--print` shows what belongs in it; the file was left as it is",
  });
}

/** Started by us, or by hand in the same way. */
function isOurs(entry: unknown): entry is Entry {
  if (!isTable(entry)) return false;
  return [entry["command"], entry["args"]].flat().includes("mcp");
}

/** Ours, and what a person made of it: other keys, more words after our own, other values of variables. */
function merged(there: Entry | undefined, ours: Entry): Entry {
  const both = Object.entries(ours).map(([key, value]): [string, Entry[string]] => {
    const old = there?.[key];
    if (Array.isArray(value) && Array.isArray(old)) {
      if (key === "env_vars") return [key, [...new Set([...old, ...value])]];
      return [key, value.every((word, at) => old[at] === word) ? old : value];
    }
    return [key, isTable(value) && isTable(old) ? { ...value, ...old } : value];
  });
  return { ...there, ...Object.fromEntries(both) };
}

/** What differs, one by one: the rest of the entry keeps its layout. */
function leavesOf(there: Record<string, unknown>, wanted: Record<string, unknown>): [string[], unknown][] {
  return Object.entries(wanted).flatMap(([key, value]): [string[], unknown][] => {
    const old = there[key];
    if (Bun.deepEquals(old, value)) return [];
    if (!isTable(old) || !isTable(value)) return [[[key], value]];
    return leavesOf(old, value).map(([keys, leaf]) => [[key, ...keys], leaf]);
  });
}

function withEntry(value: Record<string, unknown>, [servers, name]: string[], entry: Entry | undefined): Record<string, unknown> {
  const { [name!]: _, ...others } = (value[servers!] ?? {}) as Record<string, unknown>;
  return { ...value, [servers!]: entry === undefined ? others : { ...others, [name!]: entry } };
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
