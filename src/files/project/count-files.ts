// Counts the tokens of many files in child processes, so that the caller is not blocked and does not load the
// tokenizer. Files that are not counted in time are estimated by their size.
import { bytesPerToken } from "../../kit/text/bytes-per-token.ts";
import { lstatSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { Fault } from "../../protocol/api/error.ts";
import type { TokenCount } from "../../protocol/api/api.ts";
import type { SkipReason } from "./count-process.ts";

export type CountFilesOptions = {
  /** The command of a counting process, in a sandbox of its own. Called once for each process. */
  command: () => Promise<{ command: readonly string[]; env: Record<string, string> }>;
  project: string;
  /** Paths relative to the project. */
  files: readonly string[];
  top: number;
  limitMs: number;
};

/** Another process pays off from about this many files. */
const filesPerProcess = 2_000;
const maxProcesses = 4;

type FileTokens = { path: string; tokens: number };

export async function countFiles(
  options: CountFilesOptions,
): Promise<Omit<TokenCount, "skipped"> & { skipped: Record<SkipReason, number> }> {
  const processes = Math.max(1, Math.min(maxProcesses, availableParallelism(), Math.ceil(options.files.length / filesPerProcess)));
  const shares = Array.from({ length: processes }, (_, share) => options.files.filter((_path, index) => index % processes === share));
  const outputs = await Promise.all(shares.map((share) => countShare(share, options)));
  const counted: FileTokens[] = [];
  const late: string[] = [];
  const skipped = { binary: 0, unreadable: 0 };
  for (const [shareIndex, share] of shares.entries()) {
    for (const [index, path] of share.entries()) {
      const answer = outputs[shareIndex]![index];
      if (answer === undefined) late.push(path);
      else if (answer === "binary" || answer === "unreadable") skipped[answer] += 1;
      else counted.push({ path, tokens: Number(answer) });
    }
  }
  const estimated = estimate(options.project, late, counted, skipped);
  return { ...summarize([...counted, ...estimated], options.top), estimatedFiles: estimated.length, skipped };
}

/** The answers that arrived in time. */
async function countShare(share: readonly string[], { command, project, limitMs }: CountFilesOptions): Promise<string[]> {
  if (share.length === 0) return [];
  const { command: counter, env } = await command();
  const child = Bun.spawn([...counter], {
    cwd: "/",
    env,
    stdin: new Blob([share.map((path) => `${JSON.stringify(join(project, path))}\n`).join("")]),
    stdout: "pipe",
    stderr: "pipe",
  });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.kill("SIGKILL");
  }, limitMs);
  try {
    const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
    if (code !== 0 && !isLate) throw new Fault("internal", `the tokens can't be counted: ${err.trim().slice(-500) || `exit ${code}`}`);
    // The text after the last line end is incomplete.
    return out.split("\n").slice(0, -1);
  } finally {
    clearTimeout(timer);
  }
}

/** Uses the average bytes per token of the counted files. A missing path, or one that is no file, is unreadable. */
function estimate(project: string, late: string[], counted: FileTokens[], skipped: Record<SkipReason, number>): FileTokens[] {
  if (late.length === 0) return [];
  const sample = counted.slice(-500);
  const bytes = sample.reduce((sum, { path }) => sum + (sizeOf(join(project, path)) ?? 0), 0);
  const tokens = sample.reduce((sum, file) => sum + file.tokens, 0);
  const bytesEach = bytes > 0 && tokens > 0 ? bytes / tokens : bytesPerToken.average;
  return late.flatMap((path) => {
    const size = sizeOf(join(project, path));
    if (size === null) skipped.unreadable += 1;
    return size === null ? [] : [{ path, tokens: Math.ceil(size / bytesEach) }];
  });
}

function sizeOf(path: string): number | null {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat?.isFile() ? stat.size : null;
}

function summarize(files: FileTokens[], top: number): Omit<TokenCount, "skipped" | "estimatedFiles"> {
  const directories = new Map<string, { path: string; tokens: number; files: number }>();
  for (const { path, tokens } of files) {
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
      const directory = path.slice(0, end);
      const sum = directories.get(directory) ?? { path: directory, tokens: 0, files: 0 };
      directories.set(directory, { path: directory, tokens: sum.tokens + tokens, files: sum.files + 1 });
    }
  }
  return {
    tokenizer: "o200k_base",
    totalTokens: files.reduce((sum, { tokens }) => sum + tokens, 0),
    totalFiles: files.length,
    largestFiles: largest(files, top),
    largestDirectories: largest([...directories.values()], top),
  };
}

function largest<Item extends FileTokens>(items: Item[], top: number): Item[] {
  return items.toSorted((a, b) => b.tokens - a.tokens || (a.path < b.path ? -1 : 1)).slice(0, top);
}
