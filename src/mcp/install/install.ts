// Adds the server `skein` to a client's configuration file, or removes it. Changes one entry and nothing else. Refuses a file
// that can't be parsed, or that would not parse as expected afterwards.
import { chmodSync, copyFileSync, existsSync, lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { isRecord } from "../../kit/text/json.ts";
import { replaceFile } from "../../kit/files/replace-file.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import { jsonEditor } from "./edit-json.ts";
import { tomlEditor } from "./edit-toml.ts";
import type { InstallClient, Entry, ServerCommand } from "./clients.ts";

/** Edits text. `read` throws a SyntaxError for a broken text. */
export type TextEditor = {
  read: (text: string) => unknown;
  set: (text: string, path: string[], value: unknown) => string;
  /** Removes the value, and also its table if the table is empty afterwards. */
  remove: (text: string, path: string[]) => string;
};

export type InstallOutcome = "added" | "changed" | "unchanged" | "removed" | "absent";

export type InstallPlan = {
  outcome: InstallOutcome;
  file: string;
  /** skein's part of the entry. Keys that the user added are left out, because they may be secret. */
  snippet: string;
  /** Null if there is no file yet. */
  before: string | null;
  after: string;
};

const serverName = "skein";

export async function planInstall(client: InstallClient, file: string, server: ServerCommand): Promise<InstallPlan> {
  const { editor, before, bom, text, value, path, existing } = await openFile(client, file);
  const skeinEntry = client.entry(server);
  const entry = mergeEntry(existing, skeinEntry);
  let after = text;
  if (existing === undefined) after = editor.set(text, path, entry);
  else for (const [keys, leaf] of changedLeaves(existing, entry)) after = editor.set(after, [...path, ...keys], leaf);
  const outcome = existing === undefined ? "added" : after === text ? "unchanged" : "changed";
  requireContent(parseFile(editor, file, after), withEntry(value, path, entry), file);
  return { outcome, file, snippet: editor.set("", path, skeinEntry), before, after: `${bom}${after}` };
}

export async function planRemoval(client: InstallClient, file: string): Promise<InstallPlan> {
  const { editor, before, bom, text, value, path, existing } = await openFile(client, file);
  if (existing === undefined) return { outcome: "absent", file, snippet: "", before, after: before ?? "" };
  const after = editor.remove(text, path);
  const expected = withEntry(value, path, undefined);
  const content = parseFile(editor, file, after);
  // The editor also removes an empty table of servers.
  if (!(client.servers in content) && Bun.deepEquals(expected[client.servers], {})) delete expected[client.servers];
  requireContent(content, expected, file);
  return { outcome: "removed", file, snippet: `${path.join(".")}\n`, before, after: `${bom}${after}` };
}

/** `backup` is a copy of the file from before skein's first change; null if this was not the first. */
export function applyInstall({ outcome, file, before, after }: InstallPlan): { backup: string | null } {
  if (after === (before ?? "")) return { backup: null };
  try {
    const target = before === null ? file : realpathSync(file);
    const mode = before === null ? 0o600 : statSync(target).mode & 0o777;
    const backup = before === null || outcome === "removed" ? null : backUp(target, mode);
    if (readText(file) !== before) throw new Fault("config", `${file} was changed meanwhile`, { hint: "run the command again" });
    replaceFile(target, after, { file: mode, directory: 0o755 });
    return { backup };
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault("file-unwritable", `can't write ${file}: ${messageOf(error)}`, { cause: error });
  }
}

function backUp(target: string, mode: number): string | null {
  const copy = `${target}.before-skein`;
  if (existsSync(copy)) return null;
  copyFileSync(target, copy);
  chmodSync(copy, mode);
  return copy;
}

async function openFile(client: InstallClient, file: string) {
  const editor = file.endsWith(".toml") ? tomlEditor() : await jsonEditor();
  const before = readText(file);
  const bom = before?.startsWith("\uFEFF") ? "\uFEFF" : ""; // the byte order mark
  const text = before?.slice(bom.length) ?? "";
  const value = parseFile(editor, file, text);
  const path = [client.servers, serverName];
  const servers = client.servers in value ? value[client.servers] : {};
  if (!isRecord(servers)) throw new Fault("config", `${file} does not have the layout of ${client.title}`, notChangedHint);
  const existing = servers[serverName];
  if (existing !== undefined && !isSkeinEntry(existing, client.command ?? "mcp"))
    throw new Fault("config", `${file} has another server called ${serverName}`, { hint: "rename or remove that server first" });
  return { editor, before, bom, text, value, path, existing };
}

const notChangedHint = { hint: "the file was not changed" };

/** Null if there is no file. */
function readText(file: string): string | null {
  try {
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) throw new Fault("config", `${file} is not a file`, notChangedHint);
    const bytes = readFileSync(file);
    const text = bytes.toString();
    if (!Buffer.from(text).equals(bytes)) throw new Fault("config", `${file} is not UTF-8`, notChangedHint);
    return text;
  } catch (error) {
    if (error instanceof Fault) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && lstatSync(file, { throwIfNoEntry: false }) === undefined) return null;
    throw new Fault("file-unreadable", `can't read ${file}: ${messageOf(error)}`, { cause: error });
  }
}

