// The checks of `skein doctor` for this machine.
import type { AppContext } from "./app-context.ts";
import { externalAgents } from "../agents/external/adapters/index.ts";
import type { AgentConfig } from "../protocol/api/agents.ts";
import { recipeEntry } from "../agents/external/configured/recipe.ts";
import { join } from "node:path";
import { directorySize } from "../kit/files/directory-size.ts";
import { pluralize } from "../kit/text/cut-text.ts";
import { checkConfig } from "../config/doctor.ts";
import { chooseModel } from "../models/choose-model.ts";
import { findVendor, withLocalServer } from "../models/vendors.ts";
import type { DoctorCheck, DoctorReport, VendorAuth } from "../protocol/api/api.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import { toolsByLevel, defaultPolicy } from "../protocol/api/policy.ts";
import { enforcedPolicy } from "../sandbox/enforced-policy.ts";
import type { Store } from "../store/store.ts";
import { createExecutors } from "./executors/executors.ts";
import { loadSandboxSupport } from "./executors/sandbox-support.ts";
import { automaticAgent, chooseDefaultAgent, modelOptions } from "./agents/default-agent.ts";
import { findInstalled } from "./agents/external-agents.ts";
import { listAgents } from "./agents/list-agents.ts";
import { retentionMs } from "./retention-port.ts";
import { authStatus } from "./api-methods.ts";

export async function checkMachine(ctx: AppContext, store: () => Promise<Store>): Promise<DoctorReport> {
  const checks: DoctorCheck[] = [
    { name: "runtime", ok: true, optional: false, detail: `Bun ${Bun.version} on ${process.platform} ${process.arch}` },
    ...checkConfig(ctx),
    await runCheck("store", async () => {
      const sessions = await (await store()).listSessions({ project: null, limit: 1 });
      return `${ctx.paths.data}/skein.db opens, ${sessions.length === 0 ? "empty" : "in use"}`;
    }),
    { name: "storage", ok: true, optional: true, detail: storageText(ctx) },
    await runCheck("tools", () => checkExecutor(ctx)),
    await checkSandbox(ctx),
    await checkAnswerer(ctx),
    ...(await Promise.all((await authStatus(ctx)).map(checkVendor))),
    ...(await checkRefusedAgents(ctx)),
    ...(await Promise.all(Object.entries(ctx.config.values.agents).map(([name, recipe]) => checkConfiguredAgent(ctx, name, recipe)))),
  ];
  return { checks, ok: checks.every((check) => check.ok || check.optional) };
}

const dayMs = 86_400_000;

/** The sizes of the data directory's parts, and when archived data expires. */
function storageText({ paths, config }: AppContext): string {
  const parts = {
    store: ["skein.db", "skein.db-wal"],
    outputs: ["outputs"],
    snapshots: ["files"],
    agents: ["agents"],
    transcripts: ["sessions"],
  };
  const sizes = Object.entries(parts).map(([label, names]) => {
    const found = names.map((name) => directorySize(join(paths.data, name)));
    const megabytes = found.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6;
    return `${label} ${megabytes.toFixed(1)}${found.some(({ isPartial }) => isPartial) ? "+" : ""} MB`;
  });
  return `${sizes.join(", ")}; archived sessions expire after ${pluralize(Math.ceil(retentionMs(config.values) / dayMs), "day")}`;
}

/** Finds the agent or model that `skein run "task"` uses: the configured one, else the default. */
async function checkAnswerer(ctx: AppContext): Promise<DoctorCheck> {
  const check = await runCheck("model", async () => {
    const { agent: configured } = ctx.config.values;
    const { agent, signIn } = configured === automaticAgent ? await chooseDefaultAgent(ctx, null) : { agent: configured, signIn: null };
    if (signIn !== null) return `${agent} answers, with its own sign-in (${signIn}); there is no key for the native agent`;
    if (agent !== "native") return await checkAgent(ctx, agent);
    const chosen = await chooseModel(null, modelOptions(ctx));
    return `${chosen.model}${chosen.because === null ? "" : ` (${chosen.because})`}`;
  });
  // The keys themselves follow in the list.
  return check.ok || !check.hint?.includes("\n") ? check : { ...check, hint: howToGetReady };
}

const howToGetReady = `set one of the keys in this list, sign in to an agent (\`skein agents\` lists them), or start Ollama (\`ollama serve\`)`;

