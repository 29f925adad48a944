// Makes an adapter from the configuration, for any program that prints an answer or uses ACP. The recipe is all that skein
// has about the program, so the program gets its own home directory and only the credentials that the recipe names.
import { parseModelName } from "../../../models/vendors.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { TurnCheckInput } from "../../../protocol/api/ports.ts";
import type { Adapter, CliEvent, CliLaunch, CliReader } from "../adapters/adapter.ts";
import { instructionsOf } from "../adapters/multi-vendor.ts";
import { AcpDialogue, acpSessionLost } from "./acp-client.ts";
import { claudeReader } from "../adapters/readers/claude-reader.ts";
import { byteLength } from "../../../kit/text/cut-text.ts";
import { jsonReader, textReader } from "../adapters/readers/plain-readers.ts";
import type { AgentConfig } from "../../../protocol/api/agents.ts";
import { hasPlaceholder } from "./recipe.ts";

export function configuredAdapter(name: string, recipe: AgentConfig): Adapter {
  const isAcp = recipe.output === "acp";
  return {
    name,
    program: recipe.command ?? "",
    install: recipe.hint ?? `check agents.${name}.command in the config`,
    vendor: "any",
    usesAnyVendor: true,
    keys: [],
    efforts: [],
    takesRole: false,
    ...(isAcp ? { takesServers: true } : {}),
    version: /(\d+\.\d+\.\d+\S*)/,
    files: () => ({ "home/.keep": "" }),
    env: (launch) => envOf(recipe, launch),
    args: (launch) => argsOf(recipe, withDirectories(launch)),
    check: (turn) => check(name, recipe, turn),
    stdin: (launch) => (isAcp ? null : promptOnStdin(withDirectories(launch).prompt)),
    reader: (start) => readerOf(recipe, start),
    // These programs print no last event.
    endsByExit: recipe.output === "text" || recipe.output === "json",
    openDialogue: isAcp ? (launch, out) => new AcpDialogue(withoutArguments(recipe, withDirectories(launch)), out) : undefined,
    failures: [],
    sessionLost: isAcp ? acpSessionLost : sessionLost,
  };
}

