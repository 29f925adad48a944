// `session.catchUp`: what was asked, done, changed, tested and left open in a session, read from its record. No model is asked.
import { oneLine, pluralize } from "../../kit/text/cut-text.ts";
import type { CatchUpReport } from "../../protocol/schema/views/catch-up-views.ts";
import { callsOf, mainArgument, textOf, type CallPart, type Node, type ResultPart } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import { findSession } from "../turn/open-session.ts";
import { readSessionFacts, type SessionFacts } from "./session-facts.ts";

const chars = { prompt: 500, answer: 1_000, command: 200, error: 200 };
const max = { tested: 5, commits: 10, errors: 5, named: 50 };

export async function catchUp(deps: EngineDeps, params: { session: string; directory: string }): Promise<CatchUpReport> {
  const session = await findSession(deps, params.session, params.directory);
  const store = await deps.store();
  const path = await store.path(session.tip);
  const facts = await readSessionFacts(deps, store, session, path);
  const { redact } = deps.history;
  const clean = (text: string, limit: number) => oneLine(redact(text), limit);
  const prompts = path
    .filter(({ author }) => author === "user")
    .map(textOf)
    .filter((text) => text.trim() !== "");
  const answer = path.findLast((node) => node.author === "agent" && textOf(node).trim() !== "");
  const runs = runsOf(path);
  const tested = testedIn(runs).map((test) => ({ ...test, command: clean(test.command, chars.command) }));
  const turns = await turnsOf(store, path);
  const files = facts.artifacts?.files ?? [];
  const isRecorded = !(facts.notes ?? []).some((note) => note.startsWith("the file changes"));
  const cost = { costUsd: facts.metrics.costUsd, ...(facts.metrics.costIsPartial === true ? { costIsPartial: true as const } : {}) };
  return {
    session,
    agents: [...new Set(turns.map(({ agent }) => agent))],
    turns: turns.length,
    startedAt: path[0]?.at ?? null,
    endedAt: path.at(-1)?.at ?? null,
    status: facts.status,
    asked: prompts.length === 0 ? null : clean(prompts[0]!, chars.prompt),
    lastAsked: prompts.length < 2 ? null : clean(prompts.at(-1)!, chars.prompt),
    answer: answer === undefined ? null : clean(textOf(answer), chars.answer),
    tools: facts.artifacts?.tools ?? [],
    files: isRecorded ? files : null,
    namedFiles: isRecorded ? [] : namedFiles(runs).map((file) => clean(file, chars.command)),
    tested,
    commits: commitsIn(runs).map((message) => clean(message, chars.command)),
    errors: (facts.artifacts?.errors ?? []).slice(-max.errors).map(({ by, message }) => `${by}: ${oneLine(message, chars.error)}`),
    open: await openIn(store, session, { path, facts, tested, clean }),
    ...cost,
  };
}

async function turnsOf(store: Store, path: readonly Node[]) {
  const ids = [...new Set(path.flatMap(({ turn }) => turn ?? []))];
  return (await Promise.all(ids.map((id) => store.turn(id)))).filter((turn) => turn !== null);
}

type Run = { call: CallPart; result: ResultPart | undefined };

function runsOf(path: readonly Node[]): Run[] {
  const results = new Map(
    path.flatMap(({ parts }) => parts.flatMap((part) => (part.kind === "result" ? [[part.call, part] as const] : []))),
  );
  return path.flatMap(callsOf).map((call) => ({ call, result: results.get(call.id) }));
}

/** Commands that test, build or lint, in the words of the usual tools. */
const testPattern =
  /\b((npm|pnpm|yarn|bun|deno)( run)? (test|t|check|lint|typecheck|build)\b|(npx |bunx )?(jest|vitest|mocha|playwright test|tsc|eslint|oxlint)\b|pytest|tox|ruff|mypy|cargo (test|check|clippy|build)|go (test|vet|build)|make( -\S+)* ?(test|check|lint|all)?$|make (test|check|lint)|mvn .*(test|verify)|gradlew? .*(test|check)|ctest|rspec|rake test|phpunit|dotnet (test|build)|mix test|swift test)/;

