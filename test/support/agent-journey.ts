// Runs turns of the real program with the real agents that bench/peers.ts installs. Returns the requests at the model server and
// the nodes of each turn.
import { delimiter } from "node:path";
import { peersBin } from "../../bench/peers.ts";
import type { ModelServer, RecordedRequest } from "../../src/scripted-model/model-server.ts";
import { requestedModel } from "../../src/scripted-model/side-requests.ts";
import type { eventRecord, nodeRecord, turnRecord } from "../../src/protocol/json/records.ts";
import { type RunResult, type TemporaryHome, temporaryHome, vendorEnv } from "./temporary-home.ts";

export type TurnLine = ReturnType<typeof turnRecord>;
export type NodeLine = ReturnType<typeof nodeRecord>;

export type TakenTurn = {
  ran: RunResult;
  turn: TurnLine;
  nodes: NodeLine[];
  warnings: string[];
  /** The requests of this turn, without side requests. */
  requests: RecordedRequest[];
};

export function agentHome(server: Pick<ModelServer, "url">, env: Record<string, string> = {}, prefix: string[] = []): TemporaryHome {
  const path = `${peersBin}${delimiter}${process.env["PATH"] ?? ""}`;
  return temporaryHome({ ...vendorEnv(server.url), PATH: path, ...env }, prefix);
}

/** Runs `skein run` with these arguments. Clears the recorded requests of the server first. */
export async function takeTurn(
  skein: TemporaryHome,
  server: ModelServer,
  args: string[],
  env: Record<string, string> = {},
): Promise<TakenTurn> {
  server.clear();
  const ran = await skein.run(["run", ...args, "--output-format", "events"], { env });
  const events = ran.out
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as ReturnType<typeof eventRecord>);
  const turn = events
    .flatMap((event) => ("turn" in event && event.type === "turn.ended" ? [event.turn as unknown as ReturnType<typeof turnRecord>] : []))
    .at(-1);
  if (turn === undefined) throw new Error(`no turn ended (${ran.code}): ${ran.err}`);
  return {
    ran,
    turn,
    nodes: events.flatMap((event) => ("node" in event ? [event.node] : [])),
    warnings: events.flatMap((event) => (event.type === "warning.raised" && "message" in event ? [event.message] : [])),
    requests: [...server.main()],
  };
}

/** Counts each word in a request. Use long numbers: five digits also occur by chance in the ids of a request. */
export function countsIn(request: Pick<RecordedRequest, "text"> | undefined, words: string[]): Record<string, number> {
  return Object.fromEntries(words.map((word) => [word, (request?.text ?? "").split(JSON.stringify(word).slice(1, -1)).length - 1]));
}

export function modelOf(request: Pick<RecordedRequest, "path" | "body">): string {
  return requestedModel(request.path, request.body);
}

export function textIn(node: NodeLine | undefined): string {
  return (node?.parts ?? []).flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("");
}

/** A known model for each agent. Without a model some agents ask a second model to choose one. */
export const agentModels: Record<string, string> = {
  claude: "claude-sonnet-4-5",
  codex: "gpt-5.2",
  gemini: "gemini-3-pro-preview",
  opencode: "claude-sonnet-4-5",
  pi: "claude-sonnet-4-5",
};

/** Configures opencode's ACP mode as an agent. */
export const opencodeAcp = {
  command: "opencode",
  args: ["acp"],
  output: "acp",
  env: {
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      autoupdate: false,
      share: "disabled",
      permission: { bash: "ask" },
      provider: { anthropic: { options: { baseURL: "{env:ANTHROPIC_BASE_URL}/v1", apiKey: "{env:ANTHROPIC_API_KEY}" } } },
      enabled_providers: ["anthropic"],
    }),
  },
};
