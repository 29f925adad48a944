// What is shown of the tree beside the tree itself: found nodes, two branches side by side, the data behind a handle.
import type { BranchComparison, BranchSide, FoundNode } from "../schema/results.ts";
import { isoTime, nodeRecord, sessionRecord, usageRecord } from "../json/records.ts";

export type {
  BranchComparison,
  BranchSide,
  FoundNode,
  HandleContent,
  OpenTurnView,
  SessionView,
  SpawnedSession,
} from "../schema/results.ts";

export function foundNodeRecord(found: FoundNode) {
  return {
    node: nodeRecord(found.node),
    session: sessionRecord(found.session),
    snippet: found.snippet,
    marks: found.marks,
    rank: found.rank,
    before: found.before === null ? null : nodeRecord(found.before),
    after: found.after === null ? null : nodeRecord(found.after),
  };
}

export function comparisonRecord(comparison: BranchComparison) {
  const { fork, sharedNodes, a, b } = comparison;
  return { fork: fork === null ? null : nodeRecord(fork), shared_nodes: sharedNodes, a: sideRecord(a), b: sideRecord(b) };
}

function sideRecord(side: BranchSide) {
  return {
    session: side.session === null ? null : sessionRecord(side.session),
    tip: side.tip,
    nodes: side.nodes,
    messages: side.messages,
    tool_calls: side.toolCalls,
    failed_calls: side.failedCalls,
    turns: side.turns,
    steps: side.steps,
    usage: usageRecord(side.usage),
    cost_usd: side.costUsd,
    started_at: side.startedAt === null ? null : isoTime(side.startedAt),
    ended_at: side.endedAt === null ? null : isoTime(side.endedAt),
    status: side.status,
    first_message: side.firstMessage,
    answer: side.answer,
    files: side.files,
  };
}
