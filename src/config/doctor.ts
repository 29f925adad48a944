// The checks of `skein doctor` for configuration, directories and trust. Never throws: a problem is a failed check.
import { accessSync, constants, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { Fault, messageOf } from "../protocol/api/error.ts";
import type { DoctorCheck } from "../protocol/api/api.ts";
import { checkConfigFile, loadConfig, type LoadOptions } from "./load.ts";
import { trustState } from "./trust.ts";

export function checkConfig(options: Omit<LoadOptions, "trusted">): DoctorCheck[] {
  const { paths, project } = options;
  return [
    fileCheck("user config", paths.userConfig, null),
    fileCheck("project config", join(project, ".skein", "config.jsonc"), project),
    environmentCheck(options),
    ...(["config", "data", "state", "cache"] as const).map((name) => directoryCheck(`${name} directory`, paths[name])),
    trustCheck(options),
  ];
}

function fileCheck(name: string, path: string, project: string | null): DoctorCheck {
  return checkThat(name, () => (checkConfigFile(path, project) === "missing" ? `${path} (not there, not needed)` : path));
}

/** Loads a configuration without files, so that only variables can fail. */
function environmentCheck(options: Omit<LoadOptions, "trusted">): DoctorCheck {
  const missingDirectory = join(options.paths.state, "no-such-directory");
  const paths = { ...options.paths, userConfig: join(missingDirectory, "config.jsonc") };
  return checkThat("config variables", () => {
    loadConfig({ ...options, project: missingDirectory, paths, trusted: () => false });
    return "all usable";
  });
}

function directoryCheck(name: string, path: string): DoctorCheck {
  return checkThat(name, () => {
    try {
      const existing = nearestExisting(path);
      if (!statSync(existing).isDirectory()) throw new Error(`${existing} is not a directory`);
      accessSync(existing, constants.W_OK | constants.X_OK);
      return existing === path ? path : `${path} (created when needed)`;
    } catch (error) {
      const hint = "make it writable, or set SKEIN_HOME to a directory that is";
      throw new Fault("file-unwritable", `${path} can't be written: ${messageOf(error)}`, { hint, cause: error });
    }
  });
}

function nearestExisting(path: string): string {
  const parent = dirname(path);
  return parent === path || statSync(path, { throwIfNoEntry: false }) !== undefined ? path : nearestExisting(parent);
}

function trustCheck({ paths, project }: Omit<LoadOptions, "trusted">): DoctorCheck {
  const state = trustState(paths, project);
  const ok = state.trusted || state.files.length === 0;
  const detail = `${project}: ${state.reason}`;
  return ok
    ? { name: "trust", ok, optional: true, detail }
    : { name: "trust", ok, optional: true, detail, hint: "read its files, then run `skein trust`" };
}

/** `getDetail` returns the text of a successful check, and throws the reason of a failed one. */
function checkThat(name: string, getDetail: () => string): DoctorCheck {
  try {
    return { name, ok: true, optional: false, detail: getDetail() };
  } catch (error) {
    const hint = error instanceof Fault ? error.hint : undefined;
    return { name, ok: false, optional: false, detail: messageOf(error), ...(hint === undefined ? {} : { hint }) };
  }
}
