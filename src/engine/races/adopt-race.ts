// Adopts the work of one agent of a race: merges its worktree into the project, grafts the conclusions of the others into its
// session, and lets the session that the race started from continue there. Each step can be repeated after a kill.
import { Fault, messageOf } from "../../protocol/api/error.ts";
import type { RaceAdopted, RaceRecord, RacerRecord } from "../../protocol/race/race.ts";
import type { RaceAdoption } from "../../protocol/race/views.ts";
import type { NewNode } from "../../protocol/tree/node.ts";
import { pluralize } from "../../kit/text/cut-text.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import { graft, lastAnswer } from "../tree/graft.ts";
import { addNode, move } from "../tree/tree-ops.ts";
import { openSession } from "../turn/open-session.ts";
import { createWorktreeMethods } from "../worktrees/worktree-methods.ts";
import { findRace, type FoundRace } from "./find-races.ts";

/** The Api method: adopts, and records it in the race's session. */
export async function adoptRace(deps: EngineDeps, params: { session: string; dryRun: boolean }): Promise<RaceAdoption> {
  const store = await deps.store();
  const { id } = await store.findSession(params.session, null);
  const found = await findRace(deps, id);
  const racer = requireRacer(found, id);
  await refuseUnfit(store, found, racer);
  const adoption = await adoptRacer(deps, found.race, racer, params);
  if (adoption.adopted) {
    const { session, continuesIn, grafted, files } = adoption;
    await addNode(deps, found.race.id, adoptedNode(racer, { session, continuesIn, grafted, files }));
  }
  return adoption;
}

function requireRacer({ race }: FoundRace, id: string): RacerRecord {
  const racer = race.racers.find(({ session }) => session === id);
  if (racer !== undefined) return racer;
  throw new Fault("usage", "this session is the race itself: name the session of one of its agents", {
    hint: "`skein race show` lists them",
  });
}

async function refuseUnfit(store: Store, { race }: FoundRace, racer: RacerRecord): Promise<void> {
  const adopted = race.racers.find(({ session }) => session === race.adopted?.session);
  if (adopted !== undefined)
    throw new Fault("usage", `${adopted.key} was already adopted`, {
      hint: adopted === racer ? "`skein race show` shows it" : `skein merge merges the worktree of ${racer.key} too`,
    });
  const session = await store.session(racer.session);
  if (session === null) throw new Fault("usage", `${racer.key} has not started, so there is no work to adopt`);
  if ((await store.holder(racer.session)) !== null)
    throw new Fault("session-busy", `${racer.key} is still at work`, { hint: "wait for its end, or stop it with `skein kill`" });
}

/** Nothing changes with a conflict, with files that the user's git runs, or with `dryRun`. */
export async function adoptRacer(
  deps: EngineDeps,
  race: RaceRecord,
  racer: RacerRecord,
  { dryRun }: { dryRun: boolean },
): Promise<RaceAdoption> {
  const worktree = createWorktreeMethods(deps);
  const target = { session: racer.session, directory: null };
  const { changes, conflicts, guarded, now, work } = await worktree.diff(target);
  const adoption: RaceAdoption = {
    race: race.id,
    session: racer.session,
    continuesIn: race.id,
    grafted: [],
    files: changes.length,
    changes,
    conflicts,
    guarded,
    problems: [],
    adopted: false,
  };
  if (conflicts.length > 0 || guarded.length > 0 || dryRun) return adoption;
  if (changes.length > 0) await worktree.merge({ ...target, expected: { now, work }, guarded: false });
  const grafts = await graftOthers(deps, race, racer);
  return { ...adoption, ...grafts, continuesIn: await continueThere(deps, race, racer), adopted: true };
}

export function adoptedNode({ key }: RacerRecord, adopted: RaceAdopted): NewNode {
  const text = `${key} was adopted: ${pluralize(adopted.files, "file")} changed, ${pluralize(adopted.grafted.length, "conclusion")} grafted`;
  return { author: "note", note: { about: "race", happened: { event: "race_adopted", ...adopted } }, parts: [{ kind: "text", text }] };
}

/** A conclusion that can't be grafted is reported; the files are merged already. */
async function graftOthers(deps: EngineDeps, race: RaceRecord, racer: RacerRecord): Promise<Pick<RaceAdoption, "grafted" | "problems">> {
  const store = await deps.store();
  const grafted: string[] = [];
  const problems: string[] = [];
  for (const other of race.racers.filter(({ key }) => key !== racer.key)) {
    const session = await store.session(other.session);
    if (session === null || !(await hasAnswer(store, race, session))) {
      problems.push(`${other.key} has no answer to graft`);
      continue;
    }
    try {
      if (!(await isGrafted(store, session, racer))) await graft(deps, { from: other.session, into: racer.session });
      grafted.push(other.session);
    } catch (error) {
      problems.push(`${other.key}: ${messageOf(error)}`);
    }
  }
  return { grafted, problems };
}

async function hasAnswer(store: Store, { base }: RaceRecord, { tip }: Session): Promise<boolean> {
  const path = await store.path(tip);
  return lastAnswer(path.slice(path.findIndex(({ id }) => id === base) + 1)) !== undefined;
}

/** Whether an interrupted adoption has grafted it before. */
async function isGrafted(store: Store, { id, tip }: Session, racer: RacerRecord): Promise<boolean> {
  const path = await store.sessionPath(racer.session);
  return path.some(({ note }) => note?.about === "graft" && note.from.session === id && note.from.node === tip);
}

/**
 * The session that the race started from moves to the adopted work, unless it has moved on. Without such a session, a new one
 * starts there. Both work in the project itself.
 */
async function continueThere(deps: EngineDeps, race: RaceRecord, racer: RacerRecord): Promise<string> {
  const store = await deps.store();
  const raceSession = await store.requireSession(race.id);
  const adopted = await store.requireSession(racer.session);
  const origin = raceSession.forkedFrom === null ? null : await store.session(raceSession.forkedFrom.session);
  if (origin !== null && adopted.tip !== null && (await canMove(store, origin, race))) {
    await move(deps, { session: origin.id, node: adopted.tip });
    deps.setCurrent(origin.project, origin.id);
    return origin.id;
  }
  const opened = await openSession(deps, {
    find: { by: "new" },
    directory: raceSession.directory,
    task: race.wish.task,
    agent: adopted.agent,
    model: adopted.model,
    toolLevel: raceSession.toolLevel,
    parentSession: null,
    transcriptDir: null,
    ...(adopted.tip === null ? {} : { forkAt: { session: adopted.id, node: adopted.tip } }),
  });
  return opened.id;
}

async function canMove(store: Store, { id, tip, archivedAt }: Session, { base }: RaceRecord): Promise<boolean> {
  return tip === base && archivedAt === null && (await store.holder(id)) === null;
}
