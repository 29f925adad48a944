// Runs the git executable on a shadow repository: its own objects and index, the project only as a working tree.
// No configuration, hook, filter or attribute of the user or the project has a say in it.
import { Fault } from "../protocol/api/error.ts";

export type ShadowRepository = {
  /** The executable, absolute. */
  git: string;
  /** What it is found by and finds its own parts with. */
  path: string;
  /** The bare repository in skein's data directory. */
  dir: string;
  project: string;
};

export type GitOptions = {
  index?: string;
  stdin?: Uint8Array | ReadableStream<Uint8Array>;
  signal?: AbortSignal;
  /** Reads no more than this, and ends the program there. */
  mostBytes?: number;
};

export async function runGit(shadow: ShadowRepository, args: readonly string[], options: GitOptions = {}): Promise<Buffer> {
  const { code, out, err } = await tryGit(shadow, args, options);
  if (code === 0 || out.length >= (options.mostBytes ?? Number.POSITIVE_INFINITY)) return out;
  const said = err.trim().split("\n").slice(-3).join("; ").slice(0, 500);
  if (options.signal?.aborted) throw new Fault("internal", `git ${args[0]} took too long`);
  throw new Fault("internal", `git ${args[0]} failed: ${said === "" ? `exit ${code}` : said}`);
}

/** For those whose exit code is an answer. */
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
  const most = options.mostBytes ?? Number.POSITIVE_INFINITY;
  const [out, err] = await Promise.all([readAtMost(child.stdout, most, () => child.kill()), new Response(child.stderr).text()]);
  return { code: await child.exited, out, err };
}

/** No more than `most`; `end` stops whoever writes. */
export async function readAtMost(stream: ReadableStream<Uint8Array>, most: number, end: () => void): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes < most) continue;
    end();
    break;
  }
  return Buffer.concat(chunks).subarray(0, most);
}

/** Paths are bytes: they are held as latin1 text inside this room, which loses none of them. */
export function splitAtNul(bytes: Buffer): string[] {
  const text = bytes.toString("latin1");
  return text === "" ? [] : text.replace(/\0$/, "").split("\0");
}

/** Absolute, as bytes. */
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
