// The composition root: configuration, store, models, executor and agents become one engine. The only place that
// knows them all, and the only one below the doors that sees configuration.
import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { agentModel, chooseAgent } from "../agents/external/adapters/choose-agent.ts";
import { externalAgentNames, externalAgents } from "../agents/external/adapters/index.ts";
import { groupAgent } from "../agents/group/group-agent.ts";
import { readContextFiles } from "../agents/native/request/context-files.ts";
import { nativeAgent } from "../agents/native/native-agent.ts";
import { shellAgent } from "../agents/shell.ts";
import { loadConfig, type Config, type LoadOptions } from "../config/load.ts";
import { findPaths, findProject, type Paths } from "../config/paths.ts";
import { readProjectState, writeProjectState } from "../config/project-state.ts";
import { trustState } from "../config/trust.ts";
import { createEngine, type EngineDeps } from "../engine/engine.ts";
import { RunningTurns } from "../engine/turn/running-turns.ts";
import { ensurePlanFile, isPlanFile } from "../files/plan-file.ts";
import { bindModel } from "./bind-model.ts";
import { createExecutors } from "./executors/executors.ts";
import { configuredEntries, createExternalAgents } from "./agents/external-agents.ts";
import { createFileFinder } from "./find-files.ts";
import { createHistorySource } from "./history-source.ts";
import { createApiMethods } from "./api-methods.ts";
import { createLazySnapshots } from "./snapshots.ts";
import { createTeam } from "./agents/team.ts";
import { chooseModel } from "../models/choose-model.ts";
import type { VendorConfig } from "../models/vendors.ts";
import type { Api } from "../protocol/api/api.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import type { EnclosingSession } from "../protocol/api/policy.ts";
import type { Session } from "../protocol/tree/turn.ts";
import { scanSkills } from "../skills/scan-skills.ts";
import { catalogText } from "../skills/catalog.ts";
import { openStore } from "../store/sqlite/sqlite-store.ts";
import type { Store } from "../store/store.ts";
import { transcriptPath } from "../store/transcript.ts";

export type AppOptions = {
  env: Record<string, string | undefined>;
  cwd: string;
  /** Where relative paths in the environment count from. */
  startedIn: string;
  ephemeral: boolean;
  /** Set by --trust and --no-trust; null asks what was granted. */
  trust: boolean | null;
  /** Goes on with the defaults where the configuration is broken: for those who are to say so, or to mend it. */
  lenient: boolean;
  /** How this program starts itself again. */
  selfCommand: string[];
  version: string;
  /** What all houses of this process have in common. */
  processContext: ProcessContext;
  warn: (message: string) => void;
};

/** Turns and how to reach them belong to the process, not to one house in it. */
export type ProcessContext = {
  running: RunningTurns;
  startedAt: number;
  /** Where this process can be talked to, from the first turn on; null where it can't. */
  address: () => string | null;
  connect: (address: string) => Promise<Api>;
  /** The session that this process was started in, if any. */
  enclosingSession: () => EnclosingSession | null;
};

export function createProcessContext({
  startedAt,
  enclosingSession: around,
  address,
  connect: reach,
}: Omit<ProcessContext, "running">): ProcessContext {
  return { running: new RunningTurns(), startedAt, enclosingSession: around, address, connect: reach };
}

/** What the rows beside the engine are made from. */
export type AppContext = AppOptions & {
  paths: Paths;
  project: string;
  config: Config;
  isTrusted: () => boolean;
  providers: Record<string, VendorConfig>;
};

