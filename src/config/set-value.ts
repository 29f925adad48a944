// `config set`: changes one value in a config file. Keeps its comments and layout.
import { realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../protocol/api/error.ts";
import { findKey } from "./keys.ts";
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
};

/** A trusted project stays trusted, because the user typed the change. */
export async function setConfigValue(options: SetValueOptions): Promise<{ path: string }> {
  const entry = findKey(options.key);
  if (!entry) throw new Fault("config", `unknown key "${options.key}"`, { hint: unknownKeyHint(options.key) });
  const value = options.value === "null" ? undefined : jsonFromText(entry, options.value);
  if (value !== undefined) {
    const checked = checkValue(entry, value);
    if (!checked.ok) throw new Fault("config", `"${options.key}" must be ${checked.expected}`);
  }
  const path = options.scope === "user" ? options.paths.userConfig : join(options.project, ".skein", "config.jsonc");
  const wasTrusted = options.scope === "project" && trustState(options.paths, options.project).trusted;
  await writeValue(
    path,
    options.key,
    value,
    options.scope === "user" ? { file: 0o600, directory: 0o700 } : { file: 0o644, directory: 0o755 },
  );
  if (wasTrusted) grantTrust(options.paths, options.project);
  return { path };
}

async function writeValue(path: string, key: string, value: unknown, modes: { file: number; directory: number }): Promise<void> {
  const before = readConfigText(path);
  if (before !== null) parseConfigText(before, path);
  if (before === null && value === undefined) return;
  const { applyEdits, modify } = await import("jsonc-parser");
  const text = before === null || isBlank(before) ? `${before?.trimEnd() ?? ""}\n{}\n`.trimStart() : before;
  const edits = modify(text, key.split("."), value, {
    formattingOptions: { insertSpaces: true, tabSize: 2, eol: text.includes("\r\n") ? "\r\n" : "\n" },
  });
  const after = applyEdits(text, edits);
  parseConfigText(after, path);
  if (after === before) return;
  // Writes to the target of a link, so that the link stays.
  const target = before === null ? path : realpathSync(path);
  writeFileAtomically(target, after, before === null ? modes : { ...modes, file: statSync(target).mode & 0o777 });
}

/** Whether the text has only blanks and comments, and so no object to change. */
function isBlank(text: string): boolean {
  return !text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "").trim();
}
