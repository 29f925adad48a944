// Finds fields of a request that make the vendor fetch an address or search the web. With the network off, such a field
// would be a way out: the address itself can carry a secret. Tool types are an allow-list, because vendors add new ones.
import { isRecord, type Json } from "../../../kit/text/json.ts";
import type { WireName } from "../../../models/model.ts";
import { listAt, objectAt, textAt } from "../../../models/wire/json.ts";

/** Returns the path of the first such field, as in `tools[0].type=web_search`; null if there is none. */
export function findVendorFetch(json: Json, wire: WireName): string | null {
  return findOption(json, wire) ?? findTool(json, wire) ?? findAddress(json);
}

/**
 * Options besides the tools that let a vendor connect to servers or search. Some of those for `openai-chat` belong to
 * other vendors on that wire.
 */
const routerOptions = ["web_search_options", "search_parameters", "search_settings", "plugins", "web_search", "preset"];

const options: Record<WireName, readonly string[]> = {
  anthropic: ["mcp_servers"],
  // A stored prompt may have tools of its own.
  "openai-responses": [...routerOptions, "prompt"],
  "openai-chat": routerOptions,
  gemini: [],
};

/** Models that search without being asked to. */
const searchingModels = /:online$|@preset\/|search-preview|search-api|deep-research|(^|\/)(compound|sonar)\b/;

function findOption(json: Json, wire: WireName): string | null {
  // OpenRouter asks the other models if the first one fails.
  const others = Array.isArray(json["models"]) ? json["models"] : [];
  const model = [json["model"], ...others].find((name) => typeof name === "string" && searchingModels.test(name));
  if (model !== undefined) return `model=${String(model).slice(0, 100)}`;
  return options[wire].find((name) => !isEmpty(json[name])) ?? null;
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === false || (Array.isArray(value) && value.length === 0);
}

/** Tools that the CLI itself runs, and tools of the vendor that only use the content of the request. */
const allowedTools: Record<WireName, RegExp> = {
  anthropic: /^(custom|(bash|text_editor|computer|memory|code_execution)_\d+|tool_search_tool_\w+)$/,
  "openai-responses":
    /^(function|custom|namespace|local_shell|shell|apply_patch|tool_search|computer|computer_use_preview|image_generation)$/,
  "openai-chat": /^(function|custom)$/,
  gemini: /^(functionDeclarations|function_declarations|codeExecution|code_execution|computerUse|computer_use)$/,
};

/** Tools may also be declared in an item of the input, and within a namespace. */
function findTool(json: Json, wire: WireName): string | null {
  if (isRecord(json["tools"])) return "tools";
  const declared = listAt(json, "input").flatMap((item, index) => toolsOf(item, `input[${index}].tools`));
  const tools = [...toolsOf(json, "tools"), ...declared];
  for (const { tool, path } of tools) {
    if (wire === "gemini") {
      const name = Object.keys(tool).find((key) => !allowedTools.gemini.test(key));
      if (name !== undefined) return `${path}.${name.slice(0, 100)}`;
      continue;
    }
    // A tool of Anthropic without a type is the CLI's own.
    const type = textAt(tool, "type") || (wire === "anthropic" && isEmpty(tool["type"]) ? "custom" : "");
    if (!allowedTools[wire].test(type) && !isCachedSearch(tool)) return `${path}.type=${type.slice(0, 100)}`;
    if (wire === "openai-responses" && isHostedShell(tool)) return `${path}.environment`;
    tools.push(...toolsOf(tool, `${path}.tools`));
  }
  return null;
}

function toolsOf(json: Json, path: string): { tool: Json; path: string }[] {
  return listAt(json, "tools").map((tool, index) => ({ tool, path: `${path}[${index}]` }));
}

/** True for a shell that OpenAI runs. Its container may have a network. */
function isHostedShell(tool: Json): boolean {
  return tool["type"] === "shell" && !isEmpty(tool["environment"]) && textAt(objectAt(tool, "environment"), "type") !== "local";
}

/** True for a search that OpenAI answers from its index, without opening a page. Codex declares it by default. */
function isCachedSearch(tool: Json): boolean {
  return tool["type"] === "web_search" && tool["external_web_access"] === false;
}

const addressKeys = new Set(["image", "file", "video", "audio", "document", "server"].flatMap((kind) => [`${kind}_url`, `${kind}Url`]));

/** Arguments of calls, their results and schemas of tools. A vendor only shows them to the model. */
const opaqueKeys = new Set([
  "input_schema",
  "parameters",
  "parametersJsonSchema",
  "parameters_json_schema",
  "args",
  "response",
  "metadata",
]);

type Visit = { value: object; key: string; parent: Visit | null };

/** Visits every object except opaque ones, without recursion: a client may nest them deeply. */
function findAddress(json: Json): string | null {
  const open: Visit[] = [{ value: json, key: "", parent: null }];
  for (let visit = open.pop(); visit !== undefined; visit = open.pop()) {
    const value = visit.value as Json;
    const isList = Array.isArray(value);
    for (const key in value) {
      const field = value[key];
      if (!isList && isAddress(key, field)) return pathOf({ value, key, parent: visit });
      if (typeof field !== "object" || field === null) continue;
      if (!isList && (opaqueKeys.has(key) || (key === "input" && textAt(value, "type").endsWith("tool_use")))) continue;
      open.push({ value: field, key, parent: visit });
    }
  }
  return null;
}

function pathOf(visit: Visit): string {
  const keys: string[] = [];
  for (let at: Visit | null = visit; at !== null && at.key !== ""; at = at.parent)
    keys.unshift(/^\d+$/.test(at.key) ? `[${at.key}]` : `.${at.key}`);
  return keys.join("").slice(1, 200);
}

function isAddress(key: string, field: unknown): boolean {
  if (field === null || (typeof field !== "object" && typeof field !== "string")) return false;
  if (key === "fileData" || key === "file_data") return isRecord(field) || (typeof field === "string" && /^\s*\w+:\/\//.test(field));
  if (key === "source") return isRecord(field) && field["type"] === "url";
  if (!addressKeys.has(key)) return false;
  const url = isRecord(field) ? field["url"] : field;
  return typeof url === "string" && !/^\s*data:/i.test(url);
}