function parseFile(editor: TextEditor, file: string, text: string): Record<string, unknown> {
  try {
    const value = editor.read(text);
    if (isRecord(value)) return value;
  } catch (error) {
    throw new Fault("config", `${file} is broken: ${messageOf(error)}`, { ...notChangedHint, cause: error });
  }
  throw new Fault("config", `${file} is not one object`, notChangedHint);
}

/** Throws unless the edited text parses as the old content plus or minus skein's entry. */
function requireContent(content: Record<string, unknown>, expected: Record<string, unknown>, file: string): void {
  if (Bun.deepEquals(content, expected)) return;
  throw new Fault("config", `${file} is written in a way that skein does not change`, {
    hint: "`--print` shows the entry to add by hand; the file was not changed",
  });
}

/** True if the entry starts skein with this command, also if the user wrote it by hand. Some clients have one text for all words. */
function isSkeinEntry(entry: unknown, command: string): entry is Entry {
  if (!isRecord(entry)) return false;
  const words = [entry["command"], entry["args"]].flat().flatMap((word) => (typeof word === "string" ? word.split(" ") : []));
  return words.includes(command);
}

/** Keeps the user's changes to skein's entry: other keys, more arguments after skein's, other values of variables. */
function mergeEntry(existing: Entry | undefined, skeinEntry: Entry): Entry {
  const merged = Object.entries(skeinEntry).map(([key, value]): [string, Entry[string]] => {
    const old = existing?.[key];
    if (Array.isArray(value) && Array.isArray(old)) {
      if (key === "env_vars") return [key, [...new Set([...old, ...value])]];
      return [key, value.every((word, index) => old[index] === word) ? old : value];
    }
    return [key, isRecord(value) && isRecord(old) ? { ...value, ...old } : value];
  });
  return { ...existing, ...Object.fromEntries(merged) };
}

/** The values that differ, one by one, so that the other lines of the entry keep their layout. */
function changedLeaves(existing: Record<string, unknown>, entry: Record<string, unknown>): [string[], unknown][] {
  return Object.entries(entry).flatMap(([key, value]): [string[], unknown][] => {
    const old = existing[key];
    if (Bun.deepEquals(old, value)) return [];
    if (!isRecord(old) || !isRecord(value)) return [[[key], value]];
    return changedLeaves(old, value).map(([keys, leaf]) => [[key, ...keys], leaf]);
  });
}

function withEntry(value: Record<string, unknown>, [servers, name]: string[], entry: Entry | undefined): Record<string, unknown> {
  const { [name!]: _, ...others } = (value[servers!] ?? {}) as Record<string, unknown>;
  return { ...value, [servers!]: entry === undefined ? others : { ...others, [name!]: entry } };
}
