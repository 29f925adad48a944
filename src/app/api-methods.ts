// The Api methods that belong to no session, each implemented by the module that has the data.
import { findProject } from "../config/paths.ts";
import { settingsOf } from "../config/values.ts";
import type { EngineDeps } from "../engine/engine.ts";
import type { AppContext } from "./app-context.ts";
import type { ExecutorProvider } from "./executors/executors.ts";
import type { VendorAuth } from "../protocol/api/api.ts";
import type { Store } from "../store/store.ts";
import type { CreateTrialApp } from "./agents/try-agents.ts";

type ApiMethodDeps = {
  store: () => Promise<Store>;
  executors: Pick<ExecutorProvider, "git" | "containedReader" | "enforced" | "getOwn" | "endOwn">;
};

export function createApiMethods(
  ctx: AppContext,
  { store, executors }: ApiMethodDeps,
  createTrialApp: CreateTrialApp,
): EngineDeps["methods"] {
  const { paths, project, config } = ctx;
  return {
    agents: { list: async () => (await import("./agents/list-agents.ts")).listAgents(ctx) },
    models: {
      list: async () => (await import("./list-models.ts")).listModels(ctx),
      show: async ({ model }) => (await import("./list-models.ts")).findModel(ctx, model),
    },
    auth: { status: async () => (await import("./agents/agent-credentials.ts")).withAgentCredentials(ctx, await checkedAuthStatus(ctx)) },
    skills: {
      async list({ directory }) {
        const { scanSkills } = await import("../skills/scan-skills.ts");
        return scanSkills({ directory, project, home: paths.home, configDir: paths.config, trusted: ctx.isTrusted() });
      },
    },
    limits: { list: async () => (await import("./vendor-limits.ts")).createVendorLimits(paths.state).list() },
    config: {
      show: async () => (await import("../config/list-values.ts")).listConfig(config),
      values: async () => settingsOf(config.values),
      async set(params) {
        const [{ setConfigValue }, { checkSetting }] = await Promise.all([import("../config/set-value.ts"), import("./check-setting.ts")]);
        return setConfigValue({ ...params, paths, project, check: (key, value) => checkSetting(ctx, key, value) });
      },
      paths: async () => ({
        user: paths.userConfig,
        project: `${project}/.skein/config.jsonc`,
        config: paths.config,
        data: paths.data,
        state: paths.state,
        cache: paths.cache,
      }),
      schema: async () => (await import("../config/schema.ts")).configSchema(),
    },
    mcp: {
      list: async () => (await import("./mcp/list-servers.ts")).listServers(ctx),
      set: async ({ name, server, scope }) =>
        (await import("../config/servers/set-server.ts")).setServer({ paths, project, scope, name, server }),
      startLogin: async (params) => (await import("./mcp/sign-in-methods.ts")).createSignInMethods(ctx).startLogin(params),
      finishLogin: async (params) => (await import("./mcp/sign-in-methods.ts")).createSignInMethods(ctx).finishLogin(params),
      logout: async (params) => (await import("./mcp/sign-in-methods.ts")).createSignInMethods(ctx).logout(params),
      try: async (params) => (await import("./mcp/try-server.ts")).tryServer(ctx, executors, params),
    },
    trust: {
      show: async ({ directory }) => (await import("../config/trust.ts")).trustState(paths, findProject(directory, paths.home)),
      grant: async ({ directory }) => (await import("../config/trust.ts")).grantTrust(paths, findProject(directory, paths.home)),
      revoke: async ({ directory }) => (await import("../config/trust.ts")).revokeTrust(paths, findProject(directory, paths.home)),
    },
    plan: {
      read: async ({ directory }) => (await import("../files/plan-file.ts")).readPlanFile(findProject(directory, paths.home)),
      async make({ directory }) {
        const { ensurePlanFile, readPlanFile } = await import("../files/plan-file.ts");
        ensurePlanFile(findProject(directory, paths.home));
        return readPlanFile(findProject(directory, paths.home));
      },
    },
    tokens: { count: async (params) => (await import("./count-tokens.ts")).countTokens(ctx, executors, params) },
    hooks: { test: async ({ hook }) => (await import("./hooks/test-hooks.ts")).testHooks(ctx, hook) },
    fleet: { setup: async () => (await import("./fleet/set-up-fleet.ts")).setUpFleet(config.values.fleetUrl) },
    doctor: {
      check: async () => (await import("./doctor.ts")).checkMachine(ctx, store),
      tryAgents: async (params) => (await import("./agents/try-agents.ts")).tryAgents(ctx, createTrialApp, params),
    },
  };
}

/** Like `authStatus`, and asks the servers on this machine. */
async function checkedAuthStatus(ctx: AppContext): Promise<VendorAuth[]> {
  const { withLocalServer } = await import("../models/vendors.ts");
  return Promise.all((await authStatus(ctx)).map(withLocalServer));
}

export async function authStatus(ctx: AppContext): Promise<VendorAuth[]> {
  const { vendorAuth: authRow, vendors } = await import("../models/vendors.ts");
  const names = new Set([...vendors.map((vendor) => vendor.name), ...Object.keys(ctx.providers)]);
  return [...names].map((name) => authRow(name, { env: ctx.env, config: ctx.providers[name] }));
}
