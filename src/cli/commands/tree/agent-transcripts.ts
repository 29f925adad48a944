// Finds the transcripts that another agent stored about this project, the latest first. Reads only the head of each file,
// and treats its content as data: a broken file is left out.
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { readRegularFile } from "../../../kit/files/safe-file.ts";
import { isRecord, type Json } from "../../../kit/text/json.ts";
import { oneLine } from "../../../kit/text/cut-text.ts";
import type { CommandContext } from "../../parse/command.ts";

export type AgentTranscript = { path: string; modifiedAt: number; title: string };

type TranscriptLocation = { directory: string; pattern: string };
type Source = Pick<CommandContext, "env" | "home" | "project">;

const locations: Record<string, (source: Source) => TranscriptLocation> = {
  claude: ({ env, home }) => ({ directory: join(env["CLAUDE_CONFIG_DIR"] || join(home, ".claude"), "projects"), pattern: "*/*.jsonl" }),
  codex: ({ env, home }) => ({ directory: join(env["CODEX_HOME"] || join(home, ".codex"), "sessions"), pattern: "**/rollout-*.jsonl" }),
  gemini: ({ home }) => ({ directory: join(home, ".gemini", "tmp"), pattern: "*/chats/session-*.json*" }),
  pi: ({ env, home }) => ({ directory: join(env["PI_CODING_AGENT_DIR"] || join(home, ".pi", "agent"), "sessions"), pattern: "*/*.jsonl" }),
};

export const transcriptAgents: readonly string[] = Object.keys(locations);

/** At most this many files are read, the latest first. */
const maxFiles = 500;
const headBytes = 256 << 10;

export function findTranscripts(agent: string, source: Source): { directory: string; transcripts: AgentTranscript[] } {
  const { directory, pattern } = locations[agent]!(source);
  const files = listFiles(directory, pattern).toSorted((a, b) => b.modifiedAt - a.modifiedAt);
  const transcripts = files.slice(0, maxFiles).flatMap((file) => {
    const records = readHead(file.path);
    return records.some((record) => belongsTo(record, source.project)) ? [{ ...file, title: titleOf(records) }] : [];
  });
  return { directory, transcripts };
}

function listFiles(directory: string, pattern: string): { path: string; modifiedAt: number }[] {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  const paths = [...new Bun.Glob(pattern).scanSync({ cwd: directory, absolute: true, followSymlinks: false })];
  return paths.flatMap((path) => {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat === undefined ? [] : [{ path, modifiedAt: stat.mtimeMs }];
  });
}

/** The JSON objects of the first lines. The last line of the head may be cut. */
function readHead(path: string): Json[] {
  const lines = String(readRegularFile(path, { maxBytes: headBytes, isCut: true }) ?? "").split("\n");
  return lines.flatMap((line) => {
    try {
      const value: unknown = JSON.parse(line);
      return isRecord(value) ? [value] : [];
    } catch {
      // A cut or broken line has no information for the list.
      return [];
    }
  });
}

/** Gemini stores only a hash of the project's path. */
function belongsTo(record: Json, project: string): boolean {
  const payload = isRecord(record["payload"]) ? record["payload"] : {};
  const cwd = record["cwd"] ?? payload["cwd"];
  if (record["projectHash"] === createHash("sha256").update(project).digest("hex")) return true;
  return typeof cwd === "string" && (cwd === project || cwd.startsWith(`${project}/`));
}

const maxTitle = 80;

/** The first message of the user. A text that starts with a tag is context that the program added. */
function titleOf(records: readonly Json[]): string {
  for (const record of records) {
    const text = userText(record).trim();
    if (text !== "" && !text.startsWith("<")) return oneLine(text, maxTitle);
  }
  return "";
}

/** The text of a user's message, in the shape of any of the agents. */
function userText(record: Json): string {
  const payload = isRecord(record["payload"]) ? record["payload"] : {};
  const message = isRecord(record["message"]) ? record["message"] : {};
  if (message["role"] === "user") return contentText(message["content"]);
  if (record["type"] === "user") return contentText(record["content"]);
  if (payload["role"] === "user") return contentText(payload["content"]);
  return payload["type"] === "user_message" ? contentText(payload["message"]) : "";
}

function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  const part: unknown = Array.isArray(content)
    ? content.find((candidate) => isRecord(candidate) && typeof candidate["text"] === "string")
    : null;
  return isRecord(part) ? String(part["text"]) : "";
}
