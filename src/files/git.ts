// Runs git on a shadow repository, which has its own objects and index and uses the project only as working tree.
// Ignores every configuration, hook, filter and attribute of the user and of the project.
import { Fault } from "../protocol/api/error.ts";

export type ShadowRepository = {
  /** Absolute path of the executable. */
  git: string;
  /** The PATH in which git finds its own programs. */
  path: string;
  /** The bare repository in skein's data directory. */
  dir: string;
  project: string;
};

export type GitOptions = {
  index?: string;
  stdin?: Uint8Array | ReadableStream<Uint8Array>;
  signal?: AbortSignal;
  /** Reads at most this much output, then kills git. */
  maxBytes?: number;
};

export async function runGit(shadow: ShadowRepository, args: readonly string[], options: GitOptions = {}): Promise<Buffer> {
  const { code, out, err } = await tryGit(shadow, args, options);
  if (code === 0 || out.length >= (options.maxBytes ?? Number.POSITIVE_INFINITY)) return out;
  const message = err.trim().split("\n").slice(-3).join("; ").slice(0, 500);
  if (options.signal?.aborted) throw new Fault("internal", `git ${args[0]} took too long`);
  throw new Fault("internal", `git ${args[0]} failed: ${message === "" ? `exit ${code}` : message}`);
}

/** Returns the exit code instead of throwing, for commands that answer with it. */
export async function tryGit(
  shadow: ShadowRepository,
  args: readonly string[],
  options: GitOptions = {},
): Promise<{ code: number; out: Buffer; err: string }> {
  const child = Bun.spawn([shadow.git, "--no-optional-locks", ...gitSettings, ...args], {
    cwd: shadow.project,
    env: environment(shadow, options.index ?? `${shadow.dir}/index`),
    stdin: options.stdin ?? "ignore",
    stdout: "pipe",
    stderr: "pipe",
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  const maxBytes = options.maxBytes ?? Number.POSITIVE_INFINITY;
  const [out, err] = await Promise.all([readAtMost(child.stdout, maxBytes, () => child.kill()), new Response(child.stderr).text()]);
  return { code: await child.exited, out, err };
}

/** Reads at most `maxBytes`. Calls `onLimit` once at the limit, to stop the writer. */
export async function readAtMost(stream: ReadableStream<Uint8Array>, maxBytes: number, onLimit: () => void): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes < maxBytes) continue;
    onLimit();
    break;
  }
  return Buffer.concat(chunks).subarray(0, maxBytes);
}

/** Paths are bytes. Inside this module they are latin1 strings, which lose no byte. */
export function splitAtNul(bytes: Buffer): string[] {
  const text = bytes.toString("latin1");
  return text === "" ? [] : text.replace(/\0$/, "").split("\0");
}

/** The absolute path as bytes. */
export function absoluteBytes(shadow: ShadowRepository, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${shadow.project}/`), Buffer.from(path, "latin1")]);
}

export function readablePath(path: string): string {
  return Buffer.from(path, "latin1").toString("utf8");
}

function environment(shadow: ShadowRepository, index: string): Record<string, string> {
  return {
    PATH: shadow.path,
    LC_ALL: "C",
    GIT_DIR: shadow.dir,
    GIT_WORK_TREE: shadow.project,
    GIT_INDEX_FILE: index,
    GIT_OBJECT_DIRECTORY: `${shadow.dir}/objects`,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_LITERAL_PATHSPECS: "1",
    GIT_TERMINAL_PROMPT: "0",
  };
}

export const gitSettings = Object.entries({
  "core.hooksPath": "/dev/null",
  "core.fsmonitor": "false",
  "core.attributesFile": "/dev/null",
  "core.excludesFile": "/dev/null",
  "core.autocrlf": "false",
  "core.fsync": "none",
  "core.compression": "1",
  "pack.compression": "1",
  "fastimport.unpackLimit": "0",
  "core.protectNTFS": "false",
  "core.quotePath": "false",
  "core.logAllRefUpdates": "false",
  "submodule.recurse": "false",
  "gc.auto": "0",
}).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
