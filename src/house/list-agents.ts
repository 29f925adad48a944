// Who can take a turn here: the native agent and every command line that has an adapter, installed or not. No program
// is started unless nothing else says its version.
import type { Adapter } from "../agents/external/adapter.ts";
import { adapters } from "../agents/external/index.ts";
import { vendorsOf } from "../agents/external/any-vendor.ts";
import { askVersion, findProgram, type Program, programAt } from "../agents/external/program.ts";
import type { Ground } from "../house.ts";
import { chooseModel } from "../models/choose.ts";
import { authRow } from "../models/providers.ts";
import type { AgentRow } from "../protocol/agents.ts";
import type { AuthRow } from "../protocol/api.ts";
import { messageOf } from "../protocol/error.ts";
import { version } from "../version.ts";
import { foundOf, keepVersion, knownVersion } from "./known-agents.ts";
import { authStatus } from "./rows.ts";

export async function listAgents(ground: Ground): Promise<AgentRow[]> {
  return Promise.all([nativeRow(ground), ...Object.values(adapters).map((adapter) => cliRow(ground, adapter))]);
}

/** Of its vendors only those with a credential, or the server on this machine that answers; `auth status` lists them all. */
async function nativeRow(ground: Ground): Promise<AgentRow> {
  const auth = await authStatus(ground);
  const choosing = { env: ground.env, providers: ground.providers, configured: ground.config.values.model };
  const chosen = await chooseModel(null, choosing).catch((error: unknown) => ({ model: null, message: messageOf(error) }));
  const asked = chosen.model === null ? null : chosen.model.slice(0, chosen.model.indexOf("/"));
  return {
    name: "native",
    kind: "native",
    installed: true,
    path: null,
    version,
    vendors: auth.map((row) => row.vendor),
    credentials: auth
      .filter((row) => row.source !== null || row.vendor === asked)
      .map(({ vendor, ready, source }) => ({ vendor, ready, source })),
    can: { resume: true, fork: true, efforts: ["low", "medium", "high", "xhigh"], role: "own" },
    tried: null,
    missing: chosen.model === null ? chosen.message : null,
    hint: chosen.model === null ? "skein auth status" : null,
  };
}

async function cliRow(ground: Ground, adapter: Adapter): Promise<AgentRow> {
  const path = findProgram(adapter.program, ground.env["PATH"] ?? "");
  const program = path === null ? null : programAt(path);
  const found = program === null ? null : foundOf(ground.paths.state, program);
  const auth = vendorsOf(adapter).map((vendor) => authRow(vendor, { env: ground.env, config: ground.providers[vendor] }));
  return {
    name: adapter.name,
    kind: "cli",
    installed: program !== null,
    path,
    version: program === null ? null : await versionOf(ground, adapter, program),
    vendors: auth.map((row) => row.vendor),
    credentials: auth.map(({ vendor, ready, source }) => ({ vendor, ready, source })),
    can: {
      resume: found?.resume ?? true,
      fork: found?.fork ?? adapter.canFork,
      efforts: [...adapter.efforts],
      role: adapter.takesRole ? "own" : "prompt",
    },
    tried: found === null ? null : { at: found.at, works: found.works, reason: found.reason },
    ...wanting(adapter, program !== null, found, auth),
  };
}

/** The first thing that stands in the way. */
function wanting(
  adapter: Adapter,
  isInstalled: boolean,
  found: { works: boolean; reason: string | null } | null,
  auth: AuthRow[],
): Pick<AgentRow, "missing" | "hint"> {
  if (!isInstalled) return { missing: "not installed", hint: adapter.install };
  if (found?.works === false) return { missing: `broken: ${found.reason ?? "it failed its trial"}`, hint: "skein doctor --agents" };
  if (!auth.some((row) => row.ready)) return { missing: "no key", hint: auth[0]?.hint ?? "skein auth status" };
  return { missing: null, hint: null };
}

/** From a file beside it, from the last time it was asked, or by asking it. */
export async function versionOf(ground: Ground, adapter: Adapter, program: Program): Promise<string | null> {
  const known = knownVersion(ground.paths.state, program);
  if (known !== null) return known;
  const said = await askVersion(program.path, ground.env, new AbortController().signal);
  const asked = said === null ? null : adapter.versionOf(said);
  if (asked !== null && !ground.ephemeral) keepVersion(ground.paths.state, program, asked);
  return asked;
}
