// Who can take a turn here: the native agent, every command line that has an adapter, installed or not, and those of the
// configuration. No program is started unless nothing else says its version.
import type { Adapter } from "../../agents/external/adapters/adapter.ts";
import { vendorsOf } from "../../agents/external/adapters/multi-vendor.ts";
import { type Credential, describeCredential } from "../../agents/external/credentials/credentials.ts";
import { adapters } from "../../agents/external/adapters/index.ts";
import { askVersion, findProgram, type Program, readProgram } from "../../agents/external/process/program.ts";
import type { AppContext } from "../create-app.ts";
import { chooseModel } from "../../models/choose-model.ts";
import { findVendor } from "../../models/vendors.ts";
import type { AgentCredential, AgentInfo } from "../../protocol/api/agents.ts";
import type { VendorAuth } from "../../protocol/api/api.ts";
import { messageOf } from "../../protocol/api/error.ts";
import { version } from "../../version.ts";
import { loadAdapter, configuredEntries } from "./external-agents.ts";
import { type TrialFindings, cachedFindings, cacheVersion, cachedVersion } from "./agent-cache.ts";
import { authStatus } from "../api-methods.ts";

export async function listAgents(ctx: AppContext): Promise<AgentInfo[]> {
  const auth = await authStatus(ctx);
  return Promise.all([
    nativeRow(ctx, auth),
    ...Object.values(adapters).map((adapter) => cliRow(ctx, adapter)),
    ...configuredEntries(ctx).map(async ({ name }) => configuredRow(ctx, await loadAdapter(name, ctx), auth)),
  ]);
}

/** Of its vendors only those with a credential, or the server on this machine that answers; `auth status` lists them all. */
async function nativeRow(ctx: AppContext, auth: VendorAuth[]): Promise<AgentInfo> {
  const choosing = { env: ctx.env, providers: ctx.providers, configured: ctx.config.values.model };
  const chosen = await chooseModel(null, choosing).catch((error: unknown) => ({ model: null, message: messageOf(error) }));
  const asked = chosen.model === null ? null : chosen.model.slice(0, chosen.model.indexOf("/"));
  return {
    name: "native",
    kind: "native",
    installed: true,
    path: null,
    version,
    vendors: auth.map((row) => row.vendor),
    credentials: keysIn(auth, asked),
    can: { resume: true, fork: true, efforts: ["low", "medium", "high", "xhigh"], role: "own" },
    tried: null,
    missing: chosen.model === null ? chosen.message : null,
    hint: chosen.model === null ? "skein auth status" : null,
  };
}

async function cliRow(ctx: AppContext, adapter: Adapter): Promise<AgentInfo> {
  const program = programOf(ctx, adapter);
  const found = program === null ? null : cachedFindings(ctx.paths.state, program);
  const credentials = vendorsOf(adapter).map((vendor) => ({ vendor, ...credentialFor(ctx, adapter, vendor) }));
  return {
    ...rowOf(adapter, program, found),
    kind: "cli",
    version: program === null ? null : await findVersion(ctx, adapter, program),
    vendors: credentials.map(({ vendor }) => vendor),
    credentials: credentials.map(({ vendor, kind, source, note }) => ({
      vendor,
      kind,
      source: source || null,
      note: kind === "none" ? null : note || null,
    })),
    ...wanting(adapter, program !== null, found, credentials),
  };
}

/** It has the vendors' keys through the gateway, and may need none; it is never started to ask for its version. */
function configuredRow(ctx: AppContext, adapter: Adapter, auth: VendorAuth[]): AgentInfo {
  const program = programOf(ctx, adapter);
  const credentials = keysIn(auth, null);
  return {
    ...rowOf(adapter, program, null),
    kind: "configured",
    version: program === null ? null : cachedVersion(ctx.paths.state, program),
    vendors: credentials.map(({ vendor }) => vendor),
    credentials,
    ...(program === null ? { missing: `there is no ${adapter.program}`, hint: adapter.install } : { missing: null, hint: null }),
  };
}

function rowOf(
  adapter: Adapter,
  program: Program | null,
  found: TrialFindings | null,
): Pick<AgentInfo, "name" | "installed" | "path" | "can" | "tried"> {
  return {
    name: adapter.name,
    installed: program !== null,
    path: program?.path ?? null,
    can: {
      resume: found?.resume ?? adapter.resumes !== false,
      fork: found?.fork ?? adapter.canFork,
      efforts: [...adapter.efforts],
      role: adapter.takesRole ? "own" : "prompt",
    },
    tried: found === null ? null : { at: found.at, works: found.works, reason: found.reason },
  };
}

/** The first thing that stands in the way. */
function wanting(
  adapter: Adapter,
  isInstalled: boolean,
  found: TrialFindings | null,
  credentials: Credential[],
): Pick<AgentInfo, "missing" | "hint"> {
  if (!isInstalled) return { missing: "not installed", hint: adapter.install };
  if (found?.works === false) return { missing: `broken: ${found.reason ?? "it failed its trial"}`, hint: "skein doctor --agents" };
  if (credentials.every(({ kind }) => kind === "none")) return { missing: "no key and no sign-in", hint: credentials[0]?.note ?? null };
  return { missing: null, hint: null };
}

function programOf(ctx: AppContext, { program }: Adapter): Program | null {
  const path = findProgram(program, ctx.env["PATH"] ?? "");
  return path === null ? null : readProgram(path);
}

/** For one that asks any vendor a model says which is meant. */
function credentialFor(ctx: AppContext, adapter: Adapter, vendor: string): Credential {
  const model = `${vendor}/${findVendor(vendor)?.defaultModel ?? ""}`;
  return describeCredential(adapter, ctx.env, ctx.paths.home, { model, config: (name) => ctx.providers[name] });
}

/** `local` is the server on this machine that is asked without a key. */
function keysIn(auth: VendorAuth[], local: string | null): AgentCredential[] {
  return auth.flatMap(({ vendor, source }) => (source === null && vendor !== local ? [] : [{ vendor, kind: "key", source, note: null }]));
}

/** From a file beside it, from the last time it was asked, or by asking it. */
export async function findVersion(ctx: AppContext, adapter: Adapter, program: Program): Promise<string | null> {
  const known = cachedVersion(ctx.paths.state, program);
  if (known !== null) return known;
  const said = await askVersion(program.path, ctx.env, new AbortController().signal);
  const asked = said === null ? null : adapter.versionOf(said);
  if (asked !== null && !ctx.ephemeral) cacheVersion(ctx.paths.state, program, asked);
  return asked;
}
