// The request to the launcher, and the variable that holds it as JSON. Other users of the machine can read arguments of a
// process, but not its environment. The launcher removes the variable before it starts the program.
import type { SandboxRules } from "./rules.ts";

export const launchVariable = "SKEIN_LAUNCH";

export type LaunchRequest = {
  rules: SandboxRules;
  tier: "namespaces" | "landlock";
  cwd: string;
  /** Whether the sandbox has a user namespace of its own, so that limits of the namespace concern nobody else. */
  hasUserNamespace: boolean;
  /** The absolute path of the program, and its arguments. */
  command: string[];
};
