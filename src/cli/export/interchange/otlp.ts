// Exports the turns of a session's branch as spans of OpenTelemetry, with those of its sub-sessions in the same trace.
import { redactDeep } from "../../../kit/text/redact.ts";
import { type OtlpSpan, type Resource, traceRequest } from "../../../protocol/otlp/otlp.ts";
import { spanOfTurn, type SpanOptions, type SpanParent, spansOfTurn } from "../../../protocol/otlp/turn-spans.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import type { SessionView } from "../../../protocol/tree/views.ts";

export type OtlpSource = SpanOptions & {
  show: (session: string) => Promise<SessionView>;
  /** Null exports texts unchanged. */
  redact: ((text: string) => string) | null;
  resource: Resource;
};

export async function* otlpDocument(session: Session, source: OtlpSource): AsyncGenerator<string> {
  const spans = await spansOfSession(session.id, null, source);
  const request = traceRequest(spans, source.resource);
  yield `${JSON.stringify(source.redact === null ? request : redactDeep(request, source.redact))}\n`;
}

async function spansOfSession(id: string, parent: SpanParent | null, source: OtlpSource): Promise<OtlpSpan[]> {
  const view = await source.show(id);
  const nodesByTurn = Map.groupBy(view.nodes, (node) => node.turn);
  const spans: OtlpSpan[] = [];
  for (const turn of view.turns) {
    spans.push(...spansOfTurn({ turn, nodes: nodesByTurn.get(turn.id) ?? [], parent }, source));
    const own = spanOfTurn(turn.id, parent);
    for (const spawned of view.spawned) if (spawned.turn === turn.id) spans.push(...(await spansOfSession(spawned.id, own, source)));
  }
  return spans;
}
