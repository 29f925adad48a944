// The table of vendors. Turns a model name, the environment and the configuration into an endpoint.
// Gets the environment as a parameter: must not read it, nor any file. A new vendor is one entry of `vendors`.
import type { VendorAuth } from "../protocol/api/api.ts";
import { Fault } from "../protocol/api/error.ts";
import type { Effort, Endpoint, WireName } from "./model.ts";

export type Vendor = {
  name: string;
  wire: WireName;
  baseUrl: string;
  /** The variable with another base URL. Without it only the configuration can change the base URL. */
  baseUrlVariable?: string;
  /** The first variable that is set is used. */
  keyVariables: readonly { name: string; bearer?: true }[];
  keyUrl: string;
  /** The vendor's name in the price list of tools/prices.ts, if it differs. */
  priceListName?: string;
  /** A server on this machine. It needs no key. */
  isLocal?: true;
  /** Empty if it depends on the models that are installed. */
  defaultModel: string;
  /** Model ids that need no vendor prefix. */
  ids?: RegExp;
};

const chat = { wire: "openai-chat" } as const;
const local = { ...chat, isLocal: true, keyVariables: [], defaultModel: "" } as const;

/** The order decides which vendor has the default model. */
export const vendors: readonly Vendor[] = [
  {
    name: "anthropic",
    wire: "anthropic",
    baseUrl: "https://api.anthropic.com",
    baseUrlVariable: "ANTHROPIC_BASE_URL",
    keyVariables: [{ name: "ANTHROPIC_API_KEY" }, { name: "ANTHROPIC_AUTH_TOKEN", bearer: true }],
    keyUrl: "https://console.anthropic.com/settings/keys",
    defaultModel: "claude-opus-5-5",
    ids: /^claude-/,
  },
  {
    name: "openai",
    wire: "openai-responses",
    baseUrl: "https://api.openai.com/v1",
    baseUrlVariable: "OPENAI_BASE_URL",
    keyVariables: [{ name: "OPENAI_API_KEY" }],
    keyUrl: "https://platform.openai.com/api-keys",
    defaultModel: "gpt-6-sol",
    ids: /^(gpt-\d|o\d|codex-|chatgpt-)/,
  },
  {
    name: "gemini",
    wire: "gemini",
    baseUrl: "https://generativelanguage.googleapis.com",
    baseUrlVariable: "GOOGLE_GEMINI_BASE_URL",
    keyVariables: [{ name: "GEMINI_API_KEY" }, { name: "GOOGLE_API_KEY" }],
    keyUrl: "https://aistudio.google.com/apikey",
    priceListName: "google",
    defaultModel: "gemini-3.8-flash",
    ids: /^gemini-/,
  },
  {
    ...chat,
    name: "openrouter",
    baseUrl: "https://openrouter.ai/api/v1",
    keyVariables: [{ name: "OPENROUTER_API_KEY" }],
    keyUrl: "https://openrouter.ai/settings/keys",
    defaultModel: "anthropic/claude-opus-5.5",
  },
  {
    ...chat,
    name: "xai",
    baseUrl: "https://api.x.ai/v1",
    keyVariables: [{ name: "XAI_API_KEY" }],
    keyUrl: "https://console.x.ai",
    priceListName: "x-ai",
    defaultModel: "grok-4.6",
    ids: /^grok-/,
  },
  {
    ...chat,
    name: "deepseek",
    baseUrl: "https://api.deepseek.com/v1",
    keyVariables: [{ name: "DEEPSEEK_API_KEY" }],
    keyUrl: "https://platform.deepseek.com/api_keys",
    defaultModel: "deepseek-v4-pro",
    ids: /^deepseek-/,
  },
  {
    ...chat,
    name: "mistral",
    baseUrl: "https://api.mistral.ai/v1",
    keyVariables: [{ name: "MISTRAL_API_KEY" }],
    keyUrl: "https://console.mistral.ai/api-keys",
    defaultModel: "mistral-medium-3-5",
    ids: /^(mistral|codestral|devstral|magistral|ministral)-/,
  },
  {
    ...chat,
    name: "groq",
    baseUrl: "https://api.groq.com/openai/v1",
    keyVariables: [{ name: "GROQ_API_KEY" }],
    keyUrl: "https://console.groq.com/keys",
    defaultModel: "openai/gpt-oss-120b",
  },
  {
    ...local,
    name: "ollama",
    baseUrl: "http://127.0.0.1:11434/v1",
    baseUrlVariable: "OLLAMA_HOST",
    keyVariables: [{ name: "OLLAMA_API_KEY" }],
    keyUrl: "https://ollama.com/download",
  },
  {
    ...local,
    name: "lmstudio",
    baseUrl: "http://127.0.0.1:1234/v1",
    keyUrl: "https://lmstudio.ai",
  },
  {
    ...local,
    name: "llamacpp",
    baseUrl: "http://127.0.0.1:8080/v1",
    keyUrl: "https://github.com/ggml-org/llama.cpp",
  },
];

