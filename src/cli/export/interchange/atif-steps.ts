// Converts the path of a session to steps of ATIF. A step of the agent has its calls and their results.
// Leaves out notes that no model has seen.
import { isoTime } from "../../../protocol/json/records.ts";
import type { AtifMetrics, AtifPart, AtifResult, AtifStep, AtifStepExtra } from "../../../protocol/json/atif.ts";
import { callsOf, type ImageData, isShownOnly, type Node, type ResultPart, textOf } from "../../../protocol/tree/node.ts";
import type { SessionView } from "../../../protocol/tree/views.ts";
import type { ResolveHandle } from "../blocks.ts";

/** A sub-session that a result refers to. */
export type AtifReference = { trajectory_id: string; session_id: string };

export type StepOptions = {
  /** Reads whole outputs. Null exports the excerpts that the model got. */
  resolve: ResolveHandle | null;
  references: readonly AtifReference[];
};

type Step = { node: Node; results: ResultPart[]; nodeIds: string[] };

export async function* stepsOf(view: Pick<SessionView, "session" | "nodes" | "turns">, options: StepOptions): AsyncGenerator<AtifStep> {
  const agents = new Map(view.turns.map((turn) => [turn.id, turn.agent]));
  const stepIds = new Map<string, number>();
  for (const [index, step] of groupResults(view.nodes).entries()) {
    const { node } = step;
    for (const id of step.nodeIds) stepIds.set(id, index + 1);
    const isCopied = node.session !== view.session.id;
    const agent = agents.get(node.turn ?? "") ?? "native";
    const extra = { ...(node.author === "agent" && agent !== "native" ? { agent } : {}), ...extraOf(step, stepIds) };
    yield {
      step_id: index + 1,
      timestamp: isoTime(node.at),
      source: node.author === "note" ? "system" : node.author === "user" ? "user" : "agent",
      message: messageOf(node),
      ...(node.author === "agent" ? await agentFields(step, options) : {}),
      ...(isCopied ? { is_copied_context: true } : {}),
      ...(Object.keys(extra).length === 0 ? {} : { extra }),
    };
  }
}

/** One step for each node but those with results, which belong to the step before them. */
function groupResults(nodes: readonly Node[]): Step[] {
  const steps: Step[] = [];
  for (const node of nodes) {
    if (node.note !== undefined && isShownOnly(node.note)) continue;
    const results = node.parts.filter((part) => part.kind === "result");
    const last = steps.at(-1);
    const nodeIds = [node.id];
    if (node.author !== "tool") steps.push({ node, results, nodeIds });
    else if (last !== undefined && last.node.author === "agent") {
      last.results.push(...results);
      last.nodeIds.push(node.id);
    } else
      steps.push({ node: { ...node, author: "note", parts: results.map(({ text }) => ({ kind: "text", text })) }, results: [], nodeIds });
  }
  return steps;
}

async function agentFields({ node, results }: Step, options: StepOptions): Promise<Partial<AtifStep>> {
  const thinking = node.parts.flatMap((part) => (part.kind === "thinking" ? [part.text] : [])).join("\n\n");
  const calls = callsOf(node);
  const callIds = calls.map(({ id }) => id);
  // Parallel calls end in any order; the file has their results in the order of the calls.
  const ordered = results.toSorted((a, b) => callIds.indexOf(a.call) - callIds.indexOf(b.call));
  return {
    ...(node.model === undefined ? {} : { model_name: node.model }),
    ...(thinking === "" ? {} : { reasoning_content: thinking }),
    ...(calls.length === 0
      ? {}
      : { tool_calls: calls.map(({ id, name, input }) => ({ tool_call_id: id, function_name: name, arguments: input })) }),
    ...(results.length === 0
      ? {}
      : { observation: { results: await Promise.all(ordered.map((part) => resultOf(part, callIds, options))) } }),
    ...(node.usage === undefined ? {} : { metrics: metricsOf(node.usage, node.costUsd ?? null) }),
  };
}

async function resultOf(part: ResultPart, callIds: readonly string[], { resolve, references }: StepOptions): Promise<AtifResult> {
  const whole = part.handle === undefined || resolve === null ? null : await resolve(part.handle);
  const text = whole ?? part.text;
  const named = references.filter(({ trajectory_id }) => part.text.includes(`[session ${trajectory_id},`));
  return {
    ...(callIds.includes(part.call) ? { source_call_id: part.call } : {}),
    content: part.images === undefined ? text : withImages(text, part.images),
    ...(named.length === 0 ? {} : { subagent_trajectory_ref: named }),
  };
}

function messageOf(node: Node): string | AtifPart[] {
  const excerpts = node.parts.flatMap((part) => (part.kind === "handle" ? [part.excerpt] : []));
  const text = [textOf(node), ...excerpts].filter((piece) => piece !== "").join("\n\n");
  const images = node.parts.filter((part) => part.kind === "image");
  return images.length === 0 ? text : withImages(text, images);
}

/** The types of pictures that the format allows. */
const pictureTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** Pictures of other types, which an import can bring, are only named. */
function withImages(ownText: string, all: readonly ImageData[]): string | AtifPart[] {
  const images = all.filter(({ mime }) => pictureTypes.includes(mime));
  const others = all.filter((image) => !images.includes(image)).map(({ mime }) => `[picture of the type ${mime}]`);
  const text = [ownText, ...others].filter((piece) => piece !== "").join("\n\n");
  if (images.length === 0) return text;
  const pictures = images.map(({ mime, base64 }): AtifPart => ({
    type: "image",
    source: { media_type: mime, path: `data:${mime};base64,${base64}` },
  }));
  return text === "" ? pictures : [{ type: "text", text }, ...pictures];
}

function metricsOf(usage: NonNullable<Node["usage"]>, costUsd: number | null): AtifMetrics {
  return {
    prompt_tokens: usage.input + usage.cacheRead + usage.cacheWrite,
    completion_tokens: usage.output,
    cached_tokens: usage.cacheRead,
    ...(costUsd === null ? {} : { cost_usd: costUsd }),
    ...(usage.cacheWrite === 0 ? {} : { extra: { cache_write_tokens: usage.cacheWrite } }),
  };
}

function extraOf({ node, results }: Step, stepIds: ReadonlyMap<string, number>): AtifStepExtra {
  const failed = results.filter(({ isError }) => isError).map(({ call }) => call);
  const malformed = callsOf(node).flatMap(({ id, malformed: text }) => (text === undefined ? [] : [[id, text] as const]));
  const { note } = node;
  const keptFrom = note?.about === "compaction" && note.keptFrom !== null ? stepIds.get(note.keptFrom) : undefined;
  return {
    // A graft points at a session that is not in the file, so it is an ordinary note there.
    ...(note === undefined || note.about === "graft" ? {} : { note: note.about }),
    ...(keptFrom === undefined ? {} : { kept_from_step: keptFrom }),
    ...(failed.length === 0 ? {} : { failed_calls: failed }),
    ...(malformed.length === 0 ? {} : { malformed_arguments: Object.fromEntries(malformed) }),
  };
}
