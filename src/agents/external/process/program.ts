// Finds an installed program, its package and its version. `askVersion` starts the program; the rest only reads files.
import { readFileSync, realpathSync, statSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { isRecord, type Json } from "../../../kit/text/json.ts";
import { parseJson, textAt } from "../../../models/wire/json.ts";

export type Program = {
  /** The path in PATH. */
  path: string;
  /** Modification time of the linked file. Another time means another program. */
  mtimeMs: number;
  /** From its package.json; null without one. */
  version: string | null;
};

/** Looks only in absolute directories of PATH: the current directory may be a hostile project. */
export function findProgram(program: string, path: string): string | null {
  const directories = path.split(delimiter).filter((directory) => directory.startsWith("/"));
  return Bun.which(program, { PATH: directories.join(delimiter) });
}

export function readProgram(path: string): Program {
  return { path, mtimeMs: statSync(path).mtimeMs, version: packageVersion(path) };
}

/** The directory of the program's package, else the directory of the program. */
export function packageOf(program: string): string {
  const real = realpathSync(program);
  return findManifest(real)?.directory ?? dirname(real);
}

export function packageVersion(program: string): string | null {
  return findManifest(realpathSync(program))?.version ?? null;
}

const versionTimeoutMs = 20_000;
const maxOutputBytes = 64 << 10;

/** Returns the output of `--version`; null if that fails or takes longer than 20 s. */
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
    timeoutMs: versionTimeoutMs,
    signal,
    killGraceMs: 500,
    onOutput: (chunk: Uint8Array) => {
      if (output.length < maxOutputBytes) output += decoder.decode(chunk, { stream: true });
    },
  };
  try {
    const { exitCode } = await runProcess(request);
    return exitCode === 0 ? output : null;
  } catch {
    return null;
  }
}

/** Finds the package.json of the program's own package. A project that contains the program does not count. */
function findManifest(path: string): { directory: string; version: string } | null {
  for (let directory = dirname(path); directory !== dirname(directory); directory = dirname(directory)) {
    const manifest = readJsonFile(join(directory, "package.json"));
    if (manifest === null) continue;
    const isPackage = /(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/.test(directory) || namesProgram(manifest["bin"], basename(path));
    // The version of a package for one platform ends with the platform.
    const version = textAt(manifest, "version").replace(/-(linux|darwin|win32)-.*$/, "");
    return isPackage && version !== "" ? { directory, version } : null;
  }
  return null;
}

/** Null if the file is missing or is no JSON object. */
export function readJsonFile(path: string): Json | null {
  try {
    return parseJson(readFileSync(path, "utf8"));
  } catch {
    return null;
  }
}

function namesProgram(bin: unknown, file: string): boolean {
  const paths = isRecord(bin) ? Object.values(bin) : [bin];
  return paths.some((path) => typeof path === "string" && basename(path) === file);
}
