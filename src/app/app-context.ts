// The context of one app: its options, and the paths, project and configuration that follow from them.
import { join } from "node:path";
import type { FileReader } from "../kit/files/file-reader.ts";
import { createProgramSearch, type ProgramSearch } from "../kit/process/trusted-programs.ts";
import { loadConfig, type Config, type LoadOptions } from "../config/load.ts";
import { findPaths, findProject, type Paths } from "../config/paths.ts";
import { contentDigest, trustState } from "../config/trust.ts";
import type { ModelSettings, ModelSettingsTable } from "../models/model-settings.ts";
import type { VendorConfig } from "../models/vendors.ts";
import type { CallerTrust } from "../protocol/api/control.ts";
import type { Policy } from "../protocol/api/policy.ts";
import type { Api } from "../protocol/api/api.ts";
import type { RoleList } from "../protocol/api/role.ts";
import type { Store } from "../store/store.ts";
import { toolDirectories } from "./executors/tool-directories.ts";
import type { StoreParts } from "./fleet/store-parts.ts";
import type { ProcessContext } from "./process-context.ts";

export type AppOptions = {
  env: Record<string, string | undefined>;
  cwd: string;
  /** Relative paths in the environment start here. */
  startedIn: string;
  ephemeral: boolean;
  /** True in the hub: the next hub continues its turns if it was killed. */
  continuesTurns?: boolean;
  /** Makes sure that a hub runs and has the environment of this app for the pending turn of a session. */
  leaveToHub?: (session: string) => Promise<void>;
  /**
   * True for --trust, false for --no-trust; null reads the stored decision. A text is the digest of the content that --trust was
   * given for: a turn that starts later must not trust what a tool has written since.
   */
  trust: CallerTrust;
  /** Uses the defaults if the configuration is broken. For commands that report or repair it. */
  lenient: boolean;
  /** The command that starts this program again. */
  selfCommand: string[];
  version: string;
  processContext: ProcessContext;
  /** Opens the shared store of the fleet instead of this machine's own. Called once with the URL in the config. */
  openStore?: (url: string, parts: StoreParts) => Promise<Store>;
  /** Creates the Api on the shared store, for lists and sessions of the fleet. Called only if the config has a URL. */
  openFleetApi?: () => Promise<Api>;
  warn: (message: string) => void;
};

export type AppContext = AppOptions & {
  trust: Exclude<CallerTrust, true>;
  paths: Paths;
  project: string;
  config: Config;
  /** `files` has the bytes of the project's files that were parsed. */
  isTrusted: (files?: FileReader) => boolean;
  providers: Record<string, VendorConfig>;
  models: ModelSettingsTable;
};

export function createAppContext(options: AppOptions): AppContext {
  const paths = findPaths(options.env, options.startedIn);
  const project = findProject(options.cwd, paths.home);
  const trust = options.trust === true ? (contentDigest(project) ?? false) : options.trust;
  const isTrusted = (files?: FileReader) =>
    typeof trust === "string" ? contentDigest(project, files) === trust : (trust ?? trustState(paths, project, files).trusted);
  const config = loadConfigOrDefaults(options, { project, env: options.env, paths, trusted: isTrusted });
  const providers = Object.fromEntries(Object.entries(config.values.providers).map(([name, provider]) => [name, withoutNulls(provider)]));
  const models = Object.fromEntries(Object.entries(config.values.models).map(([name, values]) => [name, modelSettings(values)]));
  return { ...options, trust, paths, project, config, isTrusted, providers, models };
}

function modelSettings(values: Config["values"]["models"][string]): ModelSettings {
  const { temperature, maxOutputTokens, priceInput, priceOutput, priceCacheRead, priceCacheWrite } = values;
  const price = { input: priceInput, output: priceOutput, cacheRead: priceCacheRead, cacheWrite: priceCacheWrite };
  return { temperature, maxOutputTokens, price };
}

function loadConfigOrDefaults({ lenient }: AppOptions, options: LoadOptions): Config {
  try {
    return loadConfig(options);
  } catch (error) {
    if (!lenient) throw error;
    const missing = join(options.paths.state, "no-such-directory");
    return loadConfig({ ...options, env: {}, project: missing, paths: { ...options.paths, userConfig: join(missing, "config.jsonc") } });
  }
}

function withoutNulls(provider: Config["values"]["providers"][string]): VendorConfig {
  return Object.fromEntries(Object.entries(provider).filter(([, value]) => value !== null));
}

/** The parts of a turn that decide where its tools can write. */
export type WritableByTurn = { project: string; directory?: string; policy?: Pick<Policy, "addDirs" | "allowWrite"> };

/** For programs that run outside of the sandbox. */
export function programSearch({ env, cwd, project, paths }: AppContext, turn?: WritableByTurn): ProgramSearch {
  const directories = [project, cwd, ...(turn === undefined ? [] : [turn.project, turn.directory ?? turn.project])];
  const writable = turn?.policy === undefined ? [] : [...turn.policy.addDirs, ...turn.policy.allowWrite];
  const search = createProgramSearch({ env, home: paths.home, directories, writable });
  return { ...search, untrusted: [...search.untrusted, ...toolDirectories(paths.state)] };
}

/** The roles of a directory, with the trust of its project. */
export async function loadRoles({ paths, project: appProject, isTrusted }: AppContext, directory: string): Promise<RoleList> {
  const { scanRoles } = await import("../roles/scan-roles.ts");
  const project = findProject(directory, paths.home);
  const trusted = (files: FileReader) => (project === appProject ? isTrusted(files) : trustState(paths, project, files).trusted);
  return scanRoles({ project, home: paths.home, configDir: paths.config, trusted });
}
