// Agents that need no configuration: their recipes as data. An agent of the same name in the configuration replaces one.
// Loaded at every start, so it holds nothing else.
import type { AgentConfig } from "../../../protocol/api/agents.ts";

/** `testedVersion` is the one that test/real/clis/presets.test.ts runs; null for an agent that was never run. */
export type AgentPreset = AgentConfig & { testedVersion: string | null };

/** The gateway for the model of `-m`, in the variables of programs that take any vendor. Left out without a model. */
const gateway = (names: { wire: string; url: string; key: string; model: string }): Record<string, string> => ({
  [names.wire]: "{wire}",
  [names.url]: "{base_url}",
  [names.key]: "{api_key}",
  [names.model]: "{model}",
});

const acp = { output: "acp", resumeArgs: null } as const;

export const agentPresets: Readonly<Record<string, AgentPreset>> = {
  qwen: {
    ...acp,
    command: "qwen",
    args: ["--acp", "--auth-type", "{wire}", "--model", "{model}"],
    env: { QWEN_CODE_DISABLE_TELEMETRY: "1" },
    hint: "npm i -g @qwen-code/qwen-code",
    testedVersion: "0.24.4",
  },
  copilot: {
    ...acp,
    command: "copilot",
    args: ["--acp", "--no-auto-update", "--disable-builtin-mcps"],
    env: {
      COPILOT_HOME: "{config}/home/.copilot",
      COPILOT_GITHUB_TOKEN: "$COPILOT_GITHUB_TOKEN",
      ...gateway({
        wire: "COPILOT_PROVIDER_TYPE",
        url: "COPILOT_PROVIDER_BASE_URL",
        key: "COPILOT_PROVIDER_API_KEY",
        model: "COPILOT_MODEL",
      }),
    },
    hint: "npm i -g @github/copilot",
    testedVersion: "1.0.102",
  },
  kimi: {
    ...acp,
    command: "kimi",
    args: ["acp"],
    env: {
      KIMI_DISABLE_TELEMETRY: "1",
      KIMI_CODE_NO_AUTO_UPDATE: "1",
      ...gateway({ wire: "KIMI_MODEL_PROVIDER_TYPE", url: "KIMI_MODEL_BASE_URL", key: "KIMI_MODEL_API_KEY", model: "KIMI_MODEL_NAME" }),
    },
    hint: "npm i -g @moonshot-ai/kimi-code",
    testedVersion: "2.1.0",
  },
  "cursor-agent": {
    ...acp,
    command: "cursor-agent",
    args: ["acp"],
    env: { CURSOR_API_KEY: "$CURSOR_API_KEY" },
    hint: "see cursor.com/cli; it needs CURSOR_API_KEY and --net on",
    testedVersion: null,
  },
  goose: {
    ...acp,
    command: "goose",
    args: ["acp"],
    env: {
      GOOSE_DISABLE_KEYRING: "1",
      GOOSE_MODE: "auto",
      GOOSE_PROVIDER: "{wire}",
      GOOSE_MODEL: "{model}",
      ANTHROPIC_HOST: "{base_url}",
      OPENAI_HOST: "{base_url}",
    },
    hint: "see block.github.io/goose",
    testedVersion: null,
  },
  crush: {
    command: "crush",
    args: ["run", "-q", "-m", "{model}", "{prompt}"],
    resumeArgs: null,
    output: "text",
    env: { CRUSH_DISABLE_METRICS: "1", CRUSH_DISABLE_PROVIDER_AUTO_UPDATE: "1", ANTHROPIC_API_ENDPOINT: "{base_url}" },
    hint: "npm i -g @charmland/crush",
    testedVersion: null,
  },
  amp: {
    command: "amp",
    args: ["--execute", "{prompt}", "--stream-json", "--dangerously-allow-all"],
    resumeArgs: ["threads", "continue", "{session}", "--execute", "{prompt}", "--stream-json", "--dangerously-allow-all"],
    output: "stream-json",
    env: { AMP_API_KEY: "$AMP_API_KEY" },
    hint: "npm i -g @ampcode/cli; it needs AMP_API_KEY and --net on",
    testedVersion: null,
  },
};