/** Matches the wording of most programs. */
const sessionLost =
  /(session|conversation|thread|chat)\b.{0,80}(not found|unknown|no longer|does(n't| not) exist|invalid|expired)|(no|unknown|invalid|find|load|resume) .{0,20}(session|conversation|thread|chat)\b/i;

/** Names the additional directories in the prompt, because a recipe has no flag for them. */
function withDirectories(launch: CliLaunch): CliLaunch {
  const directories = instructionsOf({ ...launch, role: null });
  return directories === "" ? launch : { ...launch, prompt: `${directories}\n\n${launch.prompt}` };
}

/** Removes model and effort if the program gets them as arguments or variables. */
function withoutArguments({ args, env }: AgentConfig, launch: CliLaunch): CliLaunch {
  const texts = [...args, ...Object.values(env)];
  return {
    ...launch,
    model: hasPlaceholder(texts, "model") ? null : launch.model,
    effort: hasPlaceholder(texts, "effort") ? null : launch.effort,
  };
}

function check(name: string, { args, resumeArgs, output }: AgentConfig, { model }: TurnCheckInput): void {
  if (model === null || output === "acp") return;
  const hasArg = (placeholder: string) => hasPlaceholder([...args, ...(resumeArgs ?? [])], placeholder);
  if (!hasArg("model")) throw new Fault("usage", `${name} takes no model: its args have no {model}`, { hint: "leave -m out" });
  if (parseModelName(model).effort !== null && !hasArg("effort"))
    throw new Fault("usage", `${name} takes no effort: its args have no {effort}`, { hint: "name the model without it" });
}

function argsOf({ args, resumeArgs, output }: AgentConfig, launch: CliLaunch): string[] {
  const template = launch.start.how !== "new" && resumeArgs !== null ? resumeArgs : args;
  const prompt = isLongPrompt(launch.prompt) ? null : promptArgument(launch.prompt);
  // Every user of the machine can read arguments.
  const filled = fill(template, { ...valuesOf(launch, prompt), api_key: null });
  if (output === "acp" || hasPlaceholder(template, "prompt")) return [...filled, ...launch.extraArgs];
  return [...filled, ...launch.extraArgs, ...(prompt === null ? [] : [prompt])];
}

/** A prompt with a leading dash would be a flag. */
function promptArgument(prompt: string): string {
  return prompt.startsWith("-") ? ` ${prompt}` : prompt;
}

function valuesOf(launch: CliLaunch, prompt: string | null): Record<string, string | null> {
  const { model, vendor = null, effort, directory } = launch;
  const named = { prompt, model, vendor, effort, session: launch.start.id, directory, config: launch.configDir };
  return { ...named, ...gatewayValues(launch) };
}

/** The gateway for the requested model. Programs append `/v1/messages` to an address for Anthropic, `/chat/completions` to others. */
function gatewayValues({ endpoint, vendor }: CliLaunch): Record<"wire" | "base_url" | "api_key", string | null> {
  if (endpoint === null || vendor === undefined) return { wire: null, base_url: null, api_key: null };
  const wire = vendor === "anthropic" || vendor === "gemini" ? vendor : "openai";
  return { wire, base_url: wire === "openai" ? `${endpoint.url}/v1` : endpoint.url, api_key: endpoint.token };
}

const placeholder = /\{(prompt|model|vendor|effort|session|directory|config|wire|base_url|api_key)\}/g;

/** Leaves out an argument whose value is missing, and the flag before it. */
function fill(template: readonly string[], values: Record<string, string | null>): string[] {
  const filled: string[] = [];
  for (const arg of template) {
    const names = [...arg.matchAll(placeholder)].map((match) => match[1]!);
    const missing = names.filter((name) => values[name] === null);
    if (missing.length === 0) filled.push(arg.replaceAll(placeholder, (_, name: string) => values[name] ?? ""));
    // A long prompt goes to stdin. Its flag stays, because the program may read stdin only with it.
    else if (!missing.includes("prompt") && /^\{\w+\}$/.test(arg) && /^--?[a-z][^=]*$/i.test(filled.at(-1) ?? "")) filled.pop();
  }
  return filled;
}

function envOf(recipe: AgentConfig, launch: CliLaunch): Record<string, string> {
  const home = `${launch.configDir}/home`;
  const values = valuesOf(launch, null);
  const recipeEnv = Object.entries(recipe.env).flatMap(([name, text]) => fill([text], values).map((filled) => [name, filled] as const));
  return {
    HOME: home,
    XDG_CONFIG_HOME: `${home}/.config`,
    XDG_DATA_HOME: `${home}/.local/share`,
    XDG_STATE_HOME: `${home}/.local/state`,
    XDG_CACHE_HOME: `${home}/.cache`,
    NO_COLOR: "1",
    ...gatewayEnv(launch.endpoint),
    ...Object.fromEntries(recipeEnv),
  };
}

/** The gateway's address and token in the variables that most programs read, for each available vendor. */
function gatewayEnv(endpoint: CliLaunch["endpoint"]): Record<string, string> {
  if (endpoint === null) return {};
  const { url, token, wires = [] } = endpoint;
  const hasOpenAi = wires.includes("openai-responses") || wires.includes("openai-chat");
  return {
    ...(wires.includes("anthropic") ? { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: token } : {}),
    ...(hasOpenAi ? { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: token } : {}),
    ...(wires.includes("gemini") ? { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: token } : {}),
  };
}

function readerOf({ output, args, resumeArgs }: AgentConfig, start: CliLaunch["start"] | undefined): CliReader {
  const chosenId = resumeArgs !== null && hasPlaceholder(args, "session") ? (start?.id ?? null) : null;
  if (output === "json") return jsonReader(chosenId);
  return output === "text" ? textReader(chosenId) : withoutModels(claudeReader());
}

/** Drops the model that the program reports, because its vendor is unknown. */
function withoutModels(reader: CliReader): CliReader {
  const strip = (events: CliEvent[]) => events.map((event) => ("model" in event ? { ...event, model: undefined } : event));
  return { line: (text) => strip(reader.line(text)), end: () => strip(reader.end()) };
}

/** On Linux an argument and a variable have at most 128 KB, and the sandbox gets the whole command in one variable, as JSON. */
const maxArgumentBytes = 60_000;

function isLongPrompt(prompt: string): boolean {
  return prompt.length > maxArgumentBytes || byteLength(JSON.stringify(prompt)) > maxArgumentBytes;
}

/** Returns null for a prompt that is short enough for an argument. */
function promptOnStdin(prompt: string): string | null {
  return isLongPrompt(prompt) ? prompt : null;
}
