// The places where other agents keep their transcripts. Lists files; opens none.
import { lstatSync, statSync } from "node:fs";
import { join } from "node:path";
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

export function transcriptDirectory(agent: TranscriptAgent, home: TranscriptHome): string {
  return locations[agent].directory(home);
}

/** Links are not followed. A directory that can't be read counts as empty. */
export function listTranscriptFiles(agent: TranscriptAgent, home: TranscriptHome): TranscriptFile[] {
  const { pattern, isPart } = locations[agent];
  const directory = transcriptDirectory(agent, home);
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  const files: TranscriptFile[] = [];
  for (const path of new Bun.Glob(pattern).scanSync({ cwd: directory, absolute: true, followSymlinks: false })) {
    const file = isPart?.(path) === true ? null : statFile(path);
    if (file !== null) files.push(file);
  }
  return files;
}

/** Null if it is a link or no regular file, or was deleted meanwhile. */
export function statFile(path: string): TranscriptFile | null {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat?.isFile() === true ? { path, bytes: stat.size, modifiedAt: stat.mtimeMs, inode: stat.ino } : null;
}
