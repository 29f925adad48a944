// `config set`: changes one value in a config file. Keeps its comments and layout.
import { realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { FileReader } from "../kit/files/file-reader.ts";
import { makeDirectorySafely, replaceSafely, writeAll } from "../kit/files/safe-file.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import { findKey, wordsOf } from "./find-key.ts";
import { unknownKeyHint } from "./load.ts";
import type { Paths } from "./paths.ts";
import { parseConfigText, readConfigText } from "./read-file.ts";
import { grantTrust, trustState } from "./trust.ts";
import { checkValue, jsonFromText } from "./check-value.ts";
import { writeFileAtomically } from "./write-file.ts";

export type SetValueOptions = {
  paths: Paths;
  project: string;
  scope: "user" | "project";
  key: string;
  /** The text as typed; `null` removes the key. */
  value: string;
  /** Throws for a value that the commands which use it would refuse. `value` is undefined if the key is removed. */
  check: (key: string, value: unknown) => void;
};

export async function setConfigValue(options: SetValueOptions): Promise<{ path: string }> {
  const entry = findKey(options.key);
  if (!entry) throw new Fault("config", `unknown key "${options.key}"`, { hint: unknownKeyHint(options.key) });
  if (options.scope === "project" && entry.project === "never")
    throw new Fault("config", `"${options.key}" can't be set in a project`, { hint: "leave --project out: only your own file sets it" });
  const value = options.value === "null" ? undefined : jsonFromText(entry, options.value);
  if (value !== undefined) {
    const checked = checkValue(entry, value);
    if (!checked.ok) throw new Fault("config", `"${options.key}" must be ${checked.expected}`);
  }
  options.check(options.key, value);
  return changeConfigFile(options, { words: wordsOf(options.key), value });
}

/** A value by the words of its key; undefined removes it. */
type ConfigChange = { words: string[]; value: unknown };

/** Writes a checked value. A trusted project stays trusted, because the user typed the change. */
export async function changeConfigFile(
  { paths, project, scope }: Pick<SetValueOptions, "paths" | "project" | "scope">,
  change: ConfigChange,
): Promise<{ path: string }> {
  if (scope === "user") return { path: await writeValue(paths.userConfig, null, change) };
  const path = join(project, ".skein", "config.jsonc");
  const files = new FileReader(project);
  const wasTrusted = trustState(paths, project, files).trusted;
  await writeValue(path, files, change);
  if (!wasTrusted) return { path };
  // Only the typed change is trusted, not a file that appeared meanwhile.
  files.seal();
  grantTrust(paths, project, files);
  return { path };
}

/** Changes the file and its bytes in `files`, which is null for the user's own file. Returns its path. */
async function writeValue(path: string, files: FileReader | null, change: ConfigChange): Promise<string> {
  const before = readConfigText(path, files);
  const after = await edit(before, path, change);
  if (after === null || after === before) return path;
  // Writes to the target of a link, so that the link stays.
  const target = before === null ? path : realpathSync(path);
  if (files === null) {
    const mode = before === null ? 0o600 : statSync(target).mode & 0o777;
    writeFileAtomically(target, after, { file: mode, directory: 0o700 });
    return path;
  }
  try {
    makeDirectorySafely(dirname(target), 0o755);
    await replaceSafely(target, (file) => writeAll(file, after), 0o644);
  } catch (error) {
    throw new Fault("file-unwritable", `can't write ${target}: ${messageOf(error)}`, { cause: error });
  }
  files.put(path, after);
  return path;
}

/** The changed text; null if there is nothing to write. */
async function edit(before: string | null, path: string, { words, value }: ConfigChange): Promise<string | null> {
  if (before !== null) parseConfigText(before, path);
  if (before === null && value === undefined) return null;
  const { applyEdits, modify } = await import("jsonc-parser");
  const text = before === null || isBlank(before) ? `${before?.trimEnd() ?? ""}\n{}\n`.trimStart() : before;
  const edits = modify(text, words, value, {
    formattingOptions: { insertSpaces: true, tabSize: 2, eol: text.includes("\r\n") ? "\r\n" : "\n" },
  });
  const after = applyEdits(text, edits);
  parseConfigText(after, path);
  return after;
}

/** Whether the text has only blanks and comments, and so no object to change. */
function isBlank(text: string): boolean {
  return !text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "").trim();
}
