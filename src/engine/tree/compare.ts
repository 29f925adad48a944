// Compares two branches: the node where they diverge, and the work of each after it.
import { Fault } from "../../protocol/api/error.ts";
import { callsOf, type Node, textOf } from "../../protocol/tree/node.ts";
import type { BranchComparison, BranchSide } from "../../protocol/tree/views.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { addSpent, zeroSpent, type Spent, toCost } from "../../protocol/tree/usage.ts";
import type { Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import { branchFiles } from "../files/branch-files.ts";
import { lastAnswer } from "./graft.ts";

type Branch = { session: Session | null; path: Node[] };

/** Each side is a session or a node. */
export async function compareBranches(deps: EngineDeps, params: { a: string; b: string; directory: string }): Promise<BranchComparison> {
  if (!deps.hasStore()) throw new Fault("session-unknown", "there is no session yet", { hint: 'start one: skein run "task"' });
  const store = await deps.store();
  const project = deps.projectOf(params.directory);
  const [a, b] = [await branchOf(store, params.a, project), await branchOf(store, params.b, project)];
  let shared = 0;
  while (a.path[shared] !== undefined && a.path[shared]?.id === b.path[shared]?.id) shared += 1;
  return {
    fork: a.path[shared - 1] ?? null,
    sharedNodes: shared,
    shared: countsOf(a.path.slice(0, shared)),
    a: await sideOf(deps, store, a, shared),
    b: await sideOf(deps, store, b, shared),
  };
}

async function branchOf(store: Store, idOrName: string, project: string): Promise<Branch> {
  try {
    const session = await store.findSession(idOrName, project);
    return { session, path: await store.path(session.tip) };
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "session-unknown") throw error;
    const node = await store.findNode(idOrName).catch(() => null);
    if (node === null)
      throw new Fault("session-unknown", `there is no session or node "${idOrName}"`, { hint: "`skein list` shows the sessions" });
    return { session: null, path: await store.path(node.id) };
  }
}

async function sideOf(deps: EngineDeps, store: Store, { session, path }: Branch, shared: number): Promise<BranchSide> {
  const nodes = path.slice(shared);
  const turns = new Set(nodes.map((node) => node.turn).filter((turn) => turn !== null));
  const lastTurn = [...turns].at(-1);
  const results = nodes.flatMap((node) => node.parts).filter((part) => part.kind === "result");
  const firstUser = nodes.find((node) => node.author === "user");
  const answer = lastAnswer(nodes);
  const files = await branchFiles(store, deps.snapshots, { path, start: shared });
  return {
    session,
    tip: path.at(-1)?.id ?? null,
    nodes: nodes.length,
    ...countsOf(nodes),
    failedCalls: results.filter((part) => part.isError).length,
    turns: turns.size,
    steps: nodes.filter((node) => node.usage !== undefined).length,
    ...nodes.map(spentBy).reduce(addSpent, zeroSpent),
    startedAt: nodes[0]?.at ?? null,
    endedAt: nodes.at(-1)?.at ?? null,
    status: lastTurn === undefined ? null : ((await store.turn(lastTurn))?.status ?? null),
    firstMessage: firstUser === undefined ? null : textOf(firstUser),
    answer: answer === undefined ? null : textOf(answer),
    files: files?.changes ?? null,
    otherFiles: files?.others ?? [],
    unknownFiles: files?.unknown ?? 0,
  };
}

/** A message has a text. Calls without a text beside them are only calls, as in `skein show`. */
function countsOf(nodes: readonly Node[]): BranchComparison["shared"] {
  const messages = nodes.filter((node) => textOf(node) !== "" && (node.author === "user" || node.author === "agent"));
  return { messages: messages.length, toolCalls: nodes.reduce((sum, node) => sum + callsOf(node).length, 0) };
}

function spentBy(node: Node): Spent {
  return node.usage === undefined ? zeroSpent : { usage: node.usage, ...toCost({ ...node, costUsd: node.costUsd ?? null }) };
}