export type Environment = Record<string, string | undefined>;
export type VendorConfig = {
  baseUrl?: string;
  apiKey?: string;
  wire?: WireName;
  headers?: Record<string, string>;
  contextWindow?: number;
  maxRetries?: number;
  requestsPerMinute?: number;
};
export type VendorSource = { env: Environment; config?: VendorConfig };
export type ModelName = { vendor: string; model: string; effort: Effort | null };

const efforts: readonly Effort[] = ["low", "medium", "high", "xhigh"];

export function findVendor(name: string): Vendor | undefined {
  return vendors.find((vendor) => vendor.name === name);
}

/** Parses `vendor/id[:effort]`. An id may contain slashes and colons: only an effort word after the last colon counts. */
export function parseModelName(text: string): ModelName {
  const name = text.trim();
  const slash = name.indexOf("/");
  const isBare = slash === -1;
  const vendor = isBare ? vendors.find(({ ids }) => ids?.test(name))?.name : name.slice(0, slash);
  const id = isBare ? name : name.slice(slash + 1);
  if (!vendor || !/^[a-z][\w.-]*$/i.test(vendor) || id === "") {
    throw new Fault("usage", `"${name}" is not a model name`, {
      hint: "write vendor/id, as in anthropic/claude-opus-5-5 or ollama/qwen3:8b; `skein models` lists them",
    });
  }
  if (vendor === "replay") return { vendor, model: id, effort: null };
  const { name: model, effort } = splitEffort(id);
  return { vendor, model, effort };
}

/** Splits `name[:effort]`. Any other word after the last colon belongs to the name. */
export function splitEffort(text: string): { name: string; effort: Effort | null } {
  const colon = text.lastIndexOf(":");
  const effort = efforts.find((word) => word === text.slice(colon + 1));
  return colon < 1 || effort === undefined ? { name: text, effort: null } : { name: text.slice(0, colon), effort };
}

export function fullModelName({ vendor, model, effort }: ModelName): string {
  return `${vendor}/${model}${effort === null ? "" : `:${effort}`}`;
}

/** Models that can't call tools, so that only an API request can use them. No CLI can. */
export function isApiOnly(id: string): boolean {
  return /deep-research|-search-preview|(^|\/)sonar/.test(id);
}

/** The base URL, key and headers for requests to a vendor. Throws a Fault if the vendor, its URL or its key is missing. */
export function endpointFor(name: string, source: VendorSource): Endpoint {
  const vendor = findVendor(name);
  const config = source.config ?? {};
  const wire = config.wire ?? vendor?.wire ?? "openai-chat";
  const baseUrl = baseUrlFor(name, source);
  if (baseUrl === "") {
    throw new Fault("config", `there is no vendor "${name}"`, {
      hint: `use ${vendors.map((entry) => entry.name).join(", ")} or replay; any other vendor needs a base URL in the config`,
    });
  }
  if (!URL.canParse(baseUrl) || !/^https?:/.test(baseUrl)) {
    throw new Fault("config", `the base URL of ${name} is not an http(s) URL: ${stripUrlSecrets(baseUrl)}`, {
      hint: vendor?.baseUrlVariable ? `check ${vendor.baseUrlVariable} and the config` : "check the config",
    });
  }
  const credential = credentialFor(name, source);
  if (!credential && vendor && !vendor.isLocal) {
    throw new Fault("auth", `no key for ${name}`, { hint: keyHint(vendor) });
  }
  const apiKey = credential?.key ?? "";
  const bearer: Record<string, string> = credential?.isBearer ? { authorization: `Bearer ${apiKey}` } : {};
  return { vendor: name, wire, baseUrl, apiKey, headers: { ...bearer, ...lowerKeys(config.headers) } };
}

