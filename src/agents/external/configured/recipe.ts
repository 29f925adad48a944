// An agent from the configuration: what is written there, whether it makes sense, and the row it has among the agents.
// Small, because it is read at every start where one is configured; the adapter made from it is in configured.ts.
import { findVendor } from "../../../models/vendors.ts";
import type { AgentConfig } from "../../../protocol/api/agents.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { type AgentEntry, externalAgentNames } from "../adapters/index.ts";

/** Throws a fault that names the key which is wrong. */
export function recipeEntry(name: string, recipe: AgentConfig): AgentEntry {
  const wrong = problemOf(name, recipe);
  if (wrong !== null) throw new Fault("config", `agents.${name}${wrong.key}: ${wrong.message}`, { hint: wrong.hint });
  return { name, canFork: false, vendor: null, resumes: recipe.output === "acp" || recipe.resumeArgs !== null };
}

/** Whether an argument holds it. */
export function hasPlaceholder(args: readonly string[], placeholder: string): boolean {
  return args.some((arg) => arg.includes(`{${placeholder}}`));
}

type Wrong = { key: string; message: string; hint: string };

function problemOf(name: string, { command, args, resumeArgs, output }: AgentConfig): Wrong | null {
  const isTaken = ["native", "shell", "group", "team", ...externalAgentNames].includes(name);
  if (isTaken) return { key: "", message: `${name} is an agent that skein brings along`, hint: "give yours another name" };
  if (findVendor(name) !== undefined) return { key: "", message: `${name} is a vendor of models`, hint: "give yours another name" };
  if (command === null) return { key: ".command", message: "there is none", hint: "name the program that is started" };
  if (command.includes("/") && !command.startsWith("/"))
    return { key: ".command", message: `${command} is a relative path`, hint: "name a program in PATH, or its absolute path" };
  if (resumeArgs === null) return null;
  const key = ".resume_args";
  if (output === "acp") return { key, message: "an ACP agent has no use for them", hint: "leave them out: it is asked for its session" };
  if (!hasPlaceholder(resumeArgs, "session")) return { key, message: "they hold no {session}", hint: 'such as ["--resume", "{session}"]' };
  if (output !== "text" || hasPlaceholder(args, "session")) return null;
  return { key, message: "an agent that prints text can't say which session it is in", hint: "put {session} into its args too" };
}
