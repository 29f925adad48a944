// A message that was typed and not sent, as it outlives the screen: what of the state is kept, when it is written down, and
// how it comes back. Where it is kept is the door's business.
import { step, type State, type UpdateResult } from "../model/state.ts";
import type { Chip } from "./chips.ts";

export type UnsentDraft = { text: string; chips: readonly Chip[] };

/** What was left by screens that are gone, and where this one leaves its own. */
export type UnsentStore = {
  /** The latest, which is this screen's from then on, and how many more there are. */
  take: () => { unsent: UnsentDraft; more: number } | null;
  /** Null: there is nothing to keep any more. */
  keep: (unsent: UnsentDraft | null) => void;
  /** Why the latest one could not be taken or kept. */
  problem: () => string | null;
};

/** What would be lost with this process: what is typed, after what was sent and is not recorded yet. */
export function unsentDraft({ draft, composer, activity }: State): UnsentDraft | null {
  const typed = composer.recalled === null ? draft.text : composer.recalled.typed.text;
  const sent = activity === "starting" ? composer.sent : null;
  const text = [sent?.draft.text ?? "", typed].filter((part) => part.trim() !== "").join("\n");
  const chips = [...(sent?.chips ?? []), ...composer.chips].filter(({ label }) => text.includes(label));
  return text === "" ? null : { text, chips };
}

export function restoreDraft(state: State, { unsent, more }: { unsent: UnsentDraft; more: number }): UpdateResult {
  const { text, chips } = unsent;
  const others = more === 0 ? "" : `; ${more} more ${more === 1 ? "waits" : "wait"} for the next start`;
  const notice = { text: `an unsent message is back in the prompt${others}`, isError: false };
  return step({ ...state, draft: { text, cursor: text.length }, composer: { ...state.composer, chips }, notice });
}

const everyMs = 1000;

/** Writes down what there is to keep, at most once a second while it changes, and at once when there is nothing any more. */
export function createDraftSaver(place: UnsentStore, onProblem: (problem: string) => void) {
  let timer: Timer | null = null;
  let seen: readonly unknown[] = [];
  let latest: UnsentDraft | null = null;
  let isTold = false;

  function write(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    place.keep(latest);
    const problem = place.problem();
    if (problem !== null && !isTold) onProblem(`what is typed here can't be kept for a next start: ${problem}`);
    isTold ||= problem !== null;
  }

  return {
    note(state: State): void {
      const { draft, composer, activity } = state;
      const parts = [draft.text, composer.recalled, composer.chips, composer.sent, activity === "starting"];
      if (parts.every((part, at) => part === seen[at])) return;
      seen = parts;
      const hadAny = latest !== null;
      latest = unsentDraft(state);
      if (latest !== null) timer ??= setTimeout(write, everyMs);
      else if (hadAny) write();
    },
    /** Before the screen goes away, or stands still. */
    finish(): void {
      if (timer !== null || place.problem() !== null) write();
    },
  };
}
