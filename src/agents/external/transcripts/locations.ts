// The places where other agents keep their transcripts. Lists files; opens none.
import { type Dirent, lstatSync, readdirSync, type Stats } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { TranscriptAgent } from "../../../protocol/transcripts/agent-transcript.ts";

export type TranscriptHome = { env: Record<string, string | undefined>; home: string };
export type TranscriptFile = { path: string; bytes: number; modifiedAt: number; inode: number };

type Location = {
  directory: (home: TranscriptHome) => string;
  pattern: string;
  /** True for a file that is only part of another transcript. */
  isPart?: (path: string) => boolean;
};

/** Claude Code keeps sub-agents of older versions in `agent-*.jsonl`, beside the sessions that started them. */
const locations: Record<TranscriptAgent, Location> = {
  claude: {
    directory: ({ env, home }) => join(env["CLAUDE_CONFIG_DIR"] || join(home, ".claude"), "projects"),
    pattern: "*/*.jsonl",
    isPart: (path) => /\/agent-[^/]*$/.test(path),
  },
  codex: { directory: ({ env, home }) => join(env["CODEX_HOME"] || join(home, ".codex"), "sessions"), pattern: "**/rollout-*.jsonl" },
  gemini: {
    directory: ({ env, home }) => join(env["GEMINI_CLI_HOME"] || home, ".gemini", "tmp"),
    pattern: "*/chats/session-*.json*",
  },
  opencode: {
    directory: ({ env, home }) => join(env["XDG_DATA_HOME"] || join(home, ".local", "share"), "opencode"),
    pattern: "opencode.db",
  },
  pi: { directory: ({ env, home }) => join(env["PI_CODING_AGENT_DIR"] || join(home, ".pi", "agent"), "sessions"), pattern: "*/*.jsonl" },
};

/** Codex keeps its files three directories deep. */
const maxDepth = 8;

export function transcriptDirectory(agent: TranscriptAgent, home: TranscriptHome): string {
  return locations[agent].directory(home);
}

/** Links below the agent's directory are not followed. A directory that can't be read counts as empty. */
export function listTranscriptFiles(agent: TranscriptAgent, home: TranscriptHome): TranscriptFile[] {
  const { pattern, isPart } = locations[agent];
  const directory = resolve(transcriptDirectory(agent, home));
  const glob = new Bun.Glob(pattern);
  const files: TranscriptFile[] = [];
  for (const path of pathsBelow(directory, pattern.startsWith("**") ? maxDepth : pattern.split("/").length)) {
    const file = glob.match(relative(directory, path)) && isPart?.(path) !== true ? statFile(path) : null;
    if (file !== null) files.push(file);
  }
  return files;
}

/** Bun's own scan ends with the first directory that can't be read. */
function* pathsBelow(directory: string, depth: number): Generator<string> {
  let entries: Dirent[];
  try {
    entries = readdirSync(directory, { withFileTypes: true });
  } catch {
    return;
  }
  for (const entry of entries) {
    const path = join(directory, entry.name);
    if (!entry.isDirectory()) yield path;
    else if (depth > 1) yield* pathsBelow(path, depth - 1);
  }
}

/** Null if it is a link or no regular file, was deleted meanwhile, or is in a directory that can't be entered. */
export function statFile(path: string): TranscriptFile | null {
  let stat: Stats;
  try {
    stat = lstatSync(path);
  } catch {
    return null;
  }
  return stat.isFile() ? { path, bytes: stat.size, modifiedAt: stat.mtimeMs, inode: stat.ino } : null;
}
