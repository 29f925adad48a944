// The checks of `skein doctor` for this support.
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
    await runCheck("store", false, async () => {
      const sessions = await (await store()).listSessions({ project: null, limit: 1 });
      return `${ctx.paths.data}/skein.db opens, ${sessions.length === 0 ? "empty" : "in use"}`;
    }),
    await runCheck("tools", false, () => checkExecutor(ctx)),
    await checkSandbox(ctx),
    await runCheck("model", false, async () => {
      const chosen = await chooseModel(null, { env: ctx.env, providers: ctx.providers, configured: ctx.config.values.model });
      return `${chosen.model}${chosen.because === null ? "" : ` (${chosen.because})`}`;
    }),
    ...(await authStatus(ctx)).map(({ vendor, ready, source, hint }) => ({
      name: `key: ${vendor}`,
      ok: ready,
      optional: true,
      detail: source ?? (ready ? "none needed" : "not set"),
      hint,
    })),
    ...(await Promise.all(Object.entries(ctx.config.values.agents).map(([name, recipe]) => checkConfiguredAgent(ctx, name, recipe)))),
  ];
  return { checks, ok: checks.every((check) => check.ok || check.optional) };
}

/** An invalid entry stops every run. A missing program stops only the runs of its agent, so that check is optional. */
async function checkConfiguredAgent({ env }: AppContext, name: string, recipe: AgentConfig): Promise<DoctorCheck> {
  const check = await runCheck(`agent: ${name}`, false, async () => {
    recipeEntry(name, recipe);
    return findProgram(recipe.command ?? "", env["PATH"] ?? "") ?? "";
  });
  if (!check.ok || check.detail !== "") return check;
  return {
    ...check,
    ok: false,
    optional: true,
    detail: `there is no ${recipe.command}`,
    ...(recipe.hint === null ? {} : { hint: recipe.hint }),
  };
}

const tierTexts = {
  namespaces: "fully enforced (namespaces)",
  landlock: "mostly enforced (landlock)",
  seatbelt: "mostly enforced (seatbelt)",
};

/** Ignores the cached result: the user may just have changed the support. */
async function checkSandbox(ctx: AppContext): Promise<DoctorCheck> {
  const support = await loadSandboxSupport(ctx, { anew: true });
  const { missing } = enforcedPolicy(support, defaultPolicy);
  const why = support.why === null ? [] : [support.why];
  const hint = support.hint === null ? {} : { hint: support.hint };
  if (support.tier === "none") {
    const detail = [...why, "policies readonly and plan refuse, workspace warns"].join("; ");
    return { name: "sandbox", ok: false, optional: true, detail: `nothing is enforced: ${detail}`, ...hint };
  }
  const more = support.hint === null ? [] : [`for more: ${support.hint}`];
  const less = missing.length === 0 ? [] : [`not enforced: ${missing.join(", ")}`, ...why, ...more];
  return {
    name: "sandbox",
    ok: true,
    optional: true,
    detail: [`${tierTexts[support.tier]}, tested just now`, ...less].join("; "),
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

async function runCheck(name: string, optional: boolean, check: () => Promise<string>): Promise<DoctorCheck> {
  try {
    return { name, ok: true, optional, detail: await check() };
  } catch (error) {
    const hint = error instanceof Fault ? error.hint : undefined;
    return { name, ok: false, optional, detail: messageOf(error), ...(hint === undefined ? {} : { hint }) };
  }
}
