// Checks the recipe of a configured agent and makes its entry among the agents. Loaded at every start with a configured
// agent, so it must stay small; configured-adapter.ts makes the adapter.
import { findVendor } from "../../../models/vendors.ts";
import type { AgentConfig } from "../../../protocol/api/agents.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { type AgentEntry, externalAgentNames } from "../adapters/index.ts";

/** Throws a fault that names the invalid key. */
export function recipeEntry(name: string, recipe: AgentConfig): AgentEntry {
  const { command, args, resumeArgs, output } = recipe;
  const refusal = (key: string, message: string, hint: string) => new Fault("config", `agents.${name}${key}: ${message}`, { hint });
  const isReserved = ["auto", "native", "shell", "group", "team", "race", ...externalAgentNames].includes(name);
  if (isReserved) throw refusal("", `${name} is a built-in agent`, "give yours another name");
  if (findVendor(name) !== undefined) throw refusal("", `${name} is a vendor of models`, "give yours another name");
  if (command === null) throw refusal(".command", "it is missing", "name the program to start");
  if (command.includes("/") && !command.startsWith("/"))
    throw refusal(".command", `${command} is a relative path`, "name a program in PATH, or its absolute path");
  if (resumeArgs !== null) {
    const key = ".resume_args";
    if (output === "acp") throw refusal(key, "an ACP agent does not use them", "leave them out: ACP resumes sessions itself");
    if (!hasPlaceholder(resumeArgs, "session")) throw refusal(key, "they have no {session}", 'such as ["--resume", "{session}"]');
    if (output === "text" && !hasPlaceholder(args, "session"))
      throw refusal(key, "an agent that prints text can't report its session", "put {session} into its args too");
  }
  return { name, canFork: false, vendor: null, resumes: output === "acp" || resumeArgs !== null };
}

export function hasPlaceholder(args: readonly string[], placeholder: string): boolean {
  return args.some((arg) => arg.includes(`{${placeholder}}`));
}
