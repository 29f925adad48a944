// The composition root: creates the engine from configuration, store, models, executors and agents.
// Below the front ends, only `src/app` imports all of them and reads configuration.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { agentModel, chooseAgent, type KnownNames } from "../agents/external/adapters/choose-agent.ts";
import { type AgentEntry, externalAgentNames, externalAgents } from "../agents/external/adapters/index.ts";
import { groupAgent } from "../agents/group/group-agent.ts";
import { raceAgent } from "../agents/race/race-agent.ts";
import { readContextFiles } from "../agents/native/request/context-files.ts";
import { nativeAgent } from "../agents/native/native-agent.ts";
import type { SpawnTargets } from "../agents/native/tools/spawn-session.ts";
import { shellAgent } from "../agents/shell.ts";
import { teamAgent } from "../agents/team/team-agent.ts";
import { findProject } from "../config/paths.ts";
import { createCurrentSessions, readProjectState, writeProjectState, type CurrentSessions } from "../config/project-state.ts";
import { createEngine, type EngineDeps } from "../engine/engine.ts";
import { ensurePlanFile, isPlanFile } from "../files/plan-file.ts";
import type { GitRunner } from "../files/git.ts";
import { statPath } from "../kit/files/path-status.ts";
import { lazy } from "../kit/flow/lazy.ts";
import { findProgram, searchPath } from "../kit/process/trusted-programs.ts";
import { chooseModel, nameOptions } from "../models/choose-model.ts";
import { requireModelName } from "../models/model-names.ts";
import { createRequestRates } from "../models/request-rate.ts";
import { bindModel } from "../models/stream.ts";
import { vendorAuth, vendors } from "../models/vendors.ts";
import type { Api } from "../protocol/api/api.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import type { Agent, CommandRunner, ProjectGuards, Snapshots, TeamDirectories } from "../protocol/api/ports.ts";
import type { SessionWorktrees, Worktrees } from "../protocol/worktree/ports.ts";
import { catalogText } from "../skills/catalog.ts";
import { scanSkills } from "../skills/scan-skills.ts";
import { openStore } from "../store/sqlite/sqlite-store.ts";
import type { Store } from "../store/store.ts";
import { automaticAgent, chooseDefaultAgent, modelOptions } from "./agents/default-agent.ts";
import { configuredEntries, createExternalAgents } from "./agents/external-agents.ts";
import { createApiMethods } from "./api-methods.ts";
import { createAppContext, loadRoles, programSearch, type AppContext, type AppOptions } from "./app-context.ts";
import { createExecutors, type ExecutorProvider } from "./executors/executors.ts";
import { mergeApis } from "./fleet/merge-apis.ts";
import { requireFleetUrl } from "./fleet/require-fleet-url.ts";
import { createHooks } from "./hooks/create-hooks.ts";
import type { TraceSpool } from "./traces/trace-spool.ts";
import type { Turn } from "../protocol/tree/turn.ts";
import { createCommitNotesPort, createHistorySource } from "./history-source.ts";
import { openTurnServers, serversOf } from "./mcp/turn-servers.ts";
import { createLimitPort, type LimitPort } from "./limit-port.ts";
import { createRetentionPort } from "./retention-port.ts";
import { transcriptPorts } from "./transcript-ports.ts";

