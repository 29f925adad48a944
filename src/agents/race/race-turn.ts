// One turn of a race: creates or continues it, runs all agents at once, and ends with the best outcome.
import { oneLine, pluralize } from "../../kit/text/cut-text.ts";
import { Fault, type TurnError } from "../../protocol/api/error.ts";
import type { AgentEvent, TurnContext, TurnInput } from "../../protocol/api/ports.ts";
import {
  applyRaceEvent,
  bestOutcome,
  hasPassed,
  newRaceRecord,
  racerEndText,
  racerKeys,
  readRace,
  type RaceEvent,
  type RaceRecord,
  type RacerRecord,
  type RaceRequest,
} from "../../protocol/race/race.ts";
import type { RaceAdoption } from "../../protocol/race/views.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { TurnEnd } from "../../protocol/tree/turn.ts";
import { guardedText } from "../../protocol/worktree/guarded-text.ts";
import { addNode, streamTurn, type Emit } from "../stream-turn.ts";
import { runRacer, type RaceRun } from "./racer.ts";

export function takeRaceTurn(input: TurnInput, context: TurnContext): AsyncGenerator<AgentEvent> {
  return streamTurn((emit) => takeTurn(input, context, emit));
}

async function takeTurn(input: TurnInput, context: TurnContext, emit: Emit): Promise<TurnEnd> {
  const found = readRace(input.path);
  // A race can start from a node of another race. That one's notes are on the path too.
  const existing = found?.id === input.session ? found : null;
  const record = existing ?? (await createRace(input, emit));
  if (existing !== null && input.race?.work === "run")
    throw new Fault("usage", "this session has a race already", { hint: `skein race resume ${shortId(input.session)} continues it` });
  const run: RaceRun = {
    input,
    context,
    record,
    winner: null,
    halt: null,
    stops: new Map(record.racers.map(({ key }) => [key, new AbortController()])),
    recordEvent: (event, text) => recordEvent(record, emit, event, text),
  };
  await Promise.all(record.racers.filter(({ ended }) => ended === null).map((racer) => runRacer(run, racer)));
  return endRace(run);
}

/** The keys and the session ids are stored before anything starts, so that a resumed race finds all sessions and worktrees. */
async function createRace(input: TurnInput, emit: Emit): Promise<RaceRecord> {
  if (input.race?.work !== "run")
    throw new Fault("usage", "this session has no race to continue", { hint: 'skein race "task" -a claude,codex starts one' });
  const { wish } = input.race;
  const keys = racerKeys(wish.contestants);
  const racers = wish.contestants.map((contestant, index) => ({ key: keys[index]!, session: Bun.randomUUIDv7(), ...contestant }));
  const created = { event: "race_started", wish, base: input.path.at(-1)?.id ?? null, racers } as const;
  const record = newRaceRecord(input.session, created);
  // The first node of a session is its task in lists.
  await addNode(emit, { author: "user", parts: [{ kind: "text", text: wish.task }] });
  await recordEvent(record, emit, created, `${keys.join(", ")} race: ${oneLine(wish.task, 200)}`);
  return record;
}

async function recordEvent(record: RaceRecord, emit: Emit, event: RaceEvent, text: string): Promise<void> {
  await addNode(emit, { author: "note", note: { about: "race", happened: event }, parts: [{ kind: "text", text }] });
  applyRaceEvent(record, event);
}

async function endRace(run: RaceRun): Promise<TurnEnd> {
  const { record, halt } = run;
  const ends = record.racers.flatMap(({ ended }) => ended ?? []);
  const answer = record.racers.map(({ key, ended }) => `${key}: ${ended === null ? "interrupted" : racerEndText(ended)}`).join("\n");
  const winner = firstPassing(run);
  if (winner !== null && record.wish.adoptFirstPassing && record.adopted === null) {
    const { adopted, conflicts, guarded, session, continuesIn, grafted, files } = await run.context.adoptRacer!(record, winner);
    if (!adopted) return { status: "broken", answer, error: adoptionError(winner, { conflicts, guarded }) };
    const event = { event: "race_adopted", session, continuesIn, grafted, files } as const;
    await run.recordEvent(event, `${winner.key} was adopted: ${pluralize(files, "file")} changed`);
  }
  if (winner !== null) return { status: "ok", answer };
  if (halt !== null) return { status: halt.kind, answer, error: halt };
  const status = bestOutcome(ends);
  return { status, answer, error: { kind: status, message: failureText(record) } };
}

function adoptionError({ key, session }: RacerRecord, { conflicts, guarded }: Pick<RaceAdoption, "conflicts" | "guarded">): TurnError {
  if (conflicts.length === 0) {
    const message = `${key} passed, but its work was not adopted: ${oneLine(guardedText(guarded), 400)}`;
    return { kind: "broken", message, hint: `look at them and confirm: skein merge ${shortId(session)}` };
  }
  const message = `${key} passed, but its work was not adopted: the project has changed in ${oneLine(conflicts.join(", "), 400)} too`;
  return { kind: "broken", message, hint: `skein race adopt ${shortId(session)} shows the conflicts` };
}

/** On a resumed race the winner may have been recorded before the interruption. */
function firstPassing({ record, winner }: RaceRun): RacerRecord | null {
  return winner ?? record.racers.find(({ ended }) => ended !== null && hasPassed(ended)) ?? null;
}

function failureText({ wish, racers }: { wish: RaceRequest; racers: readonly RacerRecord[] }): string {
  const what = wish.check === null ? "no agent ended ok" : "no agent passed the check";
  return `${what} (${racers.flatMap(({ key, ended }) => (ended === null ? [] : [`${key} ${oneLine(racerEndText(ended), 160)}`])).join("; ")})`;
}
