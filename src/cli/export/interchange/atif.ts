// Exports the branch of a session as one trajectory of ATIF, with its sub-sessions inside. Steps before a fork are marked as
// copied, so that evaluations do not count them twice.
import { redactDeep } from "../../../kit/text/redact.ts";
import { atifVersion, type AtifFinalMetrics, type AtifStep } from "../../../protocol/json/atif.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { roundUsd } from "../../../protocol/tree/usage.ts";
import type { SessionView } from "../../../protocol/tree/views.ts";
import { stepsOf, type StepOptions } from "./atif-steps.ts";

export type AtifSource = Pick<StepOptions, "resolve"> & {
  /** The version of skein. */
  version: string;
  show: (session: string) => Promise<SessionView>;
  /** Null exports texts unchanged. */
  redact: ((text: string) => string) | null;
};

export async function* atifDocument(session: Session, source: AtifSource): AsyncGenerator<string> {
  yield* trajectory(await source.show(session.id), source);
  yield "\n";
}

async function* trajectory(view: SessionView, source: AtifSource): AsyncGenerator<string> {
  const { session } = view;
  const redacted = <T>(value: T): T => (source.redact === null ? value : redactDeep(value, source.redact, isOwnImage));
  const below = await subSessions(view, source);
  const references = below.map(({ session: { id, source: origin } }) => referenceTo(id, origin));
  const { trajectory_id, session_id } = referenceTo(session.id, session.source);
  const model = view.nodes.findLast((node) => node.model !== undefined)?.model ?? session.model;
  const agent = { name: "skein", version: source.version, ...(model === null ? {} : { model_name: model }) };
  yield `{"schema_version":${JSON.stringify(atifVersion)},"session_id":${JSON.stringify(session_id)},`;
  yield `"trajectory_id":${JSON.stringify(trajectory_id)},"agent":${JSON.stringify(redacted(agent))},"steps":[`;
  const total: AtifFinalMetrics = { total_prompt_tokens: 0, total_completion_tokens: 0, total_cached_tokens: 0, total_steps: 0 };
  for await (const step of stepsOf(view, { resolve: source.resolve, references })) {
    addMetrics(total, step);
    yield `${step.step_id === 1 ? "" : ","}\n${JSON.stringify(redacted(step))}`;
  }
  yield `\n],"final_metrics":${JSON.stringify(total)}`;
  for (const [index, child] of below.entries()) {
    yield index === 0 ? `,"subagent_trajectories":[\n` : ",\n";
    yield* trajectory(child, source);
  }
  yield below.length === 0 ? "}" : "]}";
}

/** Sub-sessions of this session's own turns, the oldest first. Those of the copied turns belong to the session before the fork. */
async function subSessions(view: SessionView, { show }: AtifSource): Promise<SessionView[]> {
  const ownTurns = new Set(view.turns.filter((turn) => turn.session === view.session.id).map((turn) => turn.id));
  const spawned = view.spawned.filter(({ turn }) => ownTurns.has(turn));
  const views: SessionView[] = [];
  for (const { id } of spawned) views.push(await show(id));
  return views;
}

/** An imported trajectory has the id that it had in its file. */
function referenceTo(session: string, origin: Session["source"]): { trajectory_id: string; session_id: string } {
  const id = origin?.agent === "atif" ? origin.nativeId : session;
  return { trajectory_id: id, session_id: id };
}

function addMetrics(total: AtifFinalMetrics, { metrics, is_copied_context }: AtifStep): void {
  total.total_steps += 1;
  if (metrics === undefined || is_copied_context === true) return;
  total.total_prompt_tokens += metrics.prompt_tokens;
  total.total_completion_tokens += metrics.completion_tokens;
  total.total_cached_tokens += metrics.cached_tokens;
  if (metrics.cost_usd !== undefined) total.total_cost_usd = roundUsd((total.total_cost_usd ?? 0) + metrics.cost_usd);
}

/** Pictures stay as they are, because their data is no text. */
function isOwnImage(value: object): boolean {
  return "path" in value && typeof value.path === "string" && /^data:image\/[\w.+-]+;base64,[\w+/=]*$/.test(value.path);
}
