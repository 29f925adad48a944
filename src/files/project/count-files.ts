// Counts the tokens of many files in processes of their own, so that whoever asks goes on and keeps nothing of the
// tokenizer. What is not counted when the time is up is estimated by its size.
import { bytesPerToken } from "../../kit/text/bytes-per-token.ts";
import { lstatSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { Fault } from "../../protocol/api/error.ts";
import type { TokenCount } from "../../protocol/api/token-count.ts";
import type { SkipReason } from "./count-process.ts";

export type CountFilesOptions = {
  /** The words that start a process that counts. */
  command: readonly string[];
  project: string;
  /** Relative to the project. */
  files: readonly string[];
  top: number;
  limitMs: number;
};

/** Starting another process pays from about this many files on. */
const filesForOne = 2_000;
const mostProcesses = 4;

type Counted = { path: string; tokens: number };

export async function countFiles(
  options: CountFilesOptions,
): Promise<Omit<TokenCount, "skipped"> & { skipped: Record<SkipReason, number> }> {
  const processes = Math.max(1, Math.min(mostProcesses, availableParallelism(), Math.ceil(options.files.length / filesForOne)));
  const shares = Array.from({ length: processes }, (_, own) => options.files.filter((_path, at) => at % processes === own));
  const answers = await Promise.all(shares.map((share) => countShare(share, options)));
  const counted: Counted[] = [];
  const late: string[] = [];
  const skipped = { binary: 0, unreadable: 0 };
  for (const [own, share] of shares.entries()) {
    for (const [at, path] of share.entries()) {
      const answer = answers[own]![at];
      if (answer === undefined) late.push(path);
      else if (answer === "binary" || answer === "unreadable") skipped[answer] += 1;
      else counted.push({ path, tokens: Number(answer) });
    }
  }
  const estimated = estimate(options.project, late, counted, skipped);
  return { ...sums([...counted, ...estimated], options.top), estimatedFiles: estimated.length, skipped };
}

/** As many answers as came in time. */
async function countShare(share: readonly string[], { command, project, limitMs }: CountFilesOptions): Promise<string[]> {
  if (share.length === 0) return [];
  const child = Bun.spawn([...command], {
    cwd: "/",
    env: {},
    stdin: new Blob([share.map((path) => `${JSON.stringify(join(project, path))}\n`).join("")]),
    stdout: "pipe",
    stderr: "pipe",
  });
  let isLate = false;
  const clock = setTimeout(() => {
    isLate = true;
    child.kill("SIGKILL");
  }, limitMs);
  try {
    const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
    if (code !== 0 && !isLate) throw new Fault("internal", `the tokens can't be counted: ${err.trim().slice(-500) || `exit ${code}`}`);
    // What follows the last line's end is torn.
    return out.split("\n").slice(0, -1);
  } finally {
    clearTimeout(clock);
  }
}

/** By the bytes for each token that the others had. What is gone, or no file, is unreadable. */
function estimate(project: string, late: string[], counted: Counted[], skipped: Record<SkipReason, number>): Counted[] {
  if (late.length === 0) return [];
  const known = counted.slice(-500);
  const bytes = known.reduce((sum, { path }) => sum + (sizeOf(join(project, path)) ?? 0), 0);
  const tokens = known.reduce((sum, each) => sum + each.tokens, 0);
  const each = bytes > 0 && tokens > 0 ? bytes / tokens : bytesPerToken.average;
  return late.flatMap((path) => {
    const size = sizeOf(join(project, path));
    if (size === null) skipped.unreadable += 1;
    return size === null ? [] : [{ path, tokens: Math.ceil(size / each) }];
  });
}

function sizeOf(path: string): number | null {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat?.isFile() ? stat.size : null;
}

function sums(files: Counted[], top: number): Omit<TokenCount, "skipped" | "estimatedFiles"> {
  const folders = new Map<string, { path: string; tokens: number; files: number }>();
  for (const { path, tokens } of files) {
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
      const folder = path.slice(0, end);
      const sum = folders.get(folder) ?? { path: folder, tokens: 0, files: 0 };
      folders.set(folder, { path: folder, tokens: sum.tokens + tokens, files: sum.files + 1 });
    }
  }
  return {
    tokenizer: "o200k_base",
    totalTokens: files.reduce((sum, { tokens }) => sum + tokens, 0),
    totalFiles: files.length,
    largestFiles: largest(files, top),
    largestDirectories: largest([...folders.values()], top),
  };
}

function largest<Each extends Counted>(all: Each[], top: number): Each[] {
  return all.toSorted((a, b) => b.tokens - a.tokens || (a.path < b.path ? -1 : 1)).slice(0, top);
}