/** The state of the configured agent. Throws a fault with the missing part. */
async function checkAgent(ctx: AppContext, name: string): Promise<string> {
  const info = (await listAgents(ctx)).find((candidate) => candidate.name === name);
  // A model may be configured as the agent. The turn itself then checks it.
  if (info === undefined) return `${name} answers, because it is configured as the agent`;
  if (info.missing !== null)
    throw new Fault("auth", `${name} is configured as the agent: ${info.missing}`, { hint: info.hint ?? undefined });
  const source = info.credentials.find(({ kind }) => kind !== "none")?.source;
  return `${name} answers, because it is configured as the agent${source == null ? "" : ` (${source})`}`;
}

/** A server on this machine is ready only if it answers. */
async function checkVendor(auth: VendorAuth): Promise<DoctorCheck> {
  const { vendor, ready, source, baseUrl } = await withLocalServer(auth);
  const check = { name: `key: ${vendor}`, optional: true, ok: ready, hint: auth.hint };
  if (findVendor(vendor)?.isLocal !== true) return { ...check, detail: source ?? (ready ? "none needed" : "not set") };
  return { ...check, detail: ready ? `answers at ${baseUrl}` : `no server answers at ${baseUrl}` };
}

/** An invalid entry stops every run. A missing program stops only the runs of its agent, so that check is optional. */
async function checkConfiguredAgent(ctx: AppContext, name: string, recipe: AgentConfig): Promise<DoctorCheck> {
  const check = await runCheck(`agent: ${name}`, async () => {
    recipeEntry(name, recipe);
    return findInstalled(ctx, recipe.command ?? "").program?.path ?? "";
  });
  if (!check.ok || check.detail !== "") return check;
  const detail = findInstalled(ctx, recipe.command ?? "").refused?.text ?? `there is no ${recipe.command}`;
  return { ...check, ok: false, optional: true, detail, hint: recipe.hint ?? undefined };
}

/** Built-in agents are in `skein agents`. Only those appear here whose program is found but not used. */
async function checkRefusedAgents(ctx: AppContext): Promise<DoctorCheck[]> {
  const adapters = await Promise.all(externalAgents.map((entry) => entry.load()));
  return adapters.flatMap(({ name, program, install }) => {
    const { refused } = findInstalled(ctx, program);
    return refused === null ? [] : [{ name: `agent: ${name}`, ok: false, optional: true, detail: refused.text, hint: install }];
  });
}

/** Ignores the cached result: the user may just have changed the machine's support. */
async function checkSandbox(ctx: AppContext): Promise<DoctorCheck> {
  const support = await loadSandboxSupport(ctx, { anew: true });
  const { missing } = enforcedPolicy(support, defaultPolicy);
  const { tier, why, hint, nativeLauncher } = support;
  const launcher = tier === "seatbelt" ? "" : nativeLauncher === null ? "launcher in JavaScript, " : "native launcher, ";
  const check = { name: "sandbox", ok: tier !== "none", optional: true, hint: hint ?? undefined };
  const joinTexts = (...texts: (string | null)[]) => texts.filter((text) => text !== null).join("; ");
  if (tier === "none")
    return { ...check, detail: `nothing is enforced: ${joinTexts(why, "policies readonly and plan refuse, workspace warns")}` };
  const enforced = `${missing.length === 0 ? "fully" : "mostly"} enforced (${tier}), ${launcher}tested just now`;
  if (missing.length === 0) return { ...check, detail: enforced };
  return { ...check, detail: joinTexts(enforced, `not enforced: ${missing.join(", ")}`, why, hint && `for more: ${hint}`) };
}

async function checkExecutor(ctx: AppContext): Promise<string> {
  const executors = createExecutors({ ...ctx, ephemeral: true });
  await executors.enforced(defaultPolicy);
  const executor = executors.get({ root: "doctor", directory: ctx.cwd, project: ctx.project, policy: defaultPolicy, nesting: false });
  try {
    const options = { session: "doctor", turn: "doctor", cwd: ctx.cwd, env: {}, signal: AbortSignal.timeout(5000), onOutput: () => {} };
    const outcome = await executor.callTool("bash", { command: "echo fine" }, options);
    if (outcome.isError) throw new Fault("executor-gone", outcome.text);
    return `${toolsByLevel.minimal.join(", ")} answer`;
  } finally {
    await executors.close();
  }
}

async function runCheck(name: string, check: () => Promise<string>): Promise<DoctorCheck> {
  try {
    return { name, ok: true, optional: false, detail: await check() };
  } catch (error) {
    return { name, ok: false, optional: false, detail: messageOf(error), hint: error instanceof Fault ? error.hint : undefined };
  }
}
