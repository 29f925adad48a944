// The sandbox features of this machine: probed once per boot, then read from a file in the state directory.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { reasonToRefuse } from "../../kit/process/trusted-programs.ts";
import { Fault } from "../../protocol/api/error.ts";
import { listFormat } from "../../sandbox/launch-request.ts";
import { machineKey } from "../../sandbox/machine-key.ts";
import type { SandboxSupport } from "../../sandbox/sandbox-command.ts";
import { version } from "../../version.ts";
import { type AppContext, programSearch } from "../app-context.ts";
import { createScratchDirectory } from "./scratch-directory.ts";

/** The cached probe result of this boot, else a new probe. `anew` ignores the cache. */
export async function loadSandboxSupport(ctx: AppContext, { anew = false } = {}): Promise<SandboxSupport> {
  const best = ctx.env["SKEIN_SANDBOX_BEST"] as SandboxSupport["tier"] | undefined;
  const isNativeExcluded = ctx.env["SKEIN_SANDBOX_LAUNCHER"] === "javascript";
  const limits = `${best ?? ""}${isNativeExcluded ? " javascript" : ""}`;
  const key = `${machineKey(version)} ${listFormat} ${limits}`;
  const cached = anew ? null : readCachedSupport(ctx, key);
  if (cached !== null) return cached;
  const [{ probeSandbox }, { installNativeLauncher }] = await Promise.all([
    import("../../sandbox/probe.ts"),
    import("../../sandbox/launch/native/native-launcher.ts"),
  ]);
  const support = await probeSandbox({
    selfCommand: ctx.selfCommand,
    programs: programSearch(ctx),
    nativeLauncher: isNativeExcluded ? null : installNativeLauncher(ctx.paths.state),
    createDirectory: () => createScratchDirectory(ctx.paths.data),
    best,
  }).catch((error: unknown) => explainFullDisk(error as NodeJS.ErrnoException, ctx.paths.data));
  cacheSupport(ctx, key, support);
  return support;
}

function explainFullDisk(error: NodeJS.ErrnoException, directory: string): never {
  if (error.code !== "ENOSPC" && error.code !== "EDQUOT") throw error;
  throw new Fault("store-full", `the disk is full: ${directory} can't be written`, {
    hint: "free some space and run the command again",
    cause: error,
  });
}

/** The next start probes again. */
export function forgetSandboxSupport(ctx: AppContext): void {
  rmSync(supportFile(ctx), { force: true });
}

function supportFile({ paths }: AppContext): string {
  return join(paths.state, "sandbox.json");
}

/** The result of one executable: the launcher in JavaScript is the executable itself. */
type CachedSupport = { program: string; key: string; machine: SandboxSupport };

/** Executables that share a home, such as a release and a checkout. */
const maxCached = 4;

function readCachedSupport(ctx: AppContext, key: string): SandboxSupport | null {
  try {
    const cached = readCache(ctx).find(({ program }) => program === programOf(ctx));
    if (cached?.key !== key) return null;
    const { untrusted } = programSearch(ctx);
    // A cached program may by now be in a place that tools can write.
    const programs = Object.values(cached.machine.tools ?? {});
    const isTrusted = programs.every((program) => program.startsWith("/") && reasonToRefuse(program, untrusted) === null);
    const { nativeLauncher } = cached.machine;
    const hasLauncher = nativeLauncher === null || (dirname(nativeLauncher) === ctx.paths.state && existsSync(nativeLauncher));
    return isTrusted && hasLauncher ? cached.machine : null;
  } catch {
    return null;
  }
}

function programOf({ selfCommand }: AppContext): string {
  return selfCommand.join(" ");
}

function readCache(ctx: AppContext): CachedSupport[] {
  return JSON.parse(readFileSync(supportFile(ctx), "utf8")) as CachedSupport[];
}

/** Also for a run that stores nothing of itself: it is a fact of the machine. */
function cacheSupport(ctx: AppContext, key: string, machine: SandboxSupport): void {
  const program = programOf(ctx);
  try {
    mkdirSync(ctx.paths.state, { recursive: true, mode: 0o700 });
    const cache = [{ program, key, machine }, ...othersIn(ctx, program)].slice(0, maxCached);
    writeFileSync(supportFile(ctx), `${JSON.stringify(cache)}\n`, { mode: 0o600 });
  } catch {
    // The next start probes again.
  }
}

function othersIn(ctx: AppContext, program: string): CachedSupport[] {
  try {
    return readCache(ctx).filter((cached) => cached.program !== program);
  } catch {
    return [];
  }
}
