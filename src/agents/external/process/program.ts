// Describes the program of an agent: its package and its version. `askVersion` starts the program outside of the sandbox;
// the rest only reads files.
import { realpathSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { readRegularFile } from "../../../kit/files/safe-file.ts";
import { trustedEnvironment, type ProgramMatch, type ProgramSearch } from "../../../kit/process/trusted-programs.ts";
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

export type AgentProgram = {
  path: string;
  /** False if tools can replace the program: it may run in the sandbox only, and no file beside it is read. */
  isTrusted: boolean;
};

/** Null if the program may not run at all. The user names an absolute path in the configuration, so it may run in any place. */
export function agentProgram(name: string, { path, refused }: ProgramMatch): AgentProgram | null {
  if (path !== null) return { path, isTrusted: true };
  return refused !== null && isAbsolute(name) ? { path: refused.path, isTrusted: false } : null;
}

/** Why the only program that was found is not used; null if none was found. */
export function refusalText({ refused }: ProgramMatch): string | null {
  return refused === null ? null : `${refused.path} is found but not used: ${refused.reason}`;
}

export function readProgram({ path, isTrusted }: AgentProgram): Program {
  return { path, mtimeMs: statSync(path).mtimeMs, version: isTrusted ? packageVersion(path) : null };
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

type VersionOptions = { env: Record<string, string | undefined>; search: ProgramSearch; signal: AbortSignal };

/** Returns the output of `--version`; null if that fails or takes longer than 20 s. The program must be trusted. */
export async function askVersion(path: string, { env, search, signal }: VersionOptions): Promise<string | null> {
  const [{ runProcess }, { toolEnvironment }] = await Promise.all([
    import("../../../kit/process/run-process.ts"),
    import("../../../executor/environment.ts"),
  ]);
  let output = "";
  const decoder = new TextDecoder();
  const request = {
    command: [path, "--version"],
    cwd: "/",
    env: trustedEnvironment(toolEnvironment(env), search),
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
    return parseJson(String(readRegularFile(path, { maxBytes: 16 << 20 })));
  } catch {
    return null;
  }
}

function namesProgram(bin: unknown, file: string): boolean {
  const paths = isRecord(bin) ? Object.values(bin) : [bin];
  return paths.some((path) => typeof path === "string" && basename(path) === file);
}
