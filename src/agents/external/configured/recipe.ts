// Checks the recipe of a configured agent and makes its entry among the agents. Loaded at every start with a configured
// agent, so it must stay small; configured-adapter.ts makes the adapter.
import { findVendor } from "../../../models/vendors.ts";
import type { AgentConfig } from "../../../protocol/api/agents.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { type AgentEntry, externalAgentNames } from "../adapters/index.ts";

/** Throws a fault that names the invalid key. */
export function recipeEntry(name: string, recipe: AgentConfig): AgentEntry {
  const problem = findProblem(name, recipe);
  if (problem !== null) throw new Fault("config", `agents.${name}${problem.key}: ${problem.message}`, { hint: problem.hint });
  return { name, canFork: false, vendor: null, resumes: recipe.output === "acp" || recipe.resumeArgs !== null };
}

export function hasPlaceholder(args: readonly string[], placeholder: string): boolean {
  return args.some((arg) => arg.includes(`{${placeholder}}`));
}

type RecipeProblem = { key: string; message: string; hint: string };

function findProblem(name: string, { command, args, resumeArgs, output }: AgentConfig): RecipeProblem | null {
  const isReserved = ["native", "shell", "group", "team", ...externalAgentNames].includes(name);
  if (isReserved) return { key: "", message: `${name} is a built-in agent`, hint: "give yours another name" };
  if (findVendor(name) !== undefined) return { key: "", message: `${name} is a vendor of models`, hint: "give yours another name" };
  if (command === null) return { key: ".command", message: "it is missing", hint: "name the program to start" };
  if (command.includes("/") && !command.startsWith("/"))
    return { key: ".command", message: `${command} is a relative path`, hint: "name a program in PATH, or its absolute path" };
  if (resumeArgs === null) return null;
  const key = ".resume_args";
  if (output === "acp") return { key, message: "an ACP agent does not use them", hint: "leave them out: ACP resumes sessions itself" };
  if (!hasPlaceholder(resumeArgs, "session")) return { key, message: "they have no {session}", hint: 'such as ["--resume", "{session}"]' };
  if (output !== "text" || hasPlaceholder(args, "session")) return null;
  return { key, message: "an agent that prints text can't report its session", hint: "put {session} into its args too" };
}
