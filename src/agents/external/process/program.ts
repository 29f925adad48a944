// An installed command line: where it is, which package it belongs to and which version that is. It is started only when
// no file says its version.
import { accessSync, constants, existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";

export type Program = {
  /** As it was found in PATH. */
  path: string;
  /** Of the file behind all links: another one is another program. */
  mtimeMs: number;
  /** Null when no file beside it says it. */
  version: string | null;
};

export function findProgram(program: string, path: string): string | null {
  if (program.startsWith("/")) return isProgram(program) ? program : null;
  const places = path.split(delimiter).filter((folder) => folder.startsWith("/"));
  return places.map((folder) => join(folder, program)).find(isProgram) ?? null;
}

export function readProgram(path: string): Program {
  return { path, mtimeMs: statSync(path).mtimeMs, version: packageVersion(path) };
}

/** The directory of the package that a program belongs to, or its own. */
export function packageOf(program: string): string {
  const real = realpathSync(program);
  return manifestAbove(real)?.folder ?? dirname(real);
}

export function packageVersion(program: string): string | null {
  return manifestAbove(realpathSync(program))?.version ?? null;
}

const longestMs = 20_000;
const mostBytes = 64 << 10;

/** What it says to `--version`; null when that is nothing, or takes too long. */
export async function askVersion(path: string, env: Record<string, string | undefined>, signal: AbortSignal): Promise<string | null> {
  const [{ runProcess }, { toolEnvironment }] = await Promise.all([
    import("../../../kit/process/run-process.ts"),
    import("../../../executor/environment.ts"),
  ]);
  let output = "";
  const decoder = new TextDecoder();
  const request = {
    command: [path, "--version"],
    cwd: "/",
    env: toolEnvironment(env),
    timeoutMs: longestMs,
    signal,
    killGraceMs: 500,
    onOutput: (chunk: Uint8Array) => {
      if (output.length < mostBytes) output += decoder.decode(chunk, { stream: true });
    },
  };
  try {
    const { exitCode } = await runProcess(request);
    return exitCode === 0 ? output : null;
  } catch {
    return null;
  }
}

/** Only of the program's own package: a project that it happens to lie in says nothing about it. */
function manifestAbove(path: string): { folder: string; version: string } | null {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = readManifest(folder);
    if (manifest === null) continue;
    const isPackage = /(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/.test(folder) || names(manifest.bin, basename(path));
    return isPackage && typeof manifest.version === "string" ? { folder, version: withoutPlatform(manifest.version) } : null;
  }
  return null;
}

type Manifest = { version?: unknown; bin?: unknown };

function readManifest(folder: string): Manifest | null {
  const file = join(folder, "package.json");
  if (!existsSync(file)) return null;
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Manifest;
  } catch {
    return null;
  }
}

function names(bin: unknown, file: string): boolean {
  const paths = typeof bin === "string" ? [bin] : typeof bin === "object" && bin !== null ? Object.values(bin) : [];
  return paths.some((path) => typeof path === "string" && basename(path) === file);
}

/** Packages of one platform name it in their version. */
function withoutPlatform(version: string): string {
  return version.replace(/-(linux|darwin|win32)-.*$/, "");
}

function isProgram(path: string): boolean {
  try {
    // In most places of PATH there is nothing, and an exception for each would cost.
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return false;
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