export function createApp(input: AppOptions): Api {
  const ground = createAppContext(input);
  const { config, paths, env } = ground;
  for (const warning of config.warnings) input.warn(warning);

  const storePath = join(paths.data, "skein.db");
  let opened: Promise<Store> | null = null;
  const store = () =>
    (opened ??= openStore(
      input.ephemeral
        ? { path: ":memory:", outputsDir: null }
        : {
            path: storePath,
            outputsDir: join(paths.data, "outputs"),
            agentsDir: join(paths.data, "agents"),
            socket: input.processContext.address,
          },
    ));

  const executors = createExecutors(ground);
  const toolEnv = Object.fromEntries(config.values.toolEnv.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
  const native = nativeAgent({
    model: async (name) => bindModel(await choose(name), ground),
    executor: executors.get,
    enforced: executors.enforced,
    toolEnv,
    contextFiles: (directory, project) => readContextFiles(directory, project, paths.config),
    skills: (directory, project) => loadSkills(ground, directory, project),
  });
  const shell = shellAgent({ executor: executors.get, toolEnv, enforced: executors.enforced });
  const configuredAgents = configuredEntries(ground);
  const group = groupAgent({
    knownNames: () => ({
      agents: ["native", ...externalAgentNames, ...configuredAgents.map(({ name }) => name)],
      vendors: Object.keys(ground.providers),
    }),
    retryAfterMs: 1_000,
    enforced: executors.enforced,
  });
  const { agent: team, places: teams } = createTeam(ground, executors);
  const choosing = { env, providers: ground.providers, configured: config.values.model };
  const chosen = new Map<string | null, Promise<string>>();
  const choose = (name: string | null) => {
    const known = chosen.get(name) ?? chooseModel(name, choosing).then(({ model }) => model);
    chosen.set(name, known);
    return known;
  };

  return createEngine({
    ...input.processContext,
    version: input.version,
    store,
    hasStore: () => opened !== null || (!input.ephemeral && existsSync(storePath)),
    snapshots: input.ephemeral ? null : createLazySnapshots(ground),
    teams,
    agents: [native, shell, group, team, ...createExternalAgents(ground, executors, configuredAgents)],
    chooseModel: (agent, name) => {
      const row = [...externalAgents, ...configuredAgents].find((candidate) => candidate.name === agent);
      return row === undefined ? choose(name) : Promise.resolve(agentModel(row, name));
    },
    chooseAgent: (name, model) =>
      chooseAgent(name, model, { agents: configuredAgents.map((row) => row.name), vendors: Object.keys(ground.providers) }),
    ...projectStatePorts(ground),
    transcriptFor: (session) =>
      input.ephemeral ? null : transcriptPath(session.transcriptDir ?? transcriptDir(session.project, paths), session),
    transcriptElsewhere: (session) => transcriptPath(join(paths.data, "sessions"), session),
    copyTranscript,
    readTranscript: async (...params) => (await import("../agents/external/import/read-transcript.ts")).readTranscript(...params),
    listFiles: createFileFinder(ground),
    warn: input.warn,
    roles: async (directory) => (await import("./load-roles.ts")).loadRoles(ground, directory),
    history: createHistorySource(ground),
    methods: createApiMethods(ground, store, (inner, cwd) => createApp({ ...input, ...throwAwayOptions, env: inner, cwd, startedIn: cwd })),
    close: async () => {
      await executors.close();
      // A store that could not be opened was told of when it was asked for.
      await (await opened?.catch(() => null))?.close();
    },
  });
}

type ProjectStatePorts = "projectOf" | "getCurrent" | "setCurrent" | "plannerOf" | "setPlanner" | "ensurePlanFile";

/** Of each project: which session goes on, and which one planned. */
function projectStatePorts({ paths, ephemeral }: AppContext): Pick<EngineDeps, ProjectStatePorts> {
  return {
    projectOf: (directory) => findProject(directory, paths.home),
    getCurrent: (project) => readProjectState(paths, project).current,
    setCurrent: (project, current) => (ephemeral ? undefined : writeProjectState(paths, project, { current })),
    plannerOf: (project, file) => (isPlanFile(project, file) ? readProjectState(paths, project).planning : null),
    ensurePlanFile: async (project) => ensurePlanFile(project),
    setPlanner: (project, planning) => (ephemeral ? undefined : writeProjectState(paths, project, { planning })),
  };
}

/** Of a house in which something is only tried. */
const throwAwayOptions = { ephemeral: true, trust: false, lenient: false, warn: () => {} };

function createAppContext(input: AppOptions): AppContext {
  const paths = findPaths(input.env, input.startedIn);
  const project = findProject(input.cwd, paths.home);
  const isTrusted = () => input.trust ?? trustState(paths, project).trusted;
  const config = loadConfigOrDefaults(input, { project, env: input.env, paths, trusted: isTrusted });
  const providers = Object.fromEntries(Object.entries(config.values.providers).map(([name, row]) => [name, withoutNulls(row)]));
  return { ...input, paths, project, config, isTrusted, providers };
}

function loadConfigOrDefaults(input: AppOptions, options: LoadOptions): Config {
  try {
    return loadConfig(options);
  } catch (error) {
    if (!input.lenient) throw error;
    const nowhere = join(options.paths.state, "no-such-directory");
    return loadConfig({ ...options, env: {}, project: nowhere, paths: { ...options.paths, userConfig: join(nowhere, "config.jsonc") } });
  }
}

function withoutNulls(row: Config["values"]["providers"][string]): VendorConfig {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
}

/** In the project where there is one, else with skein's own data. */
function transcriptDir(project: string, paths: Paths): string {
  const isProject = existsSync(join(project, ".skein")) || existsSync(join(project, ".git"));
  return isProject ? join(project, ".skein", "sessions") : join(paths.data, "sessions");
}

async function copyTranscript(session: Session, to: string): Promise<void> {
  if (session.transcript === null) throw new Fault("usage", "--output-file needs a transcript; leave --ephemeral out");
  try {
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(session.transcript, to);
  } catch (error) {
    throw new Fault("file-unwritable", `can't write ${to}: ${messageOf(error)}`, { cause: error });
  }
}

function loadSkills(ctx: AppContext, directory: string, project: string): { text: string; paths: string[] } {
  if (!ctx.config.values.skills) return { text: "", paths: [] };
  const { skills } = scanSkills({ directory, project, home: ctx.paths.home, configDir: ctx.paths.config, trusted: false });
  return { text: catalogText(skills), paths: skills.map((skill) => skill.path) };
}