function testedIn(runs: readonly Run[]): CatchUpReport["tested"] {
  const byCommand = new Map<string, CatchUpReport["tested"][number]>();
  for (const { call, result } of runs) {
    const command = commandOf(call);
    if (result === undefined || !testPattern.test(command)) continue;
    const before = byCommand.get(command);
    byCommand.delete(command);
    const failed = (before?.failed ?? 0) + (result.isError ? 1 : 0);
    byCommand.set(command, { command, runs: (before?.runs ?? 0) + 1, failed, ok: !result.isError });
  }
  return [...byCommand.values()].toReversed().slice(0, max.tested);
}

/** The patterns above and below take quadratic time on a longer line. */
const maxCommandChars = 2_000;

/** The beginning of the first line of a shell command; empty for another call. */
function commandOf({ input }: CallPart): string {
  const command = input["command"] ?? input["cmd"];
  const words = Array.isArray(command) ? command.at(-1) : command;
  return typeof words === "string" ? words.trim().split("\n", 1)[0]!.slice(0, maxCommandChars) : "";
}

function commitsIn(runs: readonly Run[]): string[] {
  return runs
    .filter(({ result }) => result?.isError === false)
    .flatMap(
      ({ call }) =>
        /\bgit commit\b.*?-\w*m\s+(?:"([^"]*)"|'([^']*)')/
          .exec(commandOf(call))
          ?.slice(1)
          .find((message) => message !== undefined) ?? [],
    )
    .slice(-max.commits);
}

/** Files that calls of file tools named. Every agent has its own names for these tools. */
function namedFiles(runs: readonly Run[]): string[] {
  const isChange = /^(write|edit|multiedit|notebookedit|str_replace|replace|write_file|apply_patch|create)/i;
  const paths = runs
    .filter(({ call, result }) => isChange.test(call.name) && result?.isError === false)
    .flatMap(
      ({ call }) =>
        [call.input["file_path"], call.input["path"], call.input["filePath"]].find((path) => typeof path === "string") ??
        patchedFiles(call),
    );
  return [...new Set(paths)].slice(0, max.named);
}

function patchedFiles(call: CallPart): string[] {
  return [...mainArgument(call.input).matchAll(/\*\*\* (?:Add|Update|Delete) File: ([^\n\\]+)/g)].map(([, path]) => path!);
}

type OpenContext = {
  path: readonly Node[];
  facts: SessionFacts;
  tested: CatchUpReport["tested"];
  clean: (text: string, limit: number) => string;
};

async function openIn(store: Store, session: Session, { path, facts, tested, clean }: OpenContext): Promise<string[]> {
  const asks = (await store.asks(session.id)).filter(({ session: asker }) => asker === session.id);
  const pending = await store.pendingTurns(session.id);
  const isRunning = (await store.openTurns(session.id)).length > 0;
  const { status } = facts;
  const last = path.at(-1);
  const failing = tested.filter(({ ok }) => !ok);
  const isQuestion = last?.author === "agent" && /\?\s*$/.test(textOf(last));
  return [
    ...asks.map(({ question }) => `a question waits: ${clean(question, chars.command)}`),
    ...(pending.length > 0 ? [`${pluralize(pending.length, "turn")} will start later`] : []),
    ...(isRunning ? ["a turn runs, or its process was killed"] : []),
    ...(!isRunning && status !== null && status !== "ok" ? [`the last turn ended as ${status}`] : []),
    ...(last?.author === "user" ? ["the last message has no answer"] : []),
    ...failing.map(({ command }) => `failed at the last run: ${command}`),
    ...(isQuestion ? ["the last answer ends with a question"] : []),
  ];
}
