// Runs turns for the trial of an agent, in a separate app with temporary directories and the scripted model as its
// vendor. The app itself is created in src/app/agents/try-agents.ts.
import type { Api } from "../../protocol/api/api.ts";
import { messageOf, type TurnStatus } from "../../protocol/api/error.ts";
import type { Node } from "../../protocol/tree/node.ts";
import { defaultPolicy } from "../../protocol/api/policy.ts";
import type { CliRecord, Session } from "../../protocol/tree/turn.ts";
import { bareTurn } from "../../protocol/api/turn-options.ts";
import type { ModelServer } from "../../scripted-model/model-server.ts";

export type TrialSite = {
  api: Api;
  server: ModelServer;
  /** Absolute; an empty project for the trial. */
  project: string;
  close: () => Promise<void>;
};

export type TrialAgent = { agent: string; model: string; limitMs: number };

/** The end of a turn, from the tree. */
export type TrialTurn = {
  status: TurnStatus;
  message: string;
  answer: string;
  nodes: Node[];
  nativeId: string | null;
  started: CliRecord["started"] | null;
};

export function openTrialSession({ api, project }: TrialSite, { agent, model }: TrialAgent): Promise<Session> {
  return api.session.open({
    find: { by: "new" },
    directory: project,
    task: null,
    agent,
    model,
    toolLevel: "minimal",
    parentSession: null,
    transcriptDir: null,
  });
}

/** Never rejects: an error while starting the turn becomes its end. */
export async function runTrialTurn({ api }: TrialSite, session: string, prompt: string, limitMs: number): Promise<TrialTurn> {
  const nodes: Node[] = [];
  let turn: TrialTurn = { status: "broken", message: "it ended without output", answer: "", nodes, nativeId: null, started: null };
  const params = bareTurn(session, defaultPolicy);
  const limits = { ...params.limits, maxSteps: 20 };
  try {
    for await (const event of api.turn.start({ ...params, limits, prompt, timeoutMs: limitMs })) {
      if (event.type === "node.added") nodes.push(event.node);
      if (event.type !== "turn.ended") continue;
      const { status, error, nativeId, cli } = event.turn;
      const message = error?.message ?? "";
      turn = { status: status ?? "broken", message, answer: event.answer ?? "", nodes, nativeId, started: cli?.started ?? null };
    }
  } catch (error) {
    turn = { ...turn, message: messageOf(error) };
  }
  return turn;
}
