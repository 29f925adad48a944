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
  const key = `${machineKey(version)} ${listFormat} ${best ?? ""} ${ctx.selfCommand.join(" ")}`;
  const cached = anew ? null : readCachedSupport(ctx, key);
  if (cached !== null) return cached;
  const [{ probeSandbox }, { installNativeLauncher }] = await Promise.all([
    import("../../sandbox/probe.ts"),
    import("../../sandbox/launch/native/native-launcher.ts"),
  ]);
  const support = await probeSandbox({
    selfCommand: ctx.selfCommand,
    programs: programSearch(ctx),
    nativeLauncher: installNativeLauncher(ctx.paths.state),
    createDirectory: () => createScratchDirectory(ctx.paths.data),
    best,
  }).catch((error: unknown) => explainFullDisk(error as NodeJS.ErrnoException, ctx.paths.data));
  if (!ctx.ephemeral) cacheSupport(ctx, key, support);
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

function readCachedSupport(ctx: AppContext, key: string): SandboxSupport | null {
  try {
    const cached = JSON.parse(readFileSync(supportFile(ctx), "utf8")) as { key: string; machine: SandboxSupport };
    const { untrusted } = programSearch(ctx);
    // A cached program may by now be in a place that tools can write.
    const programs = Object.values(cached.machine.tools ?? {});
    const isTrusted = programs.every((program) => program.startsWith("/") && reasonToRefuse(program, untrusted) === null);
    const { nativeLauncher } = cached.machine;
    const hasLauncher = nativeLauncher === null || (dirname(nativeLauncher) === ctx.paths.state && existsSync(nativeLauncher));
    return cached.key === key && isTrusted && hasLauncher ? cached.machine : null;
  } catch {
    return null;
  }
}

function cacheSupport(ctx: AppContext, key: string, support: SandboxSupport): void {
  try {
    mkdirSync(ctx.paths.state, { recursive: true, mode: 0o700 });
    writeFileSync(supportFile(ctx), `${JSON.stringify({ key, machine: support })}\n`, { mode: 0o600 });
  } catch {
    // The next start probes again.
  }
}