export function createApp(options: AppOptions): Api {
  const ctx = createAppContext(options);
  for (const warning of ctx.config.warnings) options.warn(warning);
  const executors = createExecutors(ctx);
  const snapshots = options.ephemeral ? null : lazySnapshots(ctx, executors.git);
  const store = createStoreAccess(ctx, { git: executors.git, snapshots });
  const configuredAgents = configuredEntries(ctx);
  const choose = createModelChooser(ctx);
  const names = { ...nameOptions(modelOptions(ctx)), agents: configuredAgents.map(({ name }) => name) };
  const modelFor = createAgentModels(configuredAgents, names);
  const limits = createLimitPort(ctx);
  const { agents, teams, worktrees } = createAgents(ctx, { executors, configuredAgents, names, choose, modelFor, limits });
  const sessionWorktrees = lazy<SessionWorktrees>(async () =>
    (await import("./worktrees/session-worktrees.ts")).createSessionWorktrees(ctx, { worktrees, git: executors.git }),
  );
  const hooks = createHooks(ctx);
  const traces = createTraces(ctx, store.open);
  const currentSessions = createCurrentSessions(ctx.paths);
  const api = createEngine({
    ...options.processContext,
    version: options.version,
    caller: options.ephemeral ? null : { directory: options.cwd, trust: ctx.trust },
    continuesTurns: options.continuesTurns === true,
    leaveToHub: async (session) => {
      await options.leaveToHub?.(session).catch((error: unknown) => {
        options.warn(`the hub, which continues the turn, could not be started: ${messageOf(error)}; start it with: skein hub start`);
      });
    },
    store: store.open,
    hasStore: store.exists,
    snapshots,
    guards: createGuards(ctx, executors, snapshots),
    runCommand: createCommandRunner(ctx, executors),
    teams,
    worktrees: options.ephemeral ? null : sessionWorktrees,
    agents,
    chooseModel: async (agent, name) => (isNative(agent) ? choose(name) : modelFor(agent, name)),
    chooseAgent: createAgentChooser(ctx, names),
    ...plannerPort(ctx),
    ...projectStatePorts(ctx, currentSessions),
    ...transcriptPorts(ctx, executors.tier),
    listFiles: createFileList(ctx, executors.git),
    warn: options.warn,
    ...(hooks === null ? {} : { runHook: hooks.run }),
    ...(traces === null ? {} : { traceTurn: traces.add, traceEnv: traces.envOf }),
    ...(options.ephemeral ? {} : { retention: createRetentionPort(ctx) }),
    limits,
    roles: (directory) => loadRoles(ctx, directory),
    history: createHistorySource(ctx, executors.git),
    commitNotes: createCommitNotesPort(executors.git),
    methods: createApiMethods(ctx, { store: store.open, executors }, (env, cwd) =>
      createApp({ ...options, ...throwAwayOptions, env, cwd, startedIn: cwd }),
    ),
    close: async () => {
      currentSessions.flush();
      await Promise.all([executors.settle(), hooks?.settle(), traces?.settle()]);
      await Promise.all([executors.close(), store.close()]);
    },
  });
  const { openFleetApi } = options;
  if (openFleetApi === undefined || options.ephemeral || ctx.config.values.fleetUrl === null) return api;
  return mergeApis({ local: api, fleet: openFleetApi, warn: options.warn });
}

/** Loaded at its first use: a run completes no file names. */
function createFileList(ctx: AppContext, git: GitRunner): EngineDeps["listFiles"] {
  const finder = lazy(async () => ({ find: (await import("./find-files.ts")).createFileFinder(ctx, git) }));
  return finder.find;
}

function plannerPort({ config: { values } }: AppContext): Pick<EngineDeps, "planner"> {
  const { planAgent: agent, planModel: model } = values;
  return agent === null && model === null ? {} : { planner: { agent, model } };
}

/** Options of an app that stores nothing (`doctor --agents`). */
const throwAwayOptions = { ephemeral: true, continuesTurns: false, trust: false, lenient: false, warn: () => {} };