function lowerKeys(headers: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([key, value]) => [key.toLowerCase(), value]));
}

export function keyHint(vendor: Vendor): string {
  return `set ${vendor.keyVariables[0]?.name ?? "a key in the config"}; get one at ${vendor.keyUrl}`;
}

function baseUrlFor(name: string, source: VendorSource): string {
  const vendor = findVendor(name);
  const fromEnv = vendor?.baseUrlVariable ? source.env[vendor.baseUrlVariable] : undefined;
  if (fromEnv && name === "ollama") return ollamaUrl(fromEnv);
  return (fromEnv || source.config?.baseUrl || vendor?.baseUrl || "").trim();
}

/** OLLAMA_HOST is a bind address: `:11434`, `0.0.0.0`, `box:80` and full URLs are all common. */
function ollamaUrl(host: string): string {
  const text = host.trim().replace(/\/+$/, "");
  const fullUrl = /^https?:\/\//.test(text) ? text : `http://${text.startsWith(":") ? `127.0.0.1${text}` : text}`;
  if (!URL.canParse(fullUrl)) return text;
  const url = new URL(fullUrl);
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]") url.hostname = "127.0.0.1";
  if (url.port === "" && !/^https?:\/\//.test(text)) url.port = "11434";
  return `${url.origin}${url.pathname.replace(/\/+$/, "").replace(/\/v1$/, "")}/v1`;
}

export function stripUrlSecrets(url: string): string {
  return url
    .replace(/\/\/[^/]*@/, "//")
    .replace(/\?.*$/, "")
    .slice(0, 100);
}

/** The environment takes precedence over the configuration. */
function credentialFor(name: string, source: VendorSource): { key: string; source: string; isBearer: boolean } | null {
  for (const variable of findVendor(name)?.keyVariables ?? []) {
    const key = source.env[variable.name]?.trim();
    if (key) return { key, source: variable.name, isBearer: variable.bearer === true };
  }
  const key = source.config?.apiKey?.trim();
  return key ? { key, source: `providers.${name}.api_key`, isBearer: false } : null;
}

/** The source of the credential that would be used, never its value. */
export function vendorAuth(name: string, source: VendorSource): VendorAuth {
  const vendor = findVendor(name);
  const credential = credentialFor(name, source);
  const needsNoKey = vendor === undefined || vendor.isLocal === true;
  return {
    vendor: name,
    ready: credential !== null || needsNoKey,
    source: credential?.source ?? null,
    baseUrl: stripUrlSecrets(baseUrlFor(name, source)),
    keyVariable: needsNoKey ? null : (vendor.keyVariables[0]?.name ?? null),
    keyUrl: vendor?.keyUrl ?? null,
    hint: credential ? "" : vendor?.isLocal ? `runs on this machine; see ${vendor.keyUrl}` : vendor ? keyHint(vendor) : "",
  };
}

/** A vendor whose server runs on this machine is ready only if the server answers. Other vendors stay as they are. */
export async function withLocalServer(auth: VendorAuth): Promise<VendorAuth> {
  if (findVendor(auth.vendor)?.isLocal !== true || (await answersHere(auth.baseUrl))) return auth;
  return { ...auth, ready: false, hint: `no server answers at ${auth.baseUrl}; get it at ${auth.keyUrl}` };
}

/** Whether a server on this machine answers in time. */
async function answersHere(baseUrl: string, timeoutMs: number = 300): Promise<boolean> {
  try {
    const url = `${baseUrl.replace(/\/+$/, "")}/models`;
    return (await fetch(url, { signal: AbortSignal.timeout(timeoutMs), redirect: "manual" })).ok;
  } catch {
    return false;
  }
}

/** The models that are installed in Ollama, latest first. Empty if its server does not answer in time. */
export async function localModels(baseUrl: string, timeoutMs: number = 300): Promise<string[]> {
  try {
    const url = `${baseUrl.replace(/\/+$/, "").replace(/\/v1$/, "")}/api/tags`;
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs), redirect: "manual" });
    const body = (await response.json()) as { models?: { name?: unknown }[] };
    return (body.models ?? []).flatMap(({ name }) => (typeof name === "string" ? [name] : []));
  } catch {
    return [];
  }
}
