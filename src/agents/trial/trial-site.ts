// A place where an agent is tried: a house of its own in temporary directories, whose vendors are the scripted server.
// The house is built elsewhere; here is what a trial does in it.
import type { Api, TurnStartParams } from "../../protocol/api/api.ts";
import { messageOf, type TurnStatus } from "../../protocol/api/error.ts";
import type { Node } from "../../protocol/tree/node.ts";
import { defaultPolicy } from "../../protocol/api/policy.ts";
import type { CliRecord, Session } from "../../protocol/tree/turn.ts";
import { bareTurn } from "../../protocol/api/turn-options.ts";
import type { ModelServer } from "../../scripted-model/model-server.ts";

export type TrialSite = {
  api: Api;
  server: ModelServer;
  /** Absolute; empty but for what the trial does there. */
  project: string;
  close: () => Promise<void>;
};

export type TrialAgent = { agent: string; model: string; limitMs: number };

/** How a turn ended, as the tree has it. */
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

/** Never rejects: what keeps a turn from being started is how it ended. */
export async function takeTrialTurn({ api }: TrialSite, session: string, prompt: string, limitMs: number): Promise<TrialTurn> {
  const nodes: Node[] = [];
  let ended: TrialTurn = { status: "broken", message: "it ended without a word", answer: "", nodes, nativeId: null, started: null };
  try {
    for await (const event of api.turn.start({ ...trialTurn(session), prompt, timeoutMs: limitMs })) {
      if (event.type === "node.added") nodes.push(event.node);
      if (event.type !== "turn.ended") continue;
      const { status, error, nativeId, cli } = event.turn;
      const message = error?.message ?? "";
      ended = { status: status ?? "broken", message, answer: event.answer ?? "", nodes, nativeId, started: cli?.started ?? null };
    }
  } catch (error) {
    ended = { ...ended, message: messageOf(error) };
  }
  return ended;
}

function trialTurn(session: string): TurnStartParams {
  const turn = bareTurn(session, defaultPolicy);
  return { ...turn, limits: { ...turn.limits, maxSteps: 20 } };
}