/** Null unless the environment names a collector of traces. Then the rest is loaded with the first turn. */
function createTraces(ctx: AppContext, openStore: () => Promise<Store>) {
  const { env, ephemeral } = ctx;
  if (ephemeral || !(env["OTEL_EXPORTER_OTLP_ENDPOINT"] || env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"])) return null;
  const spool = lazy<TraceSpool>(async () => (await import("./traces/trace-spool.ts")).createTraceSpool(ctx, openStore));
  const adding = new Set<Promise<void>>();
  let hasTurns = false;
  return {
    add: (turn: Turn) => {
      hasTurns = true;
      const added = spool.add(turn).finally(() => adding.delete(added));
      adding.add(added);
    },
    envOf: (turn: Turn, traceparent: string | undefined) => spool.envOf(turn, traceparent),
    settle: async () => {
      if (!hasTurns) return;
      await Promise.all(adding);
      await spool.send();
    },
  };
}

/** Opens the store at its first use. */
function createStoreAccess(ctx: AppContext, { git, snapshots }: { git: GitRunner; snapshots: Snapshots | null }) {
  const { ephemeral, paths, processContext, openStore: openShared, config } = ctx;
  const path = join(paths.data, "skein.db");
  let opened: Promise<Store> | null = null;
  const options = ephemeral
    ? { path: ":memory:", outputsDir: null }
    : { path, outputsDir: join(paths.data, "outputs"), agentsDir: join(paths.data, "agents"), socket: processContext.address };
  if (openShared !== undefined && snapshots !== null) {
    const parts = { git, snapshots, filesRoot: join(paths.data, "files") };
    const open = () => (opened ??= openShared(requireFleetUrl(config.values.fleetUrl), parts));
    return { open, exists: () => true, close: async () => (await opened?.catch(() => null))?.close() };
  }
  return {
    open: () => (opened ??= openStore(options)),
    exists: () => opened !== null || (!ephemeral && existsSync(path)),
    // The caller of `open` has already got the error of a store that can't be opened.
    close: async () => (await opened?.catch(() => null))?.close(),
  };
}

type ModelChooser = (name: string | null) => Promise<string>;

/** Chooses a model once for each name: without a name it may have to ask a local server. */
function createModelChooser(ctx: AppContext): ModelChooser {
  const cache = new Map<string | null, Promise<string>>();
  return (name) => {
    const cached = cache.get(name) ?? chooseModel(name, modelOptions(ctx)).then(({ model }) => model);
    cache.set(name, cached);
    return cached;
  };
}

/** The native agent, and those that coordinate others, take any model. */
function isNative(agent: string): boolean {
  return ["native", "shell", "group", "team", "race"].includes(agent);
}

/** Returns the full name of a model for an external agent. Throws if the agent can't use it. */
type AgentModels = (agent: string, model: string | null) => string | null;

function createAgentModels(configured: AgentEntry[], names: KnownNames): AgentModels {
  return (agent, model) => {
    const entry = [...externalAgents, ...configured].find(({ name }) => name === agent);
    return entry === undefined ? model : agentModel(entry, model, names);
  };
}

/** Warns once when an agent's sign-in replaces a missing key. */
function createAgentChooser(ctx: AppContext, names: KnownNames): EngineDeps["chooseAgent"] {
  let hasWarned = false;
  return async (name, model) => {
    if (name !== automaticAgent) return chooseAgent(name, model, names);
    const chosen = await chooseDefaultAgent(ctx, model);
    if (chosen.signIn !== null && !hasWarned) {
      hasWarned = true;
      ctx.warn(`there is no key for a model, so ${chosen.agent} answers with its own sign-in (${chosen.signIn}); -a or -m name another`);
    }
    return { agent: chosen.agent, model: chosen.model };
  };
}

type AgentParts = {
  executors: ExecutorProvider;
  configuredAgents: AgentEntry[];
  names: KnownNames;
  choose: ModelChooser;
  modelFor: AgentModels;
  limits: LimitPort | undefined;
};

function createAgents(ctx: AppContext, parts: AgentParts): { agents: Agent[]; teams: TeamDirectories; worktrees: Worktrees } {
  const { executors, configuredAgents, names, choose, modelFor, limits } = parts;
  const { config, paths, env, providers } = ctx;
  const { enforced } = executors;
  const toolEnv = toolEnvOf(ctx);
  const rates = createRequestRates();
  const native = nativeAgent({
    model: async (name) =>
      bindModel(await choose(name), {
        env,
        providers,
        idleMs: config.values.idleMs,
        models: ctx.models,
        rates,
        onHeaders: limits?.onHeaders,
      }),
    executor: executors.get,
    enforced,
    toolEnv,
    contextFiles: (directory, project) => readContextFiles(directory, project, paths.config),
    skills: (directory, project) => loadSkills(ctx, directory, project),
    spawnTargets: createSpawnTargets(ctx, Object.keys(config.values.agents)),
    serverNames: ({ mcpServers }) => [...serversOf(ctx, mcpServers).keys()],
    openServers: (turn) => openTurnServers(ctx, executors, turn),
  });
  const shell = shellAgent({ executor: executors.get, toolEnv, enforced });
  const group = groupAgent({
    knownNames: () => ({
      agents: ["native", ...externalAgentNames, ...names.agents],
      resolveModel: (name) => requireModelName(name, names),
    }),
    retryAfterMs: 1_000,
    enforced,
  });
  const path = searchPath(env);
  const worktrees = lazy<Worktrees>(async () => {
    const [{ createWorktrees }, { createSecretCheck, guardedAmong }] = await Promise.all([
      import("../files/worktrees/worktrees.ts"),
      import("../sandbox/project-secrets.ts"),
    ]);
    const { home } = ctx.paths;
    return createWorktrees(executors.git, {
      guardedAmong: (project, files) => guardedAmong(project, files, { home, env }),
      isSecret: createSecretCheck({ home, isRoot: process.getuid?.() === 0, env }),
    });
  });
  const requireAgent = (name: string, model: string | null): void => {
    const chosen = chooseAgent(name, model, names);
    modelFor(chosen.agent, chosen.model);
  };
  const team = teamAgent({
    roles: async (project) => (await loadRoles(ctx, project)).roles,
    workspaces: worktrees,
    selfCommand: ctx.selfCommand,
    path,
    enforced,
    requireAgent,
  });
  const race = raceAgent({ enforced, requireAgent });
  const teams = lazy<TeamDirectories>(async () => (await import("./agents/team-directories.ts")).createTeamDirectories(worktrees));
  const external = createExternalAgents(ctx, { executors, limits }, configuredAgents);
  return { agents: [native, shell, group, team, race, ...external], teams, worktrees };
}

/** The user's variables that tools may see. */
function toolEnvOf({ config, env }: AppContext): Record<string, string> {
  return Object.fromEntries(config.values.toolEnv.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}

function createCommandRunner(ctx: AppContext, executors: ExecutorProvider): CommandRunner {
  return (turn, { command, timeoutMs, ...options }) =>
    executors
      .get(turn)
      .callTool(
        "bash",
        { command, timeout: timeoutMs / 1000 },
        { ...options, session: turn.session, cwd: turn.directory, env: { ...toolEnvOf(ctx), ...turn.env } },
      );
}

/** Reads only the environment and looks programs up in PATH, once, because it is on the way to the first request. */
function createSpawnTargets(ctx: AppContext, configuredAgents: readonly string[]): () => SpawnTargets {
  let targets: SpawnTargets | null = null;
  return () => {
    if (targets !== null) return targets;
    const { env, providers } = ctx;
    const search = programSearch(ctx);
    const installed = externalAgentNames.filter((name) => findProgram(name, search).path !== null);
    const agents = [...installed, ...configuredAgents];
    const hasKey = (name: string) => vendorAuth(name, { env, config: providers[name] }).source !== null;
    const ready = vendors.filter(({ name, defaultModel }) => defaultModel !== "" && hasKey(name));
    const models = ready.map(({ name, defaultModel }) => `${name}/${defaultModel}`);
    return (targets = { agents: agents.length === 0 ? [] : ["native", ...agents], models });
  };
}

/** Loaded with the first turn that has tools. */
function lazySnapshots({ paths, env, warn }: AppContext, git: GitRunner): Snapshots {
  return lazy(async () => {
    const [{ createSnapshots }, { realSecretPaths }] = await Promise.all([
      import("../files/snapshots/snapshots.ts"),
      import("../sandbox/project-secrets.ts"),
    ]);
    return createSnapshots({
      root: join(paths.data, "files"),
      git,
      tooBig: ["/", paths.home],
      leaveOut: [
        paths.data,
        paths.state,
        paths.cache,
        paths.config,
        ...realSecretPaths({ home: paths.home, isRoot: process.getuid?.() === 0, env }),
      ],
      warn,
    });
  });
}

/** The comparison is loaded with the first turn that has tools. */
function createGuards(ctx: AppContext, executors: ExecutorProvider, snapshots: Snapshots | null): ProjectGuards {
  const comparison = lazy(async () => (await import("./executors/project-guards.ts")).createProjectGuards(ctx, { executors, snapshots }));
  let last = { key: "", checkedAt: Number.NEGATIVE_INFINITY };
  return {
    check: async (turn) => {
      const key = JSON.stringify([turn.project, turn.directory, turn.policy]);
      if (key === last.key && performance.now() - last.checkedAt < repeatedCheckMs) return;
      requireDirectory(turn.directory);
      executors.refuseLinks(turn);
      last = { key, checkedAt: performance.now() };
    },
    begin: async (turn) => comparison.begin(turn),
  };
}

/**
 * The start of a turn repeats the check that its caller made a moment ago, before anything was written. The start of the
 * sandbox looks for links once more in any case.
 */
const repeatedCheckMs = 200;

/** A session outlives its directory. Its tools can't run without one. */
function requireDirectory(directory: string): void {
  if (statPath(directory)?.isDirectory() === true) return;
  throw new Fault("file-unreadable", `the directory of this session is gone: ${directory}`, {
    hint: "create it again, or start a new session; `skein show` and `skein export` still print the conversation",
  });
}

function projectStatePorts({ paths, ephemeral: isEphemeral, openStore: openShared }: AppContext, current: CurrentSessions) {
  // A session of the fleet is not the current one of a directory here.
  const ephemeral = isEphemeral || openShared !== undefined;
  return {
    projectOf: (directory) => findProject(directory, paths.home),
    getCurrent: current.get,
    setCurrent: (project, session) => (ephemeral ? undefined : current.set(project, session)),
    plannerOf: (project, file) => (isPlanFile(project, file) ? readProjectState(paths, project).planning : null),
    ensurePlanFile: async (project) => ensurePlanFile(project),
    setPlanner: (project, planning) => (ephemeral ? undefined : writeProjectState(paths, project, { planning })),
  } satisfies Partial<EngineDeps>;
}

function loadSkills(ctx: AppContext, directory: string, project: string): { text: string; paths: string[] } {
  if (!ctx.config.values.skills) return { text: "", paths: [] };
  const { skills } = scanSkills({ directory, project, home: ctx.paths.home, configDir: ctx.paths.config, trusted: false });
  return { text: catalogText(skills), paths: skills.map((skill) => skill.path) };
}
