// Every environment variable that skein reads, for the documentation. Variables that set a configuration key are in keys.ts
// and must not be repeated here.

import { type Vendor, vendors } from "../models/vendors.ts";

export type EnvVariable = { name: string; group: EnvGroup; description: string };
export type EnvGroup = "directories" | "behaviour" | "keys" | "base URLs" | "network" | "traces";

const variables: Record<EnvGroup, Record<string, string>> = {
  directories: {
    SKEIN_HOME: "Moves all four directories to `config`, `data`, `state` and `cache` below it.",
    XDG_CONFIG_HOME: "Parent of the configuration directory `skein/`; default `~/.config`.",
    XDG_DATA_HOME: "Parent of the data directory `skein/`, which has the session tree; default `~/.local/share`.",
    XDG_STATE_HOME: "Parent of the directory `skein/` for state, logs and trust; default `~/.local/state`.",
    XDG_CACHE_HOME: "Parent of the cache directory `skein/`; default `~/.cache`.",
    HOME: "The home directory, written as `~`.",
    CLAUDE_CONFIG_DIR: "Directory with your sign-in of Claude Code; default `~/.claude`.",
    CODEX_HOME: "Directory with your sign-in or key of Codex; default `~/.codex`.",
    GEMINI_CLI_HOME: "Parent of the directory `.gemini` with your sign-in of Gemini CLI; default `~`.",
    PI_CODING_AGENT_DIR: "Directory with your keys of pi; default `~/.pi/agent`.",
  },
  behaviour: {
    NO_COLOR: "Turns colours off if set and not empty.",
    FORCE_COLOR: "Turns colours on even if the output is not a terminal; `0` turns them off.",
    TERM: "`dumb` means no colours and no moving cursor.",
    SKEIN_OFFLINE: "Allows requests only to servers on this machine, if set and not empty.",
    SKEIN_SANDBOX_BEST: "For tests: `landlock` or `none` pretends that this machine can enforce no more than that.",
    SKEIN_SANDBOX_LAUNCHER: "For tests: `javascript` pretends that this machine can't run the native launcher.",
    ACCESSIBLE: "Same as `screen_reader`, if set and not `0`.",
    SKEIN_DEBUG: "Adds the stack trace to error messages, if set.",
    LC_ALL: "Output is plain ASCII if the first set variable of `LC_ALL`, `LC_CTYPE` and `LANG` is not UTF-8.",
  },
  keys: {
    ...Object.fromEntries(vendors.flatMap(keyVariables)),
    CLAUDE_CODE_OAUTH_TOKEN: "Your sign-in with Claude Code, from `claude setup-token`; for `-a claude` only.",
    CODEX_API_KEY: "Key for `openai` that `-a codex` uses before OPENAI_API_KEY.",
  },
  "base URLs": Object.fromEntries(vendors.flatMap(baseUrlVariable)),
  network: {
    HTTPS_PROXY: "Proxy for https requests (also `https_proxy`).",
    HTTP_PROXY: "Proxy for http requests (also `http_proxy`).",
    NO_PROXY: "Hosts that are reached without a proxy (also `no_proxy`).",
    NODE_EXTRA_CA_CERTS: "File with further certificate authorities.",
  },
  traces: {
    OTEL_EXPORTER_OTLP_ENDPOINT: "Sends a trace of each turn to this collector, as JSON over HTTP; `/v1/traces` is added.",
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "The same with the whole URL.",
    OTEL_EXPORTER_OTLP_HEADERS: "Headers for the collector: `name=value,...` (also `OTEL_EXPORTER_OTLP_TRACES_HEADERS`).",
    OTEL_EXPORTER_OTLP_TIMEOUT: "Longest time for one request to the collector, in milliseconds; default 10000.",
    OTEL_SERVICE_NAME: "Name of the service in a trace; default `skein`.",
    OTEL_RESOURCE_ATTRIBUTES: "Further attributes of the service: `name=value,...`.",
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "`true` adds prompts, answers, arguments and results to traces.",
    OTEL_SDK_DISABLED: "`true` sends no traces.",
    OTEL_TRACES_EXPORTER: "`none` sends no traces.",
    TRACEPARENT: "The span of the caller (W3C Trace Context), above those of skein.",
  },
};

export const environmentVariables: readonly EnvVariable[] = Object.entries(variables).flatMap(([group, descriptions]) =>
  Object.entries(descriptions).map(([name, description]) => ({ name, group: group as EnvGroup, description })),
);

function keyVariables(vendor: Vendor): [name: string, description: string][] {
  const [first] = vendor.keyVariables;
  return vendor.keyVariables.map(({ name, bearer }) => {
    const condition = vendor.isLocal ? ", if its server requires one" : name === first?.name ? "" : `, when ${first?.name} is not set`;
    const description = bearer ? `Bearer token for a gateway of \`${vendor.name}\`.` : `Key for \`${vendor.name}\`${condition}.`;
    return [name, description];
  });
}

function baseUrlVariable({ name, baseUrlVariable: variable, isLocal }: Vendor): [name: string, description: string][] {
  if (variable === undefined) return [];
  return [[variable, isLocal ? `Address of \`${name}\`.` : `Where requests to \`${name}\` go.`]];
}
