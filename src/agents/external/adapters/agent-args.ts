// `--agent-arg`: what a person adds to an agent's command line. Refused where it would loosen the walls or change what
// the adapter relies on, in whatever spelling a CLI accepts; too much is refused rather than too little.
import { Fault } from "../../../protocol/api/error.ts";
import type { Adapter } from "./adapter.ts";

export function checkAgentArgs({ name, forbiddenArgs }: Pick<Adapter, "name" | "forbiddenArgs">, args: readonly string[]): void {
  for (const [at, arg] of args.entries()) {
    if (arg === "--") throw new Fault("usage", `--agent-arg "--" would turn flags of ${name} into words`);
    if (!arg.startsWith("-") || arg === "-") {
      if (at > 0) continue;
      throw new Fault("usage", `--agent-arg "${arg}" is no flag of ${name}`, {
        hint: "a flag comes first, its value in a second --agent-arg",
      });
    }
    const flag = forbiddenArgs.find((forbidden) => isSameFlag(arg, forbidden));
    if (flag === undefined) continue;
    throw new Fault("usage", `--agent-arg ${arg}: ${flag} of ${name} is skein's own to set`, {
      hint: "flags that decide model, session, output, tools, directories and permissions have their own names in skein run --help",
    });
  }
}

function isSameFlag(arg: string, forbidden: string): boolean {
  if (forbidden.startsWith("--")) return longName(arg) === longName(forbidden) || longName(arg) === `--no-${longName(forbidden).slice(2)}`;
  // Short ones may stand together, and a value may stick to the last of them.
  return !arg.startsWith("--") && (arg.split("=", 1)[0] as string).includes(forbidden.slice(1));
}

/** Without a value; some parsers also take camel case for dashes, and a dot for a field. */
function longName(arg: string): string {
  const [name = ""] = arg.split(/[=.]/, 1);
  return name.replaceAll("_", "-").replaceAll(/[A-Z]/g, (letter, at: number) => (at > 2 ? "-" : "") + letter.toLowerCase());
}
