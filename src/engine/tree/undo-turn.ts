// Takes back the last turn of a session, and puts it back: the session's tip and the files that the turn changed.
// No node is deleted. The session stores the undone turns until it moves in another way.
import { Fault } from "../../protocol/api/error.ts";
import type { UndoReport } from "../../protocol/api/api.ts";
import { textOf, type Node } from "../../protocol/tree/node.ts";
import type { Session, UndoneTurn } from "../../protocol/tree/turn.ts";
import type { Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import { applyEdit, editToRedo, editToUndo, planEdit, type FileEdit, type FileEditPlan } from "../files/turn-files.ts";
import { taskAt, withLease } from "./tree-ops.ts";

type UndoParams = { session: string; dryRun: boolean };

export async function undoTurn(deps: EngineDeps, params: UndoParams): Promise<UndoReport> {
  return withLease(deps, params.session, async (store) => {
    const session = await store.requireSession(params.session);
    const path = await store.path(session.tip);
    const turn = path.findLast((node) => node.turn !== null)?.turn ?? null;
    if (session.tip === null || turn === null)
      throw new Fault("usage", "there is no turn to undo in this session", { hint: "`skein show` prints its conversation" });
    const start = path.findIndex((node) => node.turn === turn);
    const back = path[start - 1]?.id ?? null;
    const edit = deps.snapshots === null ? null : await editToUndo(store, deps.snapshots, { path, start });
    const plan = await planFiles(deps, edit);
    const undone: UndoneTurn = { turn, tip: session.tip, back, files: plan?.files ?? null };
    const step = { tip: back, undone: [...redoable(session), undone], plan };
    const updated = params.dryRun ? session : await carryOut(deps, store, session, step);
    return report(updated, turn, path[start]!, plan);
  });
}

export async function redoTurn(deps: EngineDeps, params: UndoParams): Promise<UndoReport> {
  return withLease(deps, params.session, async (store) => {
    const session = await store.requireSession(params.session);
    const stored = redoable(session);
    const last = stored.at(-1);
    if (last === undefined)
      throw new Fault("usage", "there is no undo to take back in this session", {
        hint: "an undo can be taken back until the session gets a new message or moves; `skein show` shows every branch",
      });
    const edit = last.files === null || deps.snapshots === null ? noEdit : await editToRedo(deps.snapshots, last.files);
    const plan = await planFiles(deps, edit);
    const step = { tip: last.tip, undone: stored.slice(0, -1), plan };
    const updated = params.dryRun ? session : await carryOut(deps, store, session, step);
    const prompt = (await store.path(last.tip)).find((node) => node.turn === last.turn)!;
    return report(updated, last.turn, prompt, plan);
  });
}

const noEdit: FileEdit = { project: "", base: "", edits: [], contested: [] };

/** Undone turns are valid only while the session is where the last undo moved it. */
function redoable({ tip, undone = [] }: Session): UndoneTurn[] {
  return undone.at(-1)?.back === tip ? undone : [];
}

async function planFiles({ snapshots }: EngineDeps, edit: FileEdit | null): Promise<FileEditPlan | null> {
  return edit === null || snapshots === null ? null : planEdit(snapshots, edit);
}

type Step = { tip: string | null; undone: UndoneTurn[]; plan: FileEditPlan | null };

/** Changes the files first: if that fails, the session still has the turn. */
async function carryOut({ snapshots }: EngineDeps, store: Store, session: Session, { tip, undone, plan }: Step): Promise<Session> {
  if (plan !== null && snapshots !== null) await applyEdit(snapshots, plan);
  return store.updateSession(session.id, { tip, undone, task: await taskAt(store, session, tip) });
}

/** The message of the turn, or `!command` for one that ran a command of the user. Null without either. */
function promptText(node: Node): string | null {
  const command = node.parts.find((part) => part.kind === "handle")?.handle.metadata.command;
  return textOf(node) || (command === undefined ? null : `!${command}`);
}

function report(session: Session, turn: string, first: Node, plan: FileEditPlan | null): UndoReport {
  const files = plan === null ? "unknown" : plan.changes.length > 0 ? "changed" : "unchanged";
  const prompt = first.author === "user" ? promptText(first) : null;
  return { session, turn, prompt, files, changes: plan?.changes ?? [], kept: plan?.kept ?? [] };
}
