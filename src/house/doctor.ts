// What `skein doctor` says about this machine, for what exists so far.
import type { Ground } from "../house.ts";
import { checkConfig } from "../config/doctor.ts";
import { chooseModel } from "../models/choose.ts";
import type { Check, DoctorReport } from "../protocol/api.ts";
import { Fault, messageOf } from "../protocol/error.ts";
import { levelTools } from "../protocol/policy.ts";
import { startExecutor } from "../executor/client.ts";
import type { Store } from "../store/store.ts";
import { authStatus } from "./rows.ts";

export async function checkMachine(ground: Ground, store: () => Promise<Store>): Promise<DoctorReport> {
  const checks: Check[] = [
    { name: "runtime", ok: true, optional: false, detail: `Bun ${Bun.version} on ${process.platform} ${process.arch}` },
    ...checkConfig(ground),
    await tried("store", false, async () => {
      const sessions = await (await store()).listSessions({ project: null, limit: 1 });
      return `${ground.paths.data}/skein.db opens, ${sessions.length === 0 ? "empty" : "in use"}`;
    }),
    await tried("tools", false, () => checkExecutor(ground)),
    {
      name: "sandbox",
      ok: false,
      optional: true,
      detail: "this version enforces no policy",
      hint: "run untrusted work in a container; --policy readonly and plan refuse until they can be enforced",
    },
    await tried("model", false, async () => {
      const chosen = await chooseModel(null, { env: ground.env, providers: ground.providers, configured: ground.config.values.model });
      return `${chosen.model}${chosen.because === null ? "" : ` (${chosen.because})`}`;
    }),
    ...(await authStatus(ground)).map((row) => ({
      name: `key: ${row.vendor}`,
      ok: row.ready,
      optional: true,
      detail: row.source ?? (row.ready ? "none needed" : "not set"),
      hint: row.hint,
    })),
  ];
  return { checks, ok: checks.every((check) => check.ok || check.optional) };
}

async function checkExecutor(ground: Ground): Promise<string> {
  const executor = startExecutor({ command: [...ground.self, "__executor"], env: ground.env, cwd: ground.cwd });
  try {
    const options = { session: "doctor", turn: "doctor", cwd: ground.cwd, env: {}, signal: AbortSignal.timeout(5000), onOutput: () => {} };
    const outcome = await executor.callTool("bash", { command: "echo fine" }, options);
    if (outcome.isError) throw new Fault("executor-gone", outcome.text);
    return `${levelTools.minimal.join(", ")} answer`;
  } finally {
    await executor.close();
  }
}

async function tried(name: string, optional: boolean, check: () => Promise<string>): Promise<Check> {
  try {
    return { name, ok: true, optional, detail: await check() };
  } catch (error) {
    const hint = error instanceof Fault ? error.hint : undefined;
    return { name, ok: false, optional, detail: messageOf(error), ...(hint === undefined ? {} : { hint }) };
  }
}
