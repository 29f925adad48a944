// Lists the agents: the native agent, every CLI with an adapter, installed or not, the configured agents, and the presets that are installed.
// Starts a program only if no file and no cache has its version.
import type { Adapter } from "../../agents/external/adapters/adapter.ts";
import { vendorsOf } from "../../agents/external/adapters/multi-vendor.ts";
import { type Credential, describeCredential } from "../../agents/external/credentials/find-credential.ts";
import { type AgentEntry, externalAgents } from "../../agents/external/adapters/index.ts";
import { askVersion, type Program } from "../../agents/external/process/program.ts";
import { programSearch, type AppContext } from "../app-context.ts";
import { chooseModel } from "../../models/choose-model.ts";
import type { AgentCredential, AgentInfo } from "../../protocol/api/agents.ts";
import type { VendorAuth } from "../../protocol/api/api.ts";
import { messageOf } from "../../protocol/api/error.ts";
import { version } from "../../version.ts";
import { credentialSources, defaultModelOf } from "./agent-credentials.ts";
import { modelOptions } from "./default-agent.ts";
import { configuredEntries, findInstalled, findPreset, type InstalledProgram, loadAdapter } from "./external-agents.ts";
import { type TrialFindings, cachedFindings, cacheVersion, cachedVersion } from "./agent-cache.ts";
import { authStatus } from "../api-methods.ts";

export async function listAgents(ctx: AppContext): Promise<AgentInfo[]> {
  const auth = await authStatus(ctx);
  return Promise.all([
    nativeInfo(ctx, auth),
    ...externalAgents.map(async (entry) => cliInfo(ctx, entry, await entry.load())),
    ...(await Promise.all(configuredEntries(ctx).map(async (entry) => ({ entry, adapter: await loadAdapter(entry.name, ctx), auth }))))
      .filter(({ entry, adapter }) => findPreset(ctx, entry.name) === null || isFound(findInstalled(ctx, adapter.program)))
      .map((agent) => configuredInfo(ctx, agent)),
  ]);
}

/** Lists only vendors with a key, and a local server that answers. `auth status` lists all vendors. */
async function nativeInfo(ctx: AppContext, auth: VendorAuth[]): Promise<AgentInfo> {
  const chosen = await chooseModel(null, modelOptions(ctx)).catch((error: unknown) => ({ model: null, message: messageOf(error) }));
  const chosenVendor = chosen.model === null ? null : chosen.model.slice(0, chosen.model.indexOf("/"));
  return {
    name: "native",
    kind: "native",
    installed: true,
    path: null,
    version,
    vendors: auth.map(({ vendor }) => vendor),
    credentials: keysIn(auth, chosenVendor),
    can: { resume: true, fork: true, efforts: ["low", "medium", "high", "xhigh"], role: "own" },
    tried: null,
    testedVersion: null,
    signIn: null,
    missing: chosen.model === null ? chosen.message : null,
    hint: chosen.model === null ? "skein auth status" : null,
  };
}

async function cliInfo(ctx: AppContext, entry: AgentEntry, adapter: Adapter): Promise<AgentInfo> {
  const installed = findInstalled(ctx, adapter.program);
  const { program } = installed;
  const findings = program === null ? null : cachedFindings(ctx.paths.state, program);
  const sources = credentialSources(ctx);
  const credentials = vendorsOf(adapter).map((vendor) => ({ vendor, ...describeCredential(adapter, sources, defaultModelOf(vendor)) }));
  return {
    ...commonInfo(entry, adapter, installed, findings),
    kind: "cli",
    testedVersion: null,
    version: program === null ? null : await findVersion(ctx, adapter, program),
    vendors: credentials.map(({ vendor }) => vendor),
    credentials: credentials.map(({ vendor, kind, source, note }) => ({
      vendor,
      kind,
      source: source || null,
      note: kind === "none" ? null : note || null,
    })),
    ...missingPart(adapter, installed, findings, credentials),
  };
}

function isFound({ program, refused }: InstalledProgram): boolean {
  return program !== null || refused !== null;
}

type ConfiguredAgent = { entry: AgentEntry; adapter: Adapter; auth: VendorAuth[] };

/** A configured agent uses the vendors' keys through the gateway. Its program is never started to find its version. */
function configuredInfo(ctx: AppContext, { entry, adapter, auth }: ConfiguredAgent): AgentInfo {
  const installed = findInstalled(ctx, adapter.program);
  const { program, refused } = installed;
  const credentials = keysIn(auth, null);
  const preset = findPreset(ctx, entry.name);
  const missing = refused?.text ?? `there is no ${adapter.program}`;
  return {
    ...commonInfo(entry, adapter, installed, null),
    kind: preset === null ? "configured" : "preset",
    testedVersion: preset?.testedVersion ?? null,
    version: program === null ? null : cachedVersion(ctx.paths.state, program),
    vendors: credentials.map(({ vendor }) => vendor),
    credentials,
    ...(program === null ? { missing, hint: adapter.install } : { missing: null, hint: null }),
  };
}

function commonInfo(
  { canFork, resumes = true }: AgentEntry,
  adapter: Adapter,
  { program, refused }: InstalledProgram,
  findings: TrialFindings | null,
): Pick<AgentInfo, "name" | "installed" | "path" | "can" | "tried" | "signIn"> {
  return {
    name: adapter.name,
    installed: program !== null,
    path: program?.path ?? refused?.path ?? null,
    can: {
      resume: findings?.resume ?? resumes,
      fork: findings?.fork ?? canFork,
      efforts: [...adapter.efforts],
      role: adapter.takesRole ? "own" : "prompt",
    },
    signIn: adapter.signIn?.command ?? null,
    tried: findings === null ? null : { at: findings.at, works: findings.works, reason: findings.reason },
  };
}

/** The first thing that prevents a turn. */
function missingPart(
  adapter: Adapter,
  { program, refused }: InstalledProgram,
  findings: TrialFindings | null,
  credentials: Credential[],
): Pick<AgentInfo, "missing" | "hint"> {
  if (program === null) return { missing: refused?.text ?? "not installed", hint: adapter.install };
  if (findings?.works === false) return { missing: `broken: ${findings.reason ?? "it failed its trial"}`, hint: "skein doctor --agents" };
  if (credentials.every(({ kind }) => kind === "none")) return { missing: "no key and no sign-in", hint: credentials[0]?.note ?? null };
  return { missing: null, hint: null };
}

/** `localVendor` is a server on this machine, which needs no key. */
function keysIn(auth: VendorAuth[], localVendor: string | null): AgentCredential[] {
  return auth.flatMap(({ vendor, source }) =>
    source === null && vendor !== localVendor ? [] : [{ vendor, kind: "key", source, note: null }],
  );
}

/** Looks in a file beside the program, then in the cache, and then runs `--version`. The program must be trusted. */
export async function findVersion(ctx: AppContext, adapter: Adapter, program: Program): Promise<string | null> {
  const cached = cachedVersion(ctx.paths.state, program);
  if (cached !== null) return cached;
  const output = await askVersion(program.path, { env: ctx.env, search: programSearch(ctx), signal: new AbortController().signal });
  const version = adapter.version.exec(output ?? "")?.[1] ?? null;
  if (version !== null && !ctx.ephemeral) cacheVersion(ctx.paths.state, program, version);
  return version;
}
