// The request to the launcher, and the variable that holds it: as JSON for the launcher in JavaScript, as a list of system
// calls for the native one. Other users of the machine can read arguments of a process, but not its environment. Both
// launchers remove the variable before they start the program.
import type { SandboxRules } from "./rules.ts";

export const launchVariable = "SKEIN_LAUNCH";

/** The format of the list of system calls. A change of native/launcher.c or its rows needs another number. */
export const listFormat = 2;

export type LaunchRequest = {
  rules: SandboxRules;
  tier: "namespaces" | "landlock";
  cwd: string;
  /** Whether the sandbox has a user namespace of its own, so that limits of the namespace concern nobody else. */
  hasUserNamespace: boolean;
  /** 0 if the kernel has no Landlock. */
  landlockVersion: number;
  /** The absolute path of the program, and its arguments. */
  command: string[];
};
