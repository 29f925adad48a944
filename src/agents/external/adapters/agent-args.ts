// Checks `--agent-arg`, the user's additions to a CLI's arguments. Refuses flags that would weaken the sandbox or change
// something the adapter relies on, in every spelling that a CLI accepts. In doubt a flag is refused.
import { Fault } from "../../../protocol/api/error.ts";
import type { Adapter } from "./adapter.ts";

export function checkAgentArgs({ name, forbiddenArgs }: Pick<Adapter, "name" | "forbiddenArgs">, args: readonly string[]): void {
  for (const [index, arg] of args.entries()) {
    if (arg === "--") throw new Fault("usage", `--agent-arg "--" would turn flags of ${name} into positional arguments`);
    if (!arg.startsWith("-") || arg === "-") {
      if (index > 0) continue;
      throw new Fault("usage", `--agent-arg "${arg}" is not a flag of ${name}`, {
        hint: "a flag comes first, its value in a second --agent-arg",
      });
    }
    const flag = forbiddenArgs?.split(" ").find((forbidden) => isSameFlag(arg, forbidden));
    if (flag === undefined) continue;
    throw new Fault("usage", `--agent-arg ${arg}: skein sets ${flag} of ${name} itself`, {
      hint: "skein run --help has flags for model, session, output, tools, directories and permissions",
    });
  }
}

function isSameFlag(arg: string, forbidden: string): boolean {
  if (forbidden.startsWith("--")) return longName(arg) === longName(forbidden) || longName(arg) === `--no-${longName(forbidden).slice(2)}`;
  // Short flags may be combined, and the last one may have a value attached.
  return !arg.startsWith("--") && (arg.split("=", 1)[0] as string).includes(forbidden.slice(1));
}

/** Removes the value. Some parsers also accept camel case instead of dashes, and a dot for a field. */
function longName(arg: string): string {
  const [name = ""] = arg.split(/[=.]/, 1);
  return name.replaceAll("_", "-").replaceAll(/[A-Z]/g, (letter, index: number) => (index > 2 ? "-" : "") + letter.toLowerCase());
}
