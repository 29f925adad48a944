// What `skein doctor` says about this machine, for what exists so far.
import type { AppContext } from "./app-context.ts";
import { findProgram } from "../agents/external/process/program.ts";
import type { AgentConfig } from "../protocol/api/agents.ts";
import { recipeEntry } from "../agents/external/configured/recipe.ts";
import { checkConfig } from "../config/doctor.ts";
import { chooseModel } from "../models/choose-model.ts";
import type { DoctorCheck, DoctorReport } from "../protocol/api/api.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import { toolsByLevel, defaultPolicy } from "../protocol/api/policy.ts";
import { enforcedPolicy } from "../sandbox/sandbox-command.ts";
import type { Store } from "../store/store.ts";
import { createExecutors, loadSandboxSupport } from "./executors/executors.ts";
import { authStatus } from "./api-methods.ts";

export async function checkMachine(ctx: AppContext, store: () => Promise<Store>): Promise<DoctorReport> {
  const checks: DoctorCheck[] = [
    { name: "runtime", ok: true, optional: false, detail: `Bun ${Bun.version} on ${process.platform} ${process.arch}` },
    ...checkConfig(ctx),
    await tried("store", false, async () => {
      const sessions = await (await store()).listSessions({ project: null, limit: 1 });
      return `${ctx.paths.data}/skein.db opens, ${sessions.length === 0 ? "empty" : "in use"}`;
    }),
    await tried("tools", false, () => checkExecutor(ctx)),
    await checkSandbox(ctx),
    await tried("model", false, async () => {
      const chosen = await chooseModel(null, { env: ctx.env, providers: ctx.providers, configured: ctx.config.values.model });
      return `${chosen.model}${chosen.because === null ? "" : ` (${chosen.because})`}`;
    }),
    ...(await authStatus(ctx)).map((row) => ({
      name: `key: ${row.vendor}`,
      ok: row.ready,
      optional: true,
      detail: row.source ?? (row.ready ? "none needed" : "not set"),
      hint: row.hint,
    })),
    ...(await Promise.all(Object.entries(ctx.config.values.agents).map(([name, recipe]) => checkOwnAgent(ctx, name, recipe)))),
  ];
  return { checks, ok: checks.every((check) => check.ok || check.optional) };
}

/** One that makes no sense stops every run, one that is not installed only its own. */
async function checkOwnAgent({ env }: AppContext, name: string, recipe: AgentConfig): Promise<DoctorCheck> {
  const row = await tried(`agent: ${name}`, false, async () => {
    recipeEntry(name, recipe);
    return findProgram(recipe.command ?? "", env["PATH"] ?? "") ?? "";
  });
  if (!row.ok || row.detail !== "") return row;
  return {
    ...row,
    ok: false,
    optional: true,
    detail: `there is no ${recipe.command}`,
    ...(recipe.hint === null ? {} : { hint: recipe.hint }),
  };
}

const tierWords = {
  namespaces: "all of it is held (namespaces)",
  landlock: "most of it is held (landlock)",
  seatbelt: "most of it is held (seatbelt)",
};

/** Tried out anew: whoever asks may just have changed the machine. */
async function checkSandbox(ctx: AppContext): Promise<DoctorCheck> {
  const machine = await loadSandboxSupport(ctx, { anew: true });
  const { missing } = enforcedPolicy(machine, defaultPolicy);
  const why = machine.why === null ? [] : [machine.why];
  const hint = machine.hint === null ? {} : { hint: machine.hint };
  if (machine.tier === "none") {
    const detail = [...why, "policies readonly and plan refuse, workspace warns"].join("; ");
    return { name: "sandbox", ok: false, optional: true, detail: `nothing is held: ${detail}`, ...hint };
  }
  const more = machine.hint === null ? [] : [`for more: ${machine.hint}`];
  const less = missing.length === 0 ? [] : [`not held: ${missing.join(", ")}`, ...why, ...more];
  return {
    name: "sandbox",
    ok: true,
    optional: true,
    detail: [`${tierWords[machine.tier]}, tried out just now`, ...less].join("; "),
    ...hint,
  };
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

async function tried(name: string, optional: boolean, check: () => Promise<string>): Promise<DoctorCheck> {
  try {
    return { name, ok: true, optional, detail: await check() };
  } catch (error) {
    const hint = error instanceof Fault ? error.hint : undefined;
    return { name, ok: false, optional, detail: messageOf(error), ...(hint === undefined ? {} : { hint }) };
  }
}
